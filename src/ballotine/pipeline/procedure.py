"""A request for private answers, and the procedure that follows from it before any vote is seen.

The estimator and the run file both make a `Request`; from there on they share every step that
determines an answer.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field

import numpy as np

from ballotine.data.identity import Records
from ballotine.data.partition import Partition, Random, Strategy, make_strategy
from ballotine.errors import DataError, ParameterError
from ballotine.ledger import Ledger, Mode
from ballotine.ledger.keys import group_key
from ballotine.pipeline.steps import Steps, steps_of
from ballotine.privacy.guarantee import Budget
from ballotine.teachers.together import LearnTogether
from ballotine.types import IntArray, Labels
from ballotine.voting import Mechanism, Plan, Rules
from ballotine.voting.individual import Scheme, group_numbers, require_priced
from ballotine.voting.registry import mechanisms_with
from ballotine.voting.session import RECORDS, require_ledger


@dataclass(frozen=True)
class Request:
    """What the caller of the pipeline asks for.

    Attributes:
        mechanism: turns votes into answers.
        teachers: how many teachers vote; upsampling adds more.
        mode: when answering stops.
        budget: (ε, δ) for everyone; None with individual budgets and in fixed mode.
        delta: δ if there is no budget for everyone.
        individual: the scheme with budgets by group.
        queries: how many different public rows are asked in fixed mode.
        together: how teachers learn together, if they do.
    """

    mechanism: Mechanism
    teachers: int
    mode: Mode = Mode.STRICT
    budget: Budget | None = None
    delta: float | None = None
    individual: Scheme | None = None
    queries: int | None = None
    together: LearnTogether | None = None

    def __post_init__(self) -> None:
        if self.individual is not None:
            self._check_individual()
        elif self.mode is Mode.FIXED:
            self._check_fixed()
        elif not isinstance(self.budget, Budget):
            raise ParameterError("give a budget; it has no default: budget=Budget(epsilon, delta)")
        if self.budget is not None and self.delta is not None:
            raise ParameterError("the budget already contains δ: leave delta out")
        if self.queries is not None and self.mode is not Mode.FIXED:
            raise ParameterError("queries is for fixed mode only")
        if self.together is not None:
            self._check_together(self.together)

    def plan(self, classes: int, groups: Labels | None, records: int) -> tuple[Plan, IntArray]:
        """Return the plan, and the number of each record's group.

        The plan depends on the sizes of groups only.

        Args:
            classes: how many classes, or labels, there are.
            groups: the name of each record's group, with individual budgets.
            records: how many records there are.
        """
        delta = self.budget.delta if self.budget is not None else self.delta
        assert delta is not None
        if self.individual is None:
            if groups is not None:
                raise ParameterError("records have groups, but there are no individual budgets")
            epsilon = math.inf if self.budget is None else self.budget.epsilon
            plan = Plan.standard_of(self.mechanism, self.teachers, delta, epsilon, records)
            return plan, np.zeros(records, dtype=np.int64)
        if groups is None:
            raise DataError("individual budgets need the group of every record: give groups")
        scheme, numbers = self.individual, group_numbers(groups, self.individual.budgets)
        found = np.bincount(numbers, minlength=len(scheme.names)).tolist()
        sizes = dict(zip(scheme.names, found, strict=True))
        return scheme.plan(sizes, self.teachers, self.mechanism, classes, delta), numbers

    def _check_individual(self) -> None:
        if self.mode is Mode.FIXED:
            raise ParameterError("individual budgets do not work in fixed mode; use strict")
        if self.budget is not None or self.delta is None:
            raise ParameterError(
                "individual budgets have their own ε: leave budget out and give delta"
            )
        require_priced(self.mechanism)

    def _check_fixed(self) -> None:
        if self.budget is not None or self.delta is None:
            raise ParameterError(
                "in fixed mode the number of queries determines the cost: leave budget out, and "
                "give queries and delta"
            )
        if self.queries is None or self.queries < 1:
            raise ParameterError("fixed mode needs the number of queries in advance")
        if not self.mechanism.publishable:
            raise ParameterError(
                f"fixed mode works with {mechanisms_with('publishable', 'and')}, not with "
                f"{self.mechanism.name}"
            )

    def _check_together(self, together: LearnTogether) -> None:
        if together.method == "conventional":
            raise ParameterError("conventional teachers learn alone: leave together out")
        if self.mechanism.task.several:
            raise ParameterError("teachers can learn together only with one class per record")
        if self.individual is not None:
            raise ParameterError("teachers with individual budgets cannot learn together")
        # Data-dependent costs have no proof here, and a published ε would hide that.
        if self.mode is Mode.FIXED or (together.private and self.mode is not Mode.STRICT):
            raise ParameterError(
                f"teachers that learn together answer in strict mode, not in {self.mode.value} "
                "mode: data-dependent costs are not proven for them"
            )


@dataclass(frozen=True)
class Procedure:
    """A request applied to one data set.

    Attributes:
        request: the request.
        rules: the rules that follow from it.
        numbers: the group of each record, as its position among the plan's groups.
    """

    request: Request
    rules: Rules
    numbers: IntArray = field(repr=False)

    @classmethod
    def settle(
        cls, request: Request, classes: int, groups: Labels | None, records: int
    ) -> Procedure:
        """Apply a request to a data set; see `Request.plan`."""
        plan, numbers = request.plan(classes, groups, records)
        return cls(request, Rules(plan, classes, request.mode, request.queries), numbers)

    @property
    def plan(self) -> Plan:
        """The plan: which teachers vote, and what each group pays."""
        return self.rules.plan

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism, adapted to the plan's teachers."""
        return self.plan.mechanism

    @property
    def steps(self) -> Steps:
        """The steps for the task: one class, or several labels."""
        return steps_of(self.mechanism.task)

    @property
    def classes(self) -> int:
        """How many classes, or labels, there are."""
        return self.rules.classes

    @property
    def exempt_records(self) -> IntArray:
        """Positions of the records that need no privacy and go directly to the student."""
        return self.plan.straight(self.numbers)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """The assumptions that the teachers' training adds to a guarantee."""
        together = self.request.together
        found = None if together is None else together.assumption
        return () if found is None else (found,)

    def deal(self, strategy: str | Strategy, labels: Labels, secret: bytes) -> Partition:
        """Partition the records, by a strategy or by the plan's groups."""
        how = make_strategy(strategy, {}) if isinstance(strategy, str) else strategy
        if isinstance(how, Random):
            return self.plan.deal(self.numbers, secret)
        if self.plan.individual:
            raise ParameterError("individual budgets need a random partition")
        return how.deal(labels, self.plan.teachers, secret)

    def voters_name(self, ensemble: bytes, partition: Partition, records: Records) -> bytes:
        """Return the ensemble's name in query ids; another partition makes other queries.

        In standard PATE with a random partition the ensemble's own name suffices: its secret
        determines the partition.
        """
        if self.plan.standard and not self.plan.exempt and not partition.data_dependent:
            return ensemble
        seal = hashlib.sha256(self.numbers.astype("<i8").tobytes())
        seal.update(partition.to_bytes() + records.digests)
        return ensemble + seal.digest()

    def groups_digest(self, ledger: Ledger, records: Records, groups: Labels | None) -> str:
        """Return a digest of all records' groups; empty without individual budgets."""
        if not self.plan.individual or groups is None:
            return ""
        return RECORDS + records.grouped(groups, group_key(ledger))

    def require_affordable(self, ledger: Ledger, groups: str, *, begun: bool) -> None:
        """Refuse, before training, a ledger that cannot pay for a single answer.

        Args:
            ledger: the data set's ledger.
            groups: from `groups_digest`.
            begun: whether it may contain answers of this ensemble, which cost nothing again.
        """
        require_ledger(self.rules, ledger, groups)
        if self.rules.mode is not Mode.STRICT:
            return
        binding = self.rules.binding(groups=groups)
        rules = {known.rule for known in ledger.spending().bindings.values()}
        if begun and rules & {binding.rule, ""}:  # version 0.1 did not store rules
            return
        ledger.require_affordable(binding)

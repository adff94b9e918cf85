"""How a run counts, charges and stops: settled before any vote is seen.

The estimator and the run file describe the same thing in their own words; from here on they
share every step that decides an answer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np

from ballotine.data import row_keys
from ballotine.data.partition import Partition, make_strategy
from ballotine.data.partitions import Random, Strategy
from ballotine.errors import DataError, ParameterError
from ballotine.ledger import EVERYONE, Charge, Ledger, Mode, Terms
from ballotine.noise import NoiseSource
from ballotine.pipeline.together import LearnTogether
from ballotine.privacy.guarantee import Budget
from ballotine.types import IntArray, Labels, Table
from ballotine.voting import Answerer, Answers, ConfidentGNMax, GNMax, Mechanism, query_ids
from ballotine.voting.answering import Count
from ballotine.voting.individual import IndividualPlan, Scheme, group_numbers
from ballotine.voting.publication import (
    Publication,
    fixed_terms,
    places_of,
    plan_publication,
    publish,
)

WHOLE_VOTES = (GNMax, ConfidentGNMax)
"""Mechanisms that can weigh votes, and whose data-dependent ε can be published."""


class Answering(Protocol):
    """Answers queries in order, until all are answered or the rule says stop."""

    def charge(self) -> Charge:
        """What one query costs each group, at worst."""

    def answer(
        self, ids: Sequence[bytes], count: Count, advance: Callable[[int], None] = ...
    ) -> Answers:
        """Answers in the order of the queries."""


@dataclass(frozen=True)
class Rules:
    """What somebody asks for.

    Attributes:
        mechanism: how votes become answers.
        teachers: how many vote; upsampling makes more of them.
        mode: when answering stops.
        budget: (ε, δ) for everyone; None with individual budgets and in fixed mode.
        delta: δ where there is no budget for everyone.
        individual: budgets by group.
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
            raise ParameterError(
                "a budget is needed and has no default: budget=Budget(epsilon, delta)"
            )
        if self.budget is not None and self.delta is not None:
            raise ParameterError("the budget has a δ already: leave delta out")
        if self.queries is not None and self.mode is not Mode.FIXED:
            raise ParameterError("only the fixed mode asks a fixed number of queries")
        if self.together is not None:
            self._check_together(self.together)

    def _check_individual(self) -> None:
        if self.mode is Mode.FIXED:
            raise ParameterError("the fixed mode has one budget for everyone; use strict")
        if self.budget is not None or self.delta is None:
            raise ParameterError(
                "individual budgets bring their own ε: leave budget out and give delta"
            )
        self._require_whole_votes("individual budgets work")

    def _check_fixed(self) -> None:
        if self.budget is not None or self.delta is None:
            raise ParameterError(
                "in fixed mode the number of queries decides what they cost: leave budget out, "
                "and give queries and delta"
            )
        if self.queries is None or self.queries < 1:
            raise ParameterError("the fixed mode needs the number of queries, beforehand")
        self._require_whole_votes("the fixed mode works")

    def _check_together(self, together: LearnTogether) -> None:
        if self.mechanism.multilabel:
            raise ParameterError("teachers learn together with one class per record only")
        if self.individual is not None:
            raise ParameterError("teachers with individual budgets cannot learn together")
        # What depends on the votes has no proof here, and a published ε would hide the doubt.
        if self.mode is Mode.FIXED or (together.private and self.mode is not Mode.STRICT):
            raise ParameterError(
                f"teachers that learn together answer in strict mode, not in {self.mode.value} "
                "mode: a cost that depends on the votes is not proven for them"
            )

    def _require_whole_votes(self, what: str) -> None:
        if not isinstance(self.mechanism, WHOLE_VOTES):
            raise ParameterError(
                f"{what} with gnmax and confident-gnmax, not with {self.mechanism.name}"
            )


@dataclass(frozen=True)
class Procedure:
    """Rules, applied to records whose groups and number of classes are known.

    Attributes:
        rules: what was asked for.
        classes: how many classes, or labels, there are.
        plan: who teaches, votes and pays what, with individual budgets.
        numbers: the group of each record, as its position among the plan's names.
    """

    rules: Rules
    classes: int
    plan: IndividualPlan | None = None
    numbers: IntArray | None = field(default=None, repr=False)

    @classmethod
    def settle(cls, rules: Rules, classes: int, groups: Labels | None) -> Procedure:
        """Plan for these records; what is planned depends on the sizes of groups alone."""
        if rules.individual is None:
            if groups is not None:
                raise ParameterError("records have groups, but there are no individual budgets")
            return cls(rules, classes)
        if groups is None:
            raise DataError("individual budgets need the group of every record: give groups")
        assert rules.delta is not None
        scheme, numbers = rules.individual, group_numbers(groups, rules.individual.budgets)
        found = np.bincount(numbers, minlength=len(scheme.names)).tolist()
        records = dict(zip(scheme.names, found, strict=True))
        plan = scheme.plan(records, rules.teachers, rules.mechanism, classes, rules.delta)
        return cls(rules, classes, plan, numbers)

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism that answers: the plan's own, where there is a plan."""
        return self.rules.mechanism if self.plan is None else self.plan.mechanism

    @property
    def teachers(self) -> int:
        """How many teachers there are."""
        return self.rules.teachers if self.plan is None else self.plan.teachers

    @property
    def delta(self) -> float:
        """The δ of every promise."""
        if self.rules.budget is not None:
            return self.rules.budget.delta
        assert self.rules.delta is not None
        return self.rules.delta

    @property
    def straight(self) -> IntArray:
        """Positions of the records that need no privacy and go straight to the student."""
        if self.plan is None or self.numbers is None:
            return np.zeros(0, dtype=np.int64)
        return self.plan.straight(self.numbers)

    @property
    def mark(self) -> bytes:
        """Tells apart who teaches whom; nothing where that is as without individual budgets."""
        plan = self.plan
        if plan is None or self.numbers is None or (plan.standard and not plan.exempt):
            return b""
        return hashlib.sha256(self.numbers.astype("<i8").tobytes()).digest()

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What a guarantee must add because of how teachers learn."""
        together = self.rules.together
        found = None if together is None else together.assumption
        return () if found is None else (found,)

    def deal(self, strategy: str | Strategy, labels: Labels, secret: bytes) -> Partition:
        """Who teaches whom: by the way to deal, or by the plan's groups."""
        how = make_strategy(strategy, {}) if isinstance(strategy, str) else strategy
        if self.plan is None or self.numbers is None:
            return how.deal(labels, self.teachers, secret)
        if not isinstance(how, Random):
            raise ParameterError("individual budgets deal records at random within their groups")
        return self.plan.deal(self.numbers, secret)

    def terms(self, path: str | Path | None) -> Terms:
        """What the ledger is opened with; in fixed mode an existing one keeps its own plan.

        Args:
            path: the ledger's file, if it has one.
        """
        if self.rules.mode is Mode.FIXED:
            return self._fixed_terms(path)
        if self.plan is not None:
            budgets = tuple(self.plan.budgets.items())
        else:
            assert self.rules.budget is not None
            budgets = ((EVERYONE, self.rules.budget),)
        return Terms(budgets, self.rules.mode)

    def query_ids(self, X: Table, ensemble: bytes) -> list[bytes]:
        """Names of queries; with equal budgets they are those of a run without groups."""
        plan = None if self.plan is None or self.plan.standard else self.plan
        return query_ids(row_keys(X), ensemble + self.mark, self.mechanism, plan)

    def answerer(
        self, ledger: Ledger, noise: NoiseSource, classes: Labels, run: str = ""
    ) -> Answering:
        """Who answers, by the rule that stops it."""
        if self.rules.mode is Mode.PAPER:
            from ballotine.voting.paper import PaperAnswerer

            paper: Answering = PaperAnswerer(
                self.mechanism, ledger, noise, classes, run=run, plan=self.plan
            )
            return paper
        return Answerer(self.mechanism, ledger, noise, classes, run=run, plan=self.plan)

    def publish(
        self, ledger: Ledger, ids: Sequence[bytes], ballots: Table, noise: NoiseSource
    ) -> None:
        """In fixed mode, publish the ε of these queries once all of them are answered.

        A ledger that holds other queries too is left alone: what they cost is not in these
        ballots, and the ceiling stands.

        Args:
            ledger: where the answers stand.
            ids: names of all queries; equal names are one query.
            ballots: their ballots, in the same order: private.
            noise: where the noise of the release comes from.
        """
        if self.rules.mode is not Mode.FIXED:
            return
        first = {query: place for place, query in reversed(list(enumerate(ids)))}
        spending = ledger.spending()
        held = len(ledger.lookup(list(first)))
        if spending.statement is None and held == spending.recorded == ledger.terms.queries:
            places = np.array(list(first.values()), dtype=np.int64)
            tallies = self.mechanism.tally(ballots[places], self.classes)
            publish(ledger, self.mechanism, places_of(tallies), noise)

    def _fixed_terms(self, path: str | Path | None) -> Terms:
        queries, delta = self.rules.queries, self.delta
        assert queries is not None
        if path is not None and Path(path).is_file() and Path(path).stat().st_size:
            with Ledger.existing(path) as ledger:
                stored = ledger.terms
            if stored.mode is Mode.FIXED and self._planned_alike(stored):
                return stored
        publication, _ = plan_publication(
            self.mechanism, self.teachers, self.classes, queries, delta
        )
        return fixed_terms(self.mechanism, publication, queries, delta)

    def _planned_alike(self, stored: Terms) -> bool:
        """Whether the ledger was opened for as many queries, teachers and classes, at this δ."""
        plan = Publication.from_json(stored.plan)
        return (stored.queries, stored.loosest.delta, plan.teachers, plan.classes) == (
            self.rules.queries,
            self.delta,
            self.teachers,
            self.classes,
        )

"""The contract of every mechanism: a rule from tallies to answers that knows its cost."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np

from ballotine.errors import DataError, ParameterError
from ballotine.ledger import Events
from ballotine.noise import QueryNoise
from ballotine.oracle.neighbours import Tally
from ballotine.privacy.events import Event
from ballotine.privacy.plan import Charges
from ballotine.privacy.private import PrivateCosts
from ballotine.privacy.reach import ONE_VOTE, Reach
from ballotine.task import Task, task_kind
from ballotine.types import FloatArray, IntArray
from ballotine.voting.electorate import Electorate
from ballotine.voting.parameters import declared
from ballotine.voting.registry import able
from ballotine.voting.tally import Tallies

Bounds = Literal["published", "tight", "exact"]
"""Which analysis prices a release: the papers' (two-sided), data-independent, or exact."""


MOST_VOTES = 1e15
"""Beyond, counts are no whole numbers any more in floating point."""
FARTHEST = 10.0
"""Standard deviations that no noise of ours reaches: 64 random bits end at 9.2."""


@dataclass(frozen=True)
class AuditDefault:
    """With what a mechanism is audited unless told otherwise.

    Few votes, and noise of their size: then some tally is close to the worst that is charged for.

    Attributes:
        parameters: of the mechanism.
        teachers: how many vote.
        classes: how many classes they choose from, or labels they name.
        queries: how many are answered together.
    """

    parameters: Mapping[str, Any] = field(default_factory=dict)
    teachers: int = 4
    classes: int = 2
    queries: int = 20


@dataclass(frozen=True)
class Mechanism(ABC):
    """A frozen set of parameters; the engine, the planner and the ledger use only this.

    Wherever ``classes`` is asked for, it is the number of classes to choose one from, or,
    for multi-label mechanisms, the number of labels that are present or absent.

    What a subclass declares is all that commands, run files, planning, audits and verification
    know of it. `register` makes it known to them by its name.

    Attributes:
        name: what run files call it; part of what makes a query the same.
        multilabel: whether answers are labels, present or absent, instead of a class.
        analyses: which analyses price it; the data-independent one always does.
        individual: whether costs of weighted and shared votes are known.
        publishable: whether the ε of a fixed number of queries can be published: `envelope`.
        planned_by: the parameter of noise that a plan varies; "" if it cannot be planned.
        audit: what it is audited with; None: not unless parameters are given.
        verified_by: modules whose ``CASES`` hold its costs against the oracle.
    """

    name: ClassVar[str]
    multilabel: ClassVar[bool] = False
    analyses: ClassVar[frozenset[Bounds]] = frozenset({"tight"})
    individual: ClassVar[bool] = False
    publishable: ClassVar[bool] = False
    planned_by: ClassVar[str] = ""
    audit: ClassVar[AuditDefault | None] = None
    verified_by: ClassVar[tuple[str, ...]] = ()

    @property
    def task(self) -> type[Task]:
        """What its queries ask for."""
        return task_kind(several=self.multilabel)

    @abstractmethod
    def events(self, classes: int, reach: Reach = ONE_VOTE) -> Events:
        """Everything one query may release: its data-independent cost, before the fact."""

    @abstractmethod
    def realised(self, answers: IntArray, classes: int, reach: Reach = ONE_VOTE) -> Counter[Event]:
        """What a set of answers did release, read from the (public) answers alone."""

    @abstractmethod
    def release(self, tallies: Tallies, noise: QueryNoise) -> IntArray:
        """Answers: a class number per query, or 0/1 per query and label; ABSTAIN for neither."""

    def require(self, tallies: Tallies) -> None:
        """Refuse tallies that it does not release from; asked before anything is paid for.

        Of labels one ballot moves several counts, which is not what a vote for a class costs.
        """
        if tallies.multilabel != self.multilabel:
            wanted = "labels" if self.multilabel else "votes for classes"
            raise DataError(f"{self.name} needs counts of {wanted}, not of anything else")

    def tally(self, ballots: IntArray, classes: int) -> Tallies:
        """Count ballots of shape (queries, teachers), or (queries, teachers, labels)."""
        return Tallies.of(ballots, classes)

    def weigh(self, ballots: IntArray, classes: int, electorate: Electorate) -> Tallies:
        """Count the ballots of those whose turn it is, each with its weight."""
        return Tallies(electorate.count(ballots, classes))

    def costs(
        self,
        tallies: Tallies,
        answers: IntArray,
        orders: FloatArray,
        bounds: Bounds,
        reach: Reach = ONE_VOTE,
    ) -> PrivateCosts:
        """What the answers to these tallies cost by one analysis, shape (queries, orders).

        Data-dependent costs may be summed only over queries fixed before any answer.
        """
        if bounds not in self.analyses:
            raise ParameterError(
                f"{self.name} has no {bounds} data-dependent cost; use the tight, "
                "data-independent one"
            )
        if bounds == "tight":
            return PrivateCosts(self._tight(answers, tallies.classes, orders, reach))
        if bounds == "published":
            return PrivateCosts(self._published(tallies, answers, orders, reach))
        return PrivateCosts(self._exact(tallies, orders, reach))

    def envelope(self, teachers: int, classes: int, order: float) -> FloatArray:
        """A proven upper bound of the exact cost by top count and runner-up, at one order."""
        del teachers, classes, order
        raise ParameterError(
            f"{self.name} has no proven envelope, so its data-dependent ε cannot be published; "
            f"use {able('publishable')}, or the strict mode"
        )

    def log_law(self, tally: Tally) -> FloatArray | None:
        """Log-probabilities of (abstain, class 0, class 1, …) for one tally; None when unknown.

        By the oracle or by the mechanism's own formula, and not by the code that prices it:
        audits and verification compare the two.
        """
        del tally
        return None

    @classmethod
    def planned(cls, noise: float, teachers: int, **given: Any) -> Self:
        """The mechanism with this noise; what is not given follows from noise and teachers.

        Args:
            noise: in votes: the more, the cheaper. Override this where ``planned_by`` is not it.
            teachers: how many vote.
            given: other parameters.
        """
        del teachers
        return cls(**{cls.planned_by: noise, **given})

    def expected(self, classes: int, answered: float) -> Charges:
        """What a query releases on average if so large a share of them is answered."""
        del answered
        return [(event, 1.0) for event in self.events(classes)]

    def chances(self, counts: FloatArray) -> tuple[FloatArray, FloatArray]:
        """How likely each query is answered, and how likely an answer is then the first class.

        Args:
            counts: votes by class, shape (queries, classes).
        """
        found = [self.log_law(tuple(row)) for row in counts.tolist()]
        laws = np.array([law for law in found if law is not None])
        if len(laws) != len(counts):
            raise ParameterError(f"{self.name} does not say how likely its answers are")
        answered = -np.expm1(laws[:, 0])
        return answered, np.exp(laws[:, 1]) / np.maximum(answered, np.finfo(np.float64).tiny)

    def scaled(self, factor: float) -> Self:
        """The mechanism for so many times as many votes: noise and thresholds grow alike."""
        if factor == 1.0:
            return self
        scales = {name: one.parameter.votes for name, one in declared(type(self)).items()}
        if not any(scales.values()):
            raise ParameterError(f"{self.name} does not say how it scales")
        values = {name: getattr(self, name) for name, votes in scales.items() if votes}
        given = {name: value for name, value in values.items() if value is not None}
        return replace(self, **{name: v * factor ** scales[name] for name, v in given.items()})

    @property
    def checks(self) -> tuple[tuple[float, float], ...]:
        """The votes that each check asks for, and the standard deviation of its noise."""
        return ()

    @property
    def most_labels(self) -> int | None:
        """How many labels a ballot may name; teachers keep their most probable ones."""
        return None

    def require_votes(self, votes: float) -> None:
        """Refuse checks that cost privacy and that so many votes can never pass."""
        for threshold, sigma in self.checks:
            if threshold > votes + FARTHEST * sigma:
                raise ParameterError(
                    f"no query can pass a threshold of {threshold:.6g}: all votes together are "
                    f"{votes:.6g}, and the noise of the check has σ = {sigma:.6g}; choose a "
                    "smaller threshold"
                )

    def describe(self) -> str:
        """Canonical text of name and parameters; part of what makes a query the same."""
        return json.dumps({"mechanism": self.name, **asdict(self)}, sort_keys=True)

    def _published(
        self, tallies: Tallies, answers: IntArray, orders: FloatArray, reach: Reach
    ) -> FloatArray:
        """The data-dependent cost of the papers, where ``analyses`` names it."""
        raise NotImplementedError

    def _exact(self, tallies: Tallies, orders: FloatArray, reach: Reach) -> FloatArray:
        """The exact data-dependent cost, where ``analyses`` names it."""
        raise NotImplementedError

    def _tight(
        self, answers: IntArray, classes: int, orders: FloatArray, reach: Reach
    ) -> FloatArray:
        """The data-independent cost of what each answer shows to have been released."""
        prices: dict[Event, FloatArray] = {}
        kinds, place = np.unique(answers, axis=0, return_inverse=True)
        costs = np.zeros((len(kinds), len(orders)))
        for row, answer in enumerate(kinds):
            for event, times in self.realised(answer[None], classes, reach).items():
                if event not in prices:
                    prices[event] = event.cost(orders)
                costs[row] += times * prices[event]
        return costs[place.ravel()]


def refuse_reach(mechanism: Mechanism, reach: Reach) -> None:
    """For mechanisms whose cost is known for one teacher of weight one only."""
    if reach != ONE_VOTE:
        raise ParameterError(
            f"{mechanism.name} has no cost for weighted or shared votes; individual budgets work "
            f"with {able('individual', 'and')}"
        )


def require_threshold(threshold: float) -> None:
    """Refuse a threshold that is no number of votes."""
    if not -MOST_VOTES <= threshold <= MOST_VOTES:  # refuses NaN, too
        raise ParameterError(f"a threshold is a number of votes, at most {MOST_VOTES:g} of them")

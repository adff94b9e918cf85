"""The base class of mechanisms: rules that turn tallies into answers and know their cost."""

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
from ballotine.voting.registry import mechanisms_with
from ballotine.voting.tally import Tallies

Bounds = Literal["published", "tight", "exact"]
"""Which analysis prices a release: the papers' (two-sided), data-independent, or exact."""

MAX_VOTES = 1e15
"""Above this, floating-point numbers no longer represent counts exactly."""
MAX_NOISE_DEVIATIONS = 10.0
"""Standard deviations that drawn noise never reaches: with 64 random bits it ends at 9.2."""


@dataclass(frozen=True)
class AuditDefault:
    """The default setting of an audit.

    Audits are sharpest with few votes and noise of the same size: some tally is then close to the
    worst case that is charged.

    Attributes:
        parameters: parameters of the mechanism.
        teachers: the number of teachers.
        classes: the number of classes, or labels.
        queries: how many queries are answered together.
    """

    parameters: Mapping[str, Any] = field(default_factory=dict)
    teachers: int = 4
    classes: int = 2
    queries: int = 20


@dataclass(frozen=True)
class Mechanism(ABC):
    """A frozen set of parameters, and the interface that sessions, plans and ledgers use.

    The argument ``classes`` is always the number of classes, or, for multi-label mechanisms, the
    number of labels.

    Commands, run files, planning, audits and verification know only what a subclass declares.
    `register` makes it available to them by its name.

    Attributes:
        name: the name in run files; part of the identity of a query.
        multilabel: whether answers are labels, present or absent, instead of a class.
        analyses: the analyses that can price it; "tight" is always one of them.
        individual: whether costs of weighted and shared votes are known.
        publishable: whether the ε of a fixed number of queries can be published: `envelope`.
        planned_by: the noise parameter that planning varies; "" if it cannot be planned.
        audit: the default setting of its audit; None: audited only if parameters are given.
        verified_by: modules whose ``CASES`` compare its costs with the oracle.
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
        """The task that it answers."""
        return task_kind(several=self.multilabel)

    @abstractmethod
    def events(self, classes: int, reach: Reach = ONE_VOTE) -> Events:
        """Return everything that one query may release: its worst case, known beforehand."""

    @abstractmethod
    def realised(self, answers: IntArray, classes: int, reach: Reach = ONE_VOTE) -> Counter[Event]:
        """Return what was released, as the (public) answers show."""

    @abstractmethod
    def release(self, tallies: Tallies, noise: QueryNoise) -> IntArray:
        """Return a class number per query, or 0/1 per query and label; ABSTAIN if not answered."""

    def require(self, tallies: Tallies) -> None:
        """Refuse tallies of the wrong kind; called before anything is charged.

        One ballot of labels changes several counts, which costs more than a vote for a class.
        """
        if tallies.multilabel != self.multilabel:
            wanted = "labels" if self.multilabel else "votes for classes"
            raise DataError(f"{self.name} needs counts of {wanted}")

    def tally(self, ballots: IntArray, classes: int) -> Tallies:
        """Count ballots of shape (queries, teachers), or (queries, teachers, labels)."""
        return Tallies.of(ballots, classes)

    def weigh(self, ballots: IntArray, classes: int, electorate: Electorate) -> Tallies:
        """Count the ballots of the teachers whose turn it is, each with its weight."""
        return Tallies(electorate.count(ballots, classes))

    def costs(
        self,
        tallies: Tallies,
        answers: IntArray,
        orders: FloatArray,
        bounds: Bounds,
        reach: Reach = ONE_VOTE,
    ) -> PrivateCosts:
        """Return the cost of these answers by one analysis, shape (queries, orders).

        Data-dependent costs may be added up only if all queries were fixed before any answer.
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
        """Return an upper bound on the exact cost by top count and runner-up, at one order.

        It must be proven; mechanisms that declare `publishable` implement it.
        """
        del teachers, classes, order
        raise ParameterError(
            f"{self.name} has no proven envelope, so its data-dependent ε cannot be published; "
            f"use {mechanisms_with('publishable')}, or the strict mode"
        )

    def log_law(self, tally: Tally) -> FloatArray | None:
        """Return log-probabilities of (abstain, class 0, class 1, …) for a tally; None if unknown.

        Compute them by the oracle or an independent formula, not by the code that prices the
        mechanism: audits and verification compare the two.
        """
        del tally
        return None

    @classmethod
    def planned(cls, noise: float, teachers: int, **given: Any) -> Self:
        """Return the mechanism with this noise; other parameters have defaults derived from it.

        Args:
            noise: in votes; more noise costs less. Override this method if the parameter
                ``planned_by`` is not the noise itself.
            teachers: the number of teachers.
            given: other parameters.
        """
        del teachers
        return cls(**{cls.planned_by: noise, **given})

    def expected(self, classes: int, answered: float) -> Charges:
        """Return what a query releases on average if this share of queries is answered."""
        del answered
        return [(event, 1.0) for event in self.events(classes)]

    def chances(self, counts: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the probabilities that a query is answered, and that its answer is class 0.

        Args:
            counts: votes by class, shape (queries, classes).
        """
        found = [self.log_law(tuple(row)) for row in counts.tolist()]
        laws = np.array([law for law in found if law is not None])
        if len(laws) != len(counts):
            raise ParameterError(f"{self.name} does not declare the probabilities of its answers")
        answered = -np.expm1(laws[:, 0])
        return answered, np.exp(laws[:, 1]) / np.maximum(answered, np.finfo(np.float64).tiny)

    def scaled(self, factor: float) -> Self:
        """Return the mechanism for `factor` times as many votes: noise and thresholds scale."""
        if factor == 1.0:
            return self
        scales = {name: one.parameter.votes for name, one in declared(type(self)).items()}
        if not any(scales.values()):
            raise ParameterError(f"{self.name} does not declare how its parameters scale")
        values = {name: getattr(self, name) for name, votes in scales.items() if votes}
        given = {name: value for name, value in values.items() if value is not None}
        return replace(self, **{name: v * factor ** scales[name] for name, v in given.items()})

    @property
    def checks(self) -> tuple[tuple[float, float], ...]:
        """The threshold of each check, and the standard deviation of its noise."""
        return ()

    @property
    def most_labels(self) -> int | None:
        """How many labels a ballot may name; teachers keep the most probable ones."""
        return None

    def require_votes(self, votes: float) -> None:
        """Refuse checks that this many votes can never pass but that still cost privacy."""
        for threshold, sigma in self.checks:
            if threshold > votes + MAX_NOISE_DEVIATIONS * sigma:
                raise ParameterError(
                    f"no query can pass a threshold of {threshold:.6g}: there are {votes:.6g} "
                    f"votes in total, and the noise on the check has σ = {sigma:.6g}; choose a "
                    "smaller threshold"
                )

    def describe(self) -> str:
        """Return the name and parameters as canonical text; part of the identity of a query."""
        return json.dumps({"mechanism": self.name, **asdict(self)}, sort_keys=True)

    def _published(
        self, tallies: Tallies, answers: IntArray, orders: FloatArray, reach: Reach
    ) -> FloatArray:
        """Return the papers' data-dependent cost, if ``analyses`` includes it."""
        raise NotImplementedError

    def _exact(self, tallies: Tallies, orders: FloatArray, reach: Reach) -> FloatArray:
        """Return the exact data-dependent cost, if ``analyses`` includes it."""
        raise NotImplementedError

    def _tight(
        self, answers: IntArray, classes: int, orders: FloatArray, reach: Reach
    ) -> FloatArray:
        """Return the data-independent cost of what each answer shows to have been released."""
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
    """Refuse weighted and shared votes, for mechanisms whose cost is known for one vote only."""
    if reach != ONE_VOTE:
        raise ParameterError(
            f"{mechanism.name} has no cost for weighted or shared votes; individual budgets work "
            f"with {mechanisms_with('individual', 'and')}"
        )


def require_threshold(threshold: float) -> None:
    """Refuse a threshold that is not a possible number of votes."""
    if not -MAX_VOTES <= threshold <= MAX_VOTES:  # also refuses NaN
        raise ParameterError(f"a threshold is a number of votes, at most {MAX_VOTES:g}")

"""The contract of every mechanism: a rule from tallies to answers that knows its cost."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import asdict, dataclass
from typing import ClassVar, Literal

import numpy as np

from ballotine.errors import DataError, ParameterError
from ballotine.ledger import Events
from ballotine.noise import QueryNoise
from ballotine.privacy.events import Event
from ballotine.privacy.private import PrivateCosts
from ballotine.privacy.reach import ONE_VOTE, Reach
from ballotine.task import Task, task_kind
from ballotine.types import FloatArray, IntArray
from ballotine.voting.electorate import Electorate
from ballotine.voting.tally import Tallies

Bounds = Literal["published", "tight", "exact"]
"""Which analysis prices a release: the papers' (two-sided), data-independent, or exact."""


MOST_VOTES = 1e15
"""Beyond, counts are no whole numbers any more in floating point."""
FARTHEST = 10.0
"""Standard deviations that no noise of ours reaches: 64 random bits end at 9.2."""


@dataclass(frozen=True)
class Mechanism(ABC):
    """A frozen set of parameters; the engine, the planner and the ledger use only this.

    Wherever ``classes`` is asked for, it is the number of classes to choose one from, or,
    for multi-label mechanisms, the number of labels that are present or absent.
    """

    name: ClassVar[str]
    multilabel: ClassVar[bool] = False

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
        if bounds == "tight":
            return PrivateCosts(self._tight(answers, tallies.classes, orders, reach))
        return PrivateCosts(self._data_dependent(tallies, answers, orders, bounds, reach))

    @property
    def checks(self) -> tuple[tuple[float, float], ...]:
        """The votes that each check asks for, and the standard deviation of its noise."""
        return ()

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

    def _data_dependent(
        self,
        tallies: Tallies,  # noqa: ARG002
        answers: IntArray,  # noqa: ARG002
        orders: FloatArray,  # noqa: ARG002
        bounds: Bounds,
        reach: Reach,  # noqa: ARG002
    ) -> FloatArray:
        raise ParameterError(
            f"{self.name} has no {bounds} data-dependent cost; use the tight, data-independent one"
        )

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
            "with gnmax, confident-gnmax, binary, clipped and powerset"
        )


def require_threshold(threshold: float) -> None:
    """Refuse a threshold that is no number of votes."""
    if not -MOST_VOTES <= threshold <= MOST_VOTES:  # refuses NaN, too
        raise ParameterError(f"a threshold is a number of votes, at most {MOST_VOTES:g} of them")

"""The running cost of answered queries by group: private.

This meter is for the data holder. With data-dependent bounds its readings depend on private
votes, and nothing that is released depends on them, except in paper mode, which says so.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import get_args

import numpy as np

from ballotine.errors import ParameterError
from ballotine.privacy import conversion
from ballotine.privacy.conversion import Method
from ballotine.privacy.private import Private
from ballotine.types import BoolArray, FloatArray, IntArray
from ballotine.voting.individual import Plan
from ballotine.voting.individual.convert import epsilons
from ballotine.voting.mechanism import Bounds
from ballotine.voting.tally import Tallies

REASON = "metering what answered queries cost"


class Readings(Private):
    """The ε after each query, shape (queries,)."""

    __slots__ = ()


class UnitCosts(Private):
    """The cost so far for a record of each unit, shape (units, orders).

    A unit is a whole group, or one teacher of a group that takes turns.
    """

    __slots__ = ()


@dataclass
class Meter:
    """Adds up costs on a grid of orders, by group and by teacher that takes turns.

    Attributes:
        plan: the groups, their weights and the mechanism.
        bounds: which analysis prices the answers.
        orders: Rényi orders, shape (m,).
    """

    plan: Plan
    bounds: Bounds
    orders: FloatArray
    _totals: dict[str, UnitCosts] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self._require_prices()
        for group in self.plan.groups:
            units = len(group.teachers) if group.takes_turns else 1
            self._totals[group.name] = UnitCosts(np.zeros((units, len(self.orders))))

    def _require_prices(self) -> None:
        """Refuse an analysis that the mechanism lacks, before anything is reserved or drawn.

        This prices a made-up vote of two teachers on two classes or labels.
        """
        if self.bounds not in get_args(Bounds):
            raise ParameterError(f"bounds must be one of {', '.join(get_args(Bounds))}")
        if self.bounds == "tight":
            return
        mechanism = self.plan.mechanism
        tail = mechanism.task.tail(2)
        tallies = mechanism.tally(np.zeros((1, 2, *tail), dtype=np.int64), 2)
        answers = np.zeros((1, *tail), dtype=np.int64)
        for group in self.plan.groups:
            mechanism.costs(tallies, answers, self.orders[:1], self.bounds, group.reach)

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups whose cost is metered."""
        return tuple(group.name for group in self.plan.groups)

    def add(
        self, tallies: Tallies, answers: IntArray, turns: IntArray | None = None
    ) -> dict[str, Private]:
        """Meter further queries; return each group's cost up to each, shape (queries, orders)."""
        return {name: Private(self._grown(name, tallies, answers, turns)) for name in self.groups}

    def readings(
        self, costs: dict[str, Private], delta: float, method: Method
    ) -> dict[str, Readings]:
        """Return the ε of every group after each query."""
        return {
            name: Readings(epsilons(self.orders, cost.unlock(reason=REASON), delta, method))
            for name, cost in costs.items()
        }

    def epsilon(self, name: str, delta: float, method: Method) -> tuple[float, float]:
        """Return a group's ε so far and the order that proves it: private if the bounds are."""
        total = self._totals[name].unlock(reason=REASON).max(axis=0)
        return conversion.epsilon(self.orders, total, delta, method)

    def _grown(
        self, name: str, tallies: Tallies, answers: IntArray, turns: IntArray | None
    ) -> FloatArray:
        mechanism, reach = self.plan.mechanism, self.plan.reach(name)
        priced = mechanism.costs(tallies, answers, self.orders, self.bounds, reach)
        each, totals = priced.unlock(reason=REASON), self._totals[name].unlock(reason=REASON)
        if len(totals) == 1:
            grown: FloatArray = totals + np.cumsum(each, axis=0)
            totals[0] = grown[-1]
            return grown
        return _peaks(each, totals, self.plan.votes_at(name, turns, len(tallies)))


def _peaks(each: FloatArray, totals: FloatArray, votes: BoolArray) -> FloatArray:
    """Return the largest total of any teacher up to each query, and update `totals`."""
    peaks = np.tile(totals.max(axis=0), (len(each), 1))
    for teacher in range(votes.shape[1]):
        own = np.flatnonzero(votes[:, teacher])
        if own.size:
            grown = totals[teacher] + np.cumsum(each[own], axis=0)
            peaks[own] = np.maximum(peaks[own], grown)
            totals[teacher] = grown[-1]
    highest: FloatArray = np.maximum.accumulate(peaks, axis=0)
    return highest

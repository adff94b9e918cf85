"""The cost of answering saved votes by one analysis: a tool for the data holder.

Nothing is released and nothing is spent. Data-dependent results are private until they are
sanitised, and are marked as such.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ballotine.errors import ParameterError
from ballotine.ledger.answers import answered
from ballotine.noise import NoiseSource, QueryNoise
from ballotine.privacy.conversion import Method
from ballotine.privacy.guarantee import Kind
from ballotine.privacy.orders import DEFAULT_ORDERS
from ballotine.types import FloatArray, IntArray
from ballotine.voting.individual import Plan
from ballotine.voting.mechanism import Bounds
from ballotine.voting.meter import Meter, Readings
from ballotine.voting.tally import Tallies


@dataclass(frozen=True)
class GroupCosts:
    """The cost for the records of one group, by one analysis."""

    group: str
    epsilon: float
    order: float
    budget: float | None


@dataclass(frozen=True)
class Accounted:
    """The cost of answering a number of queries, by one analysis.

    Attributes:
        epsilon: the ε for everyone; with individual budgets, that of the most charged group.
        groups: the costs by group, if budgets are individual.
    """

    epsilon: float
    delta: float
    order: float
    queries: int
    answered: int
    kind: Kind
    bounds: Bounds
    groups: tuple[GroupCosts, ...] = ()


class Accountant:
    """Answers saved votes chunk by chunk and prices the answers on a grid of orders."""

    def __init__(
        self,
        plan: Plan,
        bounds: Bounds,
        noise: NoiseSource,
        orders: FloatArray = DEFAULT_ORDERS,
    ) -> None:
        self._plan = plan
        self._bounds: Bounds = bounds
        self._noise = noise
        self._meter = Meter(plan, bounds, orders)
        self.queries = 0
        self.answered = 0

    def add(
        self, votes: Tallies | IntArray, classes: int, delta: float, method: Method = "improved"
    ) -> tuple[dict[str, Readings], IntArray]:
        """Account for further queries.

        Returns:
            Each group's ε after each query, and how many queries had been answered by then.
        """
        turns = np.arange(self.queries, self.queries + len(votes))
        tallies = self._plan.tally(votes, classes, turns)
        keys = [turn.to_bytes(8, "big") for turn in turns.tolist()]
        answers = self._plan.mechanism.release(tallies, QueryNoise(self._noise, keys))
        costs = self._meter.add(tallies, answers, turns)
        so_far = self.answered + np.cumsum(answered(answers))
        self.queries += len(votes)
        self.answered = int(so_far[-1])
        return self._meter.readings(costs, delta, method), so_far

    def result(self, delta: float, method: Method = "improved") -> Accounted:
        """Return the ε at δ of everything added so far."""
        if self.queries == 0:
            raise ParameterError("no queries were accounted for")
        groups = [self._group(name, delta, method) for name in self._meter.groups]
        most = max(groups, key=lambda group: group.epsilon)
        data_independent = self._bounds == "tight"
        return Accounted(
            most.epsilon,
            delta,
            most.order,
            self.queries,
            self.answered,
            Kind.DATA_INDEPENDENT if data_independent else Kind.DATA_DEPENDENT,
            self._bounds,
            tuple(groups) if self._plan.individual else (),
        )

    def _group(self, name: str, delta: float, method: Method) -> GroupCosts:
        epsilon, order = self._meter.epsilon(name, delta, method)
        budget = self._plan.group(name).epsilon if self._plan.individual else None
        return GroupCosts(name, epsilon, order, budget)

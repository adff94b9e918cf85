"""What answering saved votes costs, by each analysis: the data holder's own tool.

Nothing is released here and nothing is spent. Data-dependent results are private until
they are sanitised, and say so.
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
    """What the records of one group were charged, by one analysis."""

    group: str
    epsilon: float
    order: float
    budget: float | None


@dataclass(frozen=True)
class Accounted:
    """The cost of answering so many queries, by one analysis.

    Attributes:
        epsilon: of everyone; with individual budgets, of the group that was charged most.
        groups: each group's own, when budgets are individual.
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
    """Answers and prices saved votes, chunk by chunk, on every order it may need."""

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

        Returns every group's ε after each of them, and how many were answered by then.
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
        """ε at δ of everything added so far."""
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

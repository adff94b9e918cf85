"""What answering saved votes costs, by each analysis: the data holder's own tool.

Nothing is released here and nothing is spent. Data-dependent results are private until
they are sanitised, and say so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from ballotine.errors import ParameterError
from ballotine.noise import NoiseSource, QueryNoise
from ballotine.privacy import conversion, exact, published
from ballotine.privacy.conversion import Method
from ballotine.privacy.guarantee import Kind
from ballotine.privacy.ledger.spending import cost_of
from ballotine.types import FloatArray, IntArray
from ballotine.voting.confident import ConfidentGNMax
from ballotine.voting.gnmax import GNMax
from ballotine.voting.mechanism import Mechanism
from ballotine.voting.tally import Tallies

Bounds = Literal["published", "tight", "exact"]
REASON = "the data holder accounts for saved votes"


@dataclass(frozen=True)
class Accounted:
    """The cost of answering so many queries, by one analysis."""

    epsilon: float
    delta: float
    order: float
    queries: int
    answered: int
    kind: Kind
    bounds: Bounds


class Accountant:
    """Adds up the cost of tallies, chunk by chunk, on every order it may need."""

    def __init__(
        self, mechanism: Mechanism, bounds: Bounds, noise: NoiseSource, orders: FloatArray
    ) -> None:
        if bounds not in get_args(Bounds):
            raise ParameterError(f"bounds must be one of {', '.join(get_args(Bounds))}")
        if not isinstance(mechanism, GNMax | ConfidentGNMax):
            raise ParameterError(f"{mechanism.name} cannot be accounted from saved votes")
        self._mechanism: GNMax | ConfidentGNMax = mechanism
        self._bounds = bounds
        self._noise = noise
        self._orders = orders
        self.cost: FloatArray = np.zeros_like(orders)
        self.queries = 0
        self.answered = 0

    def add(self, tallies: Tallies) -> FloatArray:
        """Account for further queries; returns the cost of each, shape (queries, orders)."""
        answers = self._mechanism.release(tallies, self._noise_for(len(tallies)))
        counts = tallies.unlock(reason=REASON)
        each = self._costs(counts, answers)
        self.cost = self.cost + each.sum(axis=0)
        self.queries += len(tallies)
        self.answered += int(np.count_nonzero(answers >= 0))
        return each

    def result(self, delta: float, method: Method = "improved") -> Accounted:
        """ε at δ of everything added so far."""
        if self.queries == 0:
            raise ParameterError("no queries were accounted for")
        epsilon, order = conversion.epsilon(self._orders, self.cost, delta, method)
        data_independent = self._bounds == "tight"
        kind = Kind.DATA_INDEPENDENT if data_independent else Kind.DATA_DEPENDENT
        return Accounted(epsilon, delta, order, self.queries, self.answered, kind, self._bounds)

    def _noise_for(self, rows: int) -> QueryNoise:
        keys = [n.to_bytes(8, "big") for n in range(self.queries, self.queries + rows)]
        return QueryNoise(self._noise, keys)

    def _costs(self, counts: FloatArray, answers: IntArray) -> FloatArray:
        mechanism, orders = self._mechanism, self._orders
        if self._bounds == "exact" and isinstance(mechanism, ConfidentGNMax):
            return exact.confident_gnmax(
                counts, orders, mechanism.sigma, mechanism.threshold, mechanism.sigma_threshold
            )
        if self._bounds == "exact":
            return exact.gnmax(counts, orders, mechanism.sigma)
        if self._bounds == "tight":
            return self._tight(counts.shape[1], answers)
        return self._published(counts, answers)

    def _tight(self, classes: int, answers: IntArray) -> FloatArray:
        full = cost_of(self._mechanism.events(classes), self._orders)
        without = full - cost_of(self._mechanism.events(classes)[-1:], self._orders)
        return np.where((answers >= 0)[:, None], full, np.maximum(without, 0.0))

    def _published(self, counts: FloatArray, answers: IntArray) -> FloatArray:
        """Theorem 6, two-sided, on the answered queries; α/(2σ₁²) on every query."""
        answered = answers >= 0
        costs = np.zeros((len(counts), len(self._orders)))
        if answered.any():
            costs[answered] = published.gnmax_data_dependent(
                counts[answered], self._orders, self._mechanism.sigma
            )
        if isinstance(self._mechanism, ConfidentGNMax):
            costs += published.threshold(self._orders, self._mechanism.sigma_threshold)
        return costs

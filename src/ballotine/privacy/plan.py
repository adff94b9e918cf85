"""Plan a release in advance: the noise or the number of queries for a budget, and cost curves.

Everything here is data-independent: it may be computed, printed and compared freely, provided
that the inputs (the number of queries, the share answered) do not come from the private data.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from ballotine.errors import BudgetError, ParameterError
from ballotine.privacy import conversion
from ballotine.privacy.best import best_epsilon
from ballotine.privacy.events import Event
from ballotine.privacy.guarantee import Budget
from ballotine.privacy.orders import DEFAULT_ORDERS, widen
from ballotine.types import FloatArray, IntArray

PRECISION = 1e-5
NEAR_ORDERS = 4  # the best order moves by a few grid steps while the noise is narrowed down
STEPS = 3
WIDER = 1.05
MIN_NOISE, MAX_NOISE = 1e-9, 1e15

Charges = Sequence[tuple[Event, float]]
"""Events and how often each is charged (an expected number may be fractional)."""


def epsilon_of(charges: Charges, delta: float) -> float:
    """Return ε at δ of the total of all charges."""
    return best_epsilon(lambda orders: _total(charges, orders), delta)[0]


def queries_for(charges: Charges, budget: Budget) -> int:
    """Return how many queries with these charges the budget affords.

    This is the number at which the ledger stops: the maximum over the orders.
    """
    orders = widen(DEFAULT_ORDERS)
    each = _total(charges, orders)
    if not np.any(each > 0):
        raise ParameterError("queries that cost nothing cannot be counted")
    allowed = conversion.allowance(orders, budget.epsilon, budget.delta)
    return max(0, math.floor(float(np.max(allowed / each))))


def curve(charges: Charges, queries: IntArray, delta: float) -> FloatArray:
    """Return ε after each of the given numbers of queries."""
    return np.array([epsilon_of([(e, n * c) for e, c in charges], delta) for n in queries])


def smallest_noise(charges: Callable[[float], Charges], budget: Budget) -> float:
    """Return the smallest noise within the budget, on the safe side.

    Args:
        charges: everything that is released with so much noise: the more, the cheaper.
        budget: the promise.
    """
    orders = widen(DEFAULT_ORDERS)
    allowed = conversion.allowance(orders, budget.epsilon, budget.delta)
    if not np.any(allowed > 0):
        raise BudgetError(f"no amount of noise meets the budget {budget}: δ or ε is too small")
    orders, allowed = orders[allowed > 0], allowed[allowed > 0]
    # Costs fall about as the square of the noise, so this comes near in a few steps; from then
    # on the best order is a few grid steps away at most.
    noise, best = 1.0, 0
    for _ in range(STEPS):
        shares = _total(charges(noise), orders) / allowed
        best = int(np.argmin(shares))
        noise *= math.sqrt(float(shares[best]))
    window = slice(max(0, best - NEAR_ORDERS), best + NEAR_ORDERS + 1)
    near, room = orders[window], allowed[window]

    def fits(noise: float) -> bool:
        return bool(np.any(_total(charges(noise), near) <= room))

    low = high = min(max(noise, MIN_NOISE), MAX_NOISE)
    while not fits(high):
        low, high = high, WIDER * high
        if high > MAX_NOISE:
            raise BudgetError(f"no amount of noise meets the budget {budget}")
    while low > MIN_NOISE and fits(low):
        low, high = low / WIDER, low
    while high / low > 1 + PRECISION:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high


def _total(charges: Charges, orders: FloatArray) -> FloatArray:
    total = np.zeros_like(orders)
    for event, times in charges:
        total = total + times * event.cost(orders)
    return total

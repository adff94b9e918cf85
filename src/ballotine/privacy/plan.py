"""Plan a release in advance: the noise or the number of queries for a budget, and cost curves.

Everything here is data-independent: it may be computed, printed and compared freely, provided
that the inputs (the number of queries, the share answered) do not come from the private data.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ballotine.errors import BudgetError, ParameterError
from ballotine.privacy import conversion
from ballotine.privacy.best import best_epsilon
from ballotine.privacy.events import Event, GaussianArgmax, GaussianCheck
from ballotine.privacy.guarantee import Budget
from ballotine.privacy.orders import DEFAULT_ORDERS, widen
from ballotine.types import FloatArray, IntArray

PRECISION = 1e-5
NEAR_ORDERS = 4  # the best order of the tight cost is a few grid steps from the published one's
MIN_SHARE = 0.7  # tight costs are at least 2/π of the published ones, and √(2/π) > 0.7
CHECK_RATIO = 3.75
"""σ of the check divided by σ of the answer, as in Scalable PATE's experiments (150 and 40)."""
THRESHOLD_SHARE = 0.8
"""The check's threshold as a share of the teachers, as in those experiments (200 of 250)."""

Charges = Sequence[tuple[Event, float]]
"""Events and how often each is charged (an expected number may be fractional)."""


@dataclass(frozen=True)
class ConfidentPlan:
    """Noise and threshold of a Confident-GNMax mechanism, and the resulting ε."""

    sigma: float
    sigma_threshold: float
    threshold: float
    epsilon: float


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


def gnmax_sigma(queries: int, budget: Budget, classes: int, sensitivity: float = 1.0) -> float:
    """Return the smallest σ with which GNMax answers this many queries within the budget."""
    _require_queries(queries)

    def charges(sigma: float) -> Charges:
        return [(GaussianArgmax(sigma, classes, sensitivity), queries)]

    return _smallest(charges, queries * sensitivity**2, budget)


def confident_gnmax(
    queries: int,
    answered: float,
    budget: Budget,
    teachers: int,
    classes: int,
    *,
    ratio: float = CHECK_RATIO,
    share: float = THRESHOLD_SHARE,
    sensitivity: float = 1.0,
) -> ConfidentPlan:
    """Return the smallest noise for Confident-GNMax within a budget.

    Args:
        queries: the number of queries.
        answered: the share of them that is expected to pass the check (a public guess).
        budget: the budget for all queries.
        teachers: the number of teachers.
        classes: the number of classes.
        ratio: σ of the check divided by σ of the answer.
        share: the threshold as a share of the teachers.
        sensitivity: the weight of one teacher.
    """
    _require_queries(queries)
    if not 0 < answered <= 1:
        raise ParameterError(f"the answered share must lie in (0, 1], got {answered}")
    if not ratio > 0:
        raise ParameterError(f"the ratio of the two noises must be positive, got {ratio}")

    def charges(sigma: float) -> Charges:
        check = GaussianCheck(ratio * sigma, sensitivity)
        argmax = GaussianArgmax(sigma, classes, sensitivity)
        return [(check, queries), (argmax, answered * queries)]

    published = sensitivity**2 * queries * (answered + 0.5 / ratio**2)
    sigma = _smallest(charges, published, budget)
    spent = epsilon_of(charges(sigma), budget.delta)
    return ConfidentPlan(sigma, ratio * sigma, share * teachers, spent)


def _smallest(charges: Callable[[float], Charges], published: float, budget: Budget) -> float:
    """Return the smallest σ within the budget, rounded to the safe side.

    The published costs, α·published/σ², give σ and the best order in closed form. The tight
    costs are 0.6 to 1 times those, so the search stays near that σ and that order.
    """
    orders = widen(DEFAULT_ORDERS)
    allowed = conversion.allowance(orders, budget.epsilon, budget.delta)
    usable = allowed > 0
    if not usable.any():
        raise BudgetError(f"no amount of noise meets the budget {budget}: δ or ε is too small")
    squares = np.where(usable, orders * published / np.where(usable, allowed, 1.0), np.inf)
    best = int(np.argmin(squares))
    window = slice(max(0, best - NEAR_ORDERS), best + NEAR_ORDERS + 1)
    near, room = orders[window], allowed[window]
    high = math.sqrt(float(squares.min()))
    low = MIN_SHARE * high
    while high / low > 1 + PRECISION:
        middle = math.sqrt(low * high)
        fits = bool(np.any(_total(charges(middle), near) <= room))
        low, high = (low, middle) if fits else (middle, high)
    return high


def _total(charges: Charges, orders: FloatArray) -> FloatArray:
    total = np.zeros_like(orders)
    for event, times in charges:
        total = total + times * event.cost(orders)
    return total


def _require_queries(queries: int) -> None:
    if queries < 1:
        raise ParameterError(f"a plan needs at least one query, got {queries}")

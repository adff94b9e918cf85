"""Planning before anything is released: noise for a budget, queries for a budget, curves.

Everything here is data-independent: it may be computed, printed and compared freely, as
long as what goes in (how many queries, which share will be answered) was not read from
the private data.
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
NEAR_ORDERS = 4  # the tight costs' best order is a few grid steps from the published one's
LEAST_SHARE = 0.7  # tight costs are at least 2/π of the published ones, and √(2/π) > 0.7
CHECK_RATIO = 3.75
"""σ of the check over σ of the answer, as in Scalable PATE's experiments (150 and 40)."""
THRESHOLD_SHARE = 0.8
"""Share of the teachers that the check's threshold asks for, as there (200 of 250)."""

Charges = Sequence[tuple[Event, float]]
"""Events and how often each is charged (an expected number may be fractional)."""


@dataclass(frozen=True)
class ConfidentPlan:
    """Noise and threshold of a Confident-GNMax, and the ε they lead to."""

    sigma: float
    sigma_threshold: float
    threshold: float
    epsilon: float


def epsilon_of(charges: Charges, delta: float) -> float:
    """ε at δ of all charges together."""
    return best_epsilon(lambda orders: _total(charges, orders), delta)[0]


def queries_for(charges: Charges, budget: Budget) -> int:
    """How many queries that each cost these charges a budget affords.

    It is the number at which the ledger stops: the largest over the orders.
    """
    orders = widen(DEFAULT_ORDERS)
    each = _total(charges, orders)
    if not np.any(each > 0):
        raise ParameterError("queries that cost nothing cannot be counted")
    allowed = conversion.allowance(orders, budget.epsilon, budget.delta)
    return max(0, math.floor(float(np.max(allowed / each))))


def curve(charges: Charges, queries: IntArray, delta: float) -> FloatArray:
    """ε after each of these numbers of queries."""
    return np.array([epsilon_of([(e, n * c) for e, c in charges], delta) for n in queries])


def gnmax_sigma(queries: int, budget: Budget, classes: int, sensitivity: float = 1.0) -> float:
    """The smallest σ with which GNMax answers so many queries within the budget."""
    _at_least_one(queries)

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
    """The smallest noise for Confident-GNMax within a budget.

    Args:
        queries: how many queries are asked.
        answered: the share of them that is expected to pass the check (public guess).
        budget: the promise.
        teachers: how many teachers vote.
        classes: how many classes they choose from.
        ratio: σ of the check over σ of the answer.
        share: the share of teachers that the threshold asks for.
        sensitivity: weight of one teacher.
    """
    _at_least_one(queries)
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
    """The smallest σ within the budget, on the safe side.

    The published costs, α·published/σ², give σ and the best order in closed form. The tight
    ones are between 0.6 and 1 of them, so the search stays near that σ and that order.
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
    low = LEAST_SHARE * high
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


def _at_least_one(queries: int) -> None:
    if queries < 1:
        raise ParameterError(f"a plan needs at least one query, got {queries}")

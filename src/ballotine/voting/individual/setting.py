"""The setting that a scheme is planned for, and how many queries a budget affords in it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ballotine.errors import BudgetError, ParameterError
from ballotine.ledger.charge import cost_of
from ballotine.privacy import conversion
from ballotine.privacy.guarantee import Budget
from ballotine.privacy.orders import DEFAULT_ORDERS, widen
from ballotine.privacy.plan import NEAR_ORDERS
from ballotine.privacy.reach import ONE_VOTE, Reach
from ballotine.types import FloatArray
from ballotine.voting.mechanism import Mechanism
from ballotine.voting.registry import mechanisms_with


@dataclass(frozen=True)
class SchemeSetting:
    """A mechanism, the number of classes, and the δ of every budget."""

    mechanism: Mechanism
    classes: int
    delta: float

    def __post_init__(self) -> None:
        scaled(self.mechanism, 1.0)
        Budget(1.0, self.delta)
        self.mechanism.events(self.classes)

    def afforded(self, epsilon: float, reach: Reach = ONE_VOTE) -> float:
        """Return how many queries ε affords at tight data-independent costs, not rounded.

        The published cost is proportional to the order, so its best order has a closed form; the
        best order of the tight cost is close to it.
        """
        orders, allowed = allowances(epsilon, self.delta)
        best = int(np.argmax(allowed / orders))
        near = slice(max(0, best - NEAR_ORDERS), best + NEAR_ORDERS + 1)
        each = cost_of(self.mechanism.events(self.classes, reach), orders[near])
        return float(np.max(allowed[near] / each))


def allowances(epsilon: float, delta: float) -> tuple[FloatArray, FloatArray]:
    """Return orders, and the largest cost at each that still converts to (ε, δ)."""
    orders = widen(DEFAULT_ORDERS)
    allowed = conversion.allowance(orders, epsilon, delta)
    if not np.any(allowed > 0):
        budget = Budget(epsilon, delta)
        raise BudgetError(f"no amount of noise meets the budget {budget}: δ or ε is too small")
    return orders, allowed


def strength(epsilon: float, delta: float) -> float:
    """Return the weight of a vote at ε, up to a common factor: √(L + ε) − √L, L = ln(1/δ).

    A Gaussian release of sensitivity w costs w²α; the classic conversion at its best order turns
    n of them into n·w² + 2w·√(n·L) = ε, which this solves for w.
    """
    logarithm = math.log(1.0 / delta)
    return math.sqrt(logarithm + epsilon) - math.sqrt(logarithm)


def require_priced(mechanism: Mechanism) -> None:
    """Refuse a mechanism whose cost is not known for weighted votes and shared records."""
    if not mechanism.individual:
        raise ParameterError(
            f"individual budgets work with {mechanisms_with('individual', 'and')}, "
            f"not with {mechanism.name}"
        )


def scaled(mechanism: Mechanism, factor: float) -> Mechanism:
    """Return the mechanism for `factor` times as many teachers: noise and threshold scale."""
    require_priced(mechanism)
    return mechanism.scaled(factor)

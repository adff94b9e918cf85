"""How much noise rounds need for their part of a budget."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ballotine.errors import BudgetError, ParameterError
from ballotine.privacy import conversion
from ballotine.privacy.events import ClippedSum
from ballotine.privacy.guarantee import Budget
from ballotine.privacy.orders import DEFAULT_ORDERS, widen
from ballotine.privacy.plan import epsilon_of

SLACK = 1e-9
"""Noise is rounded up by this much, so that the plan and the ledger agree."""


@dataclass(frozen=True)
class RoundsPlan:
    """Noise of private rounds.

    Attributes:
        noise_multiplier: z.
        releases: rounds that are paid: one fewer than there are.
        epsilon: what these rounds alone cost at the budget's δ.
        order: the Rényi order at which they take their share of the budget.
        left: the Rényi cost that is left for votes at that order.
    """

    noise_multiplier: float
    releases: int
    epsilon: float
    order: float
    left: float


def plan_rounds(budget: Budget, rounds: int, share: float = 0.5) -> RoundsPlan:
    """The least noise with which all rounds cost a share of the budget.

    A budget is shared at one order, that of the whole: rounds and votes are summed there, and
    what the rounds do not take is left for votes. Both shares together cost the budget, not
    more, while two ε that add up to it would waste some of it.

    Args:
        budget: of everything: rounds and votes.
        rounds: R; the last is not released.
        share: of the Rényi cost that the budget allows, strictly between 0 and 1 (or 1 when
            there are no votes).
    """
    if rounds < 2:
        raise ParameterError(f"private training needs at least two rounds, got {rounds}")
    if not 0 < share <= 1:
        raise ParameterError(f"a share lies between 0 and 1, got {share}")
    orders = widen(DEFAULT_ORDERS)
    allowed = conversion.allowance(orders, budget.epsilon, budget.delta)
    if not np.any(allowed > 0):
        raise BudgetError(f"no amount of noise meets the budget {budget}: δ or ε is too small")
    # Gaussian costs grow in proportion to the order: the best order allows the most of that.
    best = int(np.argmax(allowed / orders))
    releases = rounds - 1
    z = math.sqrt(2.0 * float(orders[best]) * releases / (share * float(allowed[best])))
    z *= 1.0 + SLACK
    cost = float(releases * ClippedSum(z).cost(orders[best : best + 1])[0])
    return RoundsPlan(
        z,
        releases,
        epsilon_of([(ClippedSum(z), releases)], budget.delta),
        float(orders[best]),
        float(allowed[best]) - cost,
    )

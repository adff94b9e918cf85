"""How many queries a budget affords."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ballotine.privacy import conversion
from ballotine.privacy.conversion import Method
from ballotine.privacy.guarantee import Budget
from ballotine.types import FloatArray

ORDERS: FloatArray = np.concatenate(
    (
        [1.1, 1.25, 1.5, 1.75],
        np.arange(2.0, 5.0, 0.25),
        np.arange(5.0, 10.0, 0.5),
        [10.0, 11.0, 12.0, 14.0, 16.0, 18.0, 20.0, 24.0, 28.0, 32.0, 40.0, 48.0, 64.0],
    )
)
"""Budgets between 1 and 20 have their best order inside; a coarse grid only errs upwards."""

BUDGET = Budget(20.0, 1e-5)
"""The paper's ε for most of its tables; its δ is not printed."""

CHUNK = 512
Costs = Callable[[slice], FloatArray]
"""The costs of some of the queries, shape (queries, orders)."""


def affordable(costs: Costs, queries: int, budget: Budget, method: Method = "improved") -> int:
    """How many queries, in the order of the pool, stay within a budget together.

    Args:
        costs: gives the costs of the queries in a slice; asked only until the budget is spent.
        queries: how many there are.
        budget: what they may cost.
        method: how costs become (ε, δ).
    """
    allowed = conversion.allowance(ORDERS, budget.epsilon, budget.delta, method)
    spent, afforded = np.zeros_like(ORDERS), 0
    for start in range(0, queries, CHUNK):
        sums = spent + np.cumsum(costs(slice(start, min(start + CHUNK, queries))), axis=0)
        within = int(np.count_nonzero(sums <= allowed, axis=0).max())
        afforded += within
        if within < len(sums):
            break
        spent = sums[-1]
    return afforded


def repeatable(cost: FloatArray, budget: Budget, method: Method = "improved") -> int:
    """How many queries that each cost this stay within a budget together.

    Args:
        cost: of every query, shape (orders,).
        budget: what they may cost.
        method: how costs become (ε, δ).
    """
    allowed = conversion.allowance(ORDERS, budget.epsilon, budget.delta, method)
    return max(0, math.floor(float((allowed / cost).max())))

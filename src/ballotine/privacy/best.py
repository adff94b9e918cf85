"""The ε of a cost, on a grid of orders that widens itself until the best order is inside."""

from __future__ import annotations

import warnings
from collections.abc import Callable

from ballotine.privacy import conversion
from ballotine.privacy.conversion import Method, OrderGridWarning
from ballotine.privacy.orders import DEFAULT_ORDERS, widen
from ballotine.types import FloatArray

Cost = Callable[[FloatArray], FloatArray]
"""A Rényi cost as a function of the orders."""

MOST_WIDENINGS = 4


def best_epsilon(cost: Cost, delta: float, method: Method = "improved") -> tuple[float, float]:
    """ε at δ and the order that proves it.

    A grid that is too narrow gives a valid but larger ε, so after a few widenings the
    edge is accepted.
    """
    orders = DEFAULT_ORDERS
    for _ in range(MOST_WIDENINGS):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", OrderGridWarning)
            found = conversion.epsilon(orders, cost(orders), delta, method)
        if not any(issubclass(one.category, OrderGridWarning) for one in caught):
            return found
        orders = widen(orders)
    return found

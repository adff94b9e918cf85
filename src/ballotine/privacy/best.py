"""Convert a cost to ε on a grid of orders that is widened until the best order is inside it."""

from __future__ import annotations

import warnings
from collections.abc import Callable

from ballotine.privacy import conversion
from ballotine.privacy.conversion import Method, OrderGridWarning
from ballotine.privacy.orders import DEFAULT_ORDERS, widen
from ballotine.types import FloatArray

Cost = Callable[[FloatArray], FloatArray]
"""A Rényi cost as a function of the orders."""

MAX_WIDENINGS = 4


def best_epsilon(cost: Cost, delta: float, method: Method = "improved") -> tuple[float, float]:
    """Return ε at δ and the order that proves it.

    A grid that is too narrow gives a valid but larger ε, so after a few widenings an optimum
    on the edge is accepted.
    """
    orders = DEFAULT_ORDERS
    for _ in range(MAX_WIDENINGS):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", OrderGridWarning)
            found = conversion.epsilon(orders, cost(orders), delta, method)
        if not any(issubclass(one.category, OrderGridWarning) for one in caught):
            return found
        orders = widen(orders)
    return found

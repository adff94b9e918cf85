"""Many Rényi curves to ε at once."""

from __future__ import annotations

import numpy as np

from ballotine.errors import ParameterError
from ballotine.privacy import conversion
from ballotine.privacy.conversion import Method
from ballotine.types import FloatArray


def epsilons(
    orders: FloatArray, costs: FloatArray, delta: float, method: Method = "improved"
) -> FloatArray:
    """The smallest ε that each curve proves at δ; never below that of `conversion.epsilon`.

    Args:
        orders: Rényi orders above 1, shape (m,).
        costs: one curve per row, shape (rows, m).
        delta: the δ of every ε.
        method: which conversion.

    Returns:
        Shape (rows,); 0 where a curve is zero throughout.
    """
    if not np.all(costs >= 0.0):  # NaN included
        raise ParameterError("costs must be neither NaN nor negative")
    # What an order allows at ε = 0 is what it adds to a cost, with the sign turned.
    price = -conversion.allowance(orders, 0.0, delta, method)
    smallest = np.maximum((costs + price).min(axis=1), 0.0)
    result: FloatArray = np.where(costs.any(axis=1), smallest, 0.0)
    return result

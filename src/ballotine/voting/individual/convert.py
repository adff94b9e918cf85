"""Convert many Rényi curves to ε at once."""

from __future__ import annotations

import numpy as np

from ballotine.errors import ParameterError
from ballotine.privacy import conversion
from ballotine.privacy.conversion import Method
from ballotine.types import FloatArray


def epsilons(
    orders: FloatArray, costs: FloatArray, delta: float, method: Method = "improved"
) -> FloatArray:
    """Return the smallest ε that each curve proves at δ; at least that of `conversion.epsilon`.

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
    # The allowance of an order at ε = 0 is the negative of what the conversion adds to a cost.
    price = -conversion.allowance(orders, 0.0, delta, method)
    smallest = np.maximum((costs + price).min(axis=1), 0.0)
    result: FloatArray = np.where(costs.any(axis=1), smallest, 0.0)
    return result

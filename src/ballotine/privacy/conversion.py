"""Convert a Rényi cost curve to (ε, δ) and back.

With ρ(α) the Rényi cost at order α, every order gives a valid pair (ε, δ); the smallest ε (or δ)
over the orders is returned:

* improved: ε = ρ(α) + ln(1 − 1/α) − ln(δ α)/(α − 1)
  (Canonne, Kamath, Steinke, "The Discrete Gaussian for Differential Privacy", Prop. 12);
* classic: ε = ρ(α) + ln(1/δ)/(α − 1) (Mironov, "Rényi Differential Privacy", Prop. 3),
  kept for comparison with published tables.

An impossible curve (NaN, negative, or decreasing in the order) is refused: Rényi divergence never
decreases with its order, so such a curve points to a bug upstream.
"""

from __future__ import annotations

import math
import warnings
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from ballotine.errors import ParameterError
from ballotine.privacy._validate import as_delta, as_nonnegative, as_orders
from ballotine.types import FloatArray

Method = Literal["improved", "classic"]

# Costs are sums of thousands of terms: tolerate the rounding of such a sum and no more.
_FALL_TOLERANCE = 1e-12


class OrderGridWarning(UserWarning):
    """The best order is on the edge of the grid: a wider grid may give a smaller ε."""


def epsilon(
    orders: npt.ArrayLike, rdp: npt.ArrayLike, delta: float, method: Method = "improved"
) -> tuple[float, float]:
    """Return the smallest ε that the curve proves at δ, and the order that proves it.

    Args:
        orders: Rényi orders above 1, shape (m,).
        rdp: the total cost at each order, shape (m,); ``inf`` means "not usable".
        delta: δ, strictly between 0 and 1.
        method: "improved" (default) or "classic".

    Returns:
        ε (never below 0; ``inf`` when every cost is infinite) and the order chosen.

    Raises:
        ParameterError: when a parameter is outside its domain or the curve is impossible.
    """
    grid, costs = _as_curve(orders, rdp)
    candidates = np.maximum(costs + _price(grid, as_delta(delta), method), 0.0)
    if not costs.any():
        # Zero divergence means identical output distributions, so ε = 0 at any δ. The formulas
        # are for positive costs and do not reach 0 on a finite grid.
        return 0.0, float(grid[-1])
    best = int(np.argmin(candidates))
    value = float(candidates[best])
    if 0.0 < value < math.inf and grid.size > 1 and best in (0, grid.size - 1):
        warnings.warn(
            f"the best order, {grid[best]:g}, is on the edge of the grid; "
            "a wider grid may give a smaller epsilon",
            OrderGridWarning,
            stacklevel=2,
        )
    return value, float(grid[best])


def delta(
    orders: npt.ArrayLike, rdp: npt.ArrayLike, epsilon: float, method: Method = "improved"
) -> float:
    """Return the smallest δ that the curve proves at ε (at most 1).

    Args:
        orders: Rényi orders above 1, shape (m,).
        rdp: the total cost at each order, shape (m,).
        epsilon: ε, finite and at least 0.
        method: "improved" (default) or "classic".

    Raises:
        ParameterError: when a parameter is outside its domain or the curve is impossible.
    """
    grid, costs = _as_curve(orders, rdp)
    target = as_nonnegative(epsilon, "epsilon")
    # price(δ) = price(1) − ln δ/(α − 1), so ε = cost + price(δ) solves for ln δ directly.
    log_delta = (grid - 1.0) * (costs + _price(grid, 1.0, method) - target)
    if not costs.any():
        return 0.0
    return math.exp(min(0.0, float(log_delta.min())))


def allowance(
    orders: npt.ArrayLike, epsilon: float, delta: float, method: Method = "improved"
) -> FloatArray:
    """Return, for each order, the largest cost that this order alone converts to at most ε.

    This is the budget of a Rényi filter whose single order is fixed in advance.

    Args:
        orders: Rényi orders above 1, shape (m,).
        epsilon: ε, finite and at least 0.
        delta: δ, strictly between 0 and 1.
        method: "improved" (default) or "classic".

    Returns:
        Shape (m,), in the same sequence as `orders`; a negative value means that no cost at that
        order meets the budget.
    """
    grid = as_orders(orders)
    price = _price(grid, as_delta(delta), method)
    target = as_nonnegative(epsilon, "epsilon")
    # The slack covers the four roundings between this difference and the sum in `epsilon`.
    slack = 4.0 * np.finfo(np.float64).eps * (np.abs(price) + target)
    result: FloatArray = target - price - slack
    return result


def _price(orders: FloatArray, delta: float, method: Method) -> FloatArray:
    """Return what the conversion adds to the cost at each order."""
    if method not in get_args(Method):
        raise ParameterError(f"method must be one of {', '.join(get_args(Method))}")
    price: FloatArray = -math.log(delta) / (orders - 1.0)
    if method == "improved":
        price = price + np.log1p(-1.0 / orders) - np.log(orders) / (orders - 1.0)
    return price


def _as_curve(orders: npt.ArrayLike, rdp: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return orders and costs sorted by order; refuse an impossible curve."""
    grid = as_orders(orders)
    try:
        costs = np.atleast_1d(np.asarray(rdp, dtype=np.float64))
    except (TypeError, ValueError) as error:
        raise ParameterError("rdp must be numbers, one cost per order") from error
    if costs.shape != grid.shape:
        raise ParameterError("rdp must hold exactly one cost per order")
    if np.any(np.isnan(costs)) or np.any(costs < 0.0):
        raise ParameterError("rdp must be neither NaN nor negative")
    ranks = np.argsort(grid, kind="stable")
    grid, costs = grid[ranks], costs[ranks]
    if np.any(costs[1:] < costs[:-1] * (1.0 - _FALL_TOLERANCE)):
        raise ParameterError("rdp must not fall as the order grows")
    return grid, costs

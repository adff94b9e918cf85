"""The default grid of Rényi orders, and how to widen a grid."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from ballotine.privacy._validate import as_orders
from ballotine.types import FloatArray

_LARGEST_ORDER = 1e7


def _default_orders() -> FloatArray:
    # Budgets of ε between 0.5 and 10 at δ = 1e-5 have their best order between 2 and 64:
    # every integer there (LNMax's moments are integers), halves below 10 where steps of 1
    # would visibly raise ε, and geometric steps outside.
    near_one = 1.0 + np.geomspace(0.01, 1.0, 21)[:-1]
    halves = np.arange(2.5, 10.0)
    integers = np.arange(2.0, 65.0)
    large = 64.0 * 2.0 ** (np.arange(1, 17) / 4.0)
    grid: FloatArray = np.unique(np.concatenate([near_one, halves, integers, large]))
    grid.setflags(write=False)
    return grid


DEFAULT_ORDERS: Final[FloatArray] = _default_orders()
"""About a hundred orders from 1.01 to 1024, densest where optima usually lie (read-only)."""


def widen(orders: npt.ArrayLike) -> FloatArray:
    """Return the grid with both ends extended tenfold (towards 1, and upwards to 1e7).

    Use it when `conversion.epsilon` warns that the best order is on the edge.

    Args:
        orders: the grid to extend, every order above 1.

    Returns:
        A sorted grid that contains every given order.
    """
    grid = np.unique(as_orders(orders))
    below = 1.0 + (grid[0] - 1.0) * np.geomspace(0.1, 1.0, 9)[:-1]
    above = grid[-1] * np.geomspace(1.0, 10.0, 11)[1:]
    below = below[below > 1.0 + 1e-9]
    above = above[above <= _LARGEST_ORDER]
    return np.unique(np.concatenate([below, grid, above]))

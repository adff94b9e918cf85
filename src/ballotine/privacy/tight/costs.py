"""Data-independent costs of the released answers rather than of the noisy counts.

Only the winning class, or whether a check passed, is released, not the noisy histogram. The cost
of that alone is smaller: about 0.81 of the published cost for GNMax and 2/π ≈ 0.64 for a check or
a two-class vote, when α s/σ is small. Both curves are suprema over all possible tallies, so they
hold before any tally is seen.

Proofs: docs/proofs/one-bit.md and docs/proofs/three-cell.md.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ballotine.errors import ParameterError
from ballotine.privacy import published
from ballotine.privacy._validate import as_orders
from ballotine.privacy.tight.suprema import one_cut, two_cuts
from ballotine.types import FloatArray

# Shifts outside this range exceed double precision here; the published cost is used for them.
_SMALLEST_SHIFT = 1e-6
_LARGEST_SHIFT = 1e4
# Orders searched together; bounds the memory.
_CHUNK = 128


def threshold(orders: npt.ArrayLike, sigma: float, sensitivity: float = 1.0) -> FloatArray:
    """Return the largest cost of one noisy threshold check over all counts.

    The check releases one bit of a Gaussian that one record shifts by s/σ standard deviations;
    this is the supremum over the distance between count and threshold.

    Args:
        orders: Rényi orders above 1, shape (m,).
        sigma: standard deviation of the noise on the largest count.
        sensitivity: how far one record can move that count.

    Returns:
        An upper bound of the supremum that exceeds it by less than 1e-6 of itself, shape (m,).
    """
    ceiling = published.threshold(orders, sigma, sensitivity)
    return _capped(as_orders(orders), sensitivity / sigma, 1, ceiling)


def gnmax(
    orders: npt.ArrayLike, sigma: float, sensitivity: float = 1.0, classes: int | None = None
) -> FloatArray:
    """Return the largest cost of one GNMax answer over all tallies.

    It holds for one teacher of weight s that votes differently, for any number of classes. It
    does not hold for a record that several teachers saw: their votes may move independently.

    Args:
        orders: Rényi orders above 1, shape (m,).
        sigma: standard deviation of the noise on each class.
        sensitivity: the weight s of one teacher.
        classes: the public number of classes; 2 gives the smaller cost of a one-bit release.

    Returns:
        An upper bound of the supremum that exceeds it by less than 1e-6 of itself, shape (m,).
    """
    ceiling = published.gnmax(orders, sigma, sensitivity)
    if classes is not None and classes < 1:
        raise ParameterError("classes must be at least 1")
    if classes == 1:
        return np.zeros(ceiling.size)
    # Two noisy counts differ by a Gaussian of deviation σ√2, which a moved vote shifts by 2s.
    shift = math.sqrt(2.0) * (sensitivity / sigma)
    return _capped(as_orders(orders), shift, 1 if classes == 2 else 2, ceiling)


def _capped(orders: FloatArray, shift: float, cuts: int, ceiling: FloatArray) -> FloatArray:
    """Return the supremum over this number of cuts, at most the published cost."""
    if not _SMALLEST_SHIFT <= shift <= _LARGEST_SHIFT:
        return ceiling
    grid, place = np.unique(orders, return_inverse=True)
    bound = np.frombuffer(_supremum(grid.tobytes(), float(shift), cuts))[place]
    return np.minimum(bound, ceiling)


@lru_cache(maxsize=256)
def _supremum(orders: bytes, shift: float, cuts: int) -> bytes:
    """Return the upper bound at sorted orders, as bytes so that no caller can modify the cache."""
    grid = np.frombuffer(orders)
    search = one_cut if cuts == 1 else two_cuts
    starts = range(0, grid.size, _CHUNK)
    log_moment = np.concatenate([search(grid[at : at + _CHUNK], shift) for at in starts])
    # Rounding: logs of masses carry 1e-16, log-ratios are of size s, and enter α times.
    rounding = 1e-9 + 1e-14 / shift + 4e-15 * grid
    cost = log_moment * (1.0 + rounding) / (grid - 1.0)
    # The supremum does not fall with the order; restore that after the search with its gap.
    return np.maximum.accumulate(cost).tobytes()

"""True costs of one bit of a shifted Gaussian: threshold checks."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.special import log_ndtr

from ballotine.oracle.truth import Truth, worst_neighbour
from ballotine.types import FloatArray

# A record may move the largest count by anything up to its whole weight.
_SHARES = np.array([-1.0, -0.75, -0.5, -0.25, 0.25, 0.5, 0.75, 1.0])


def log_bit(position: float) -> FloatArray:
    """Return the log-probabilities of "below" and "above" at a position in deviations."""
    bit: FloatArray = log_ndtr(np.array([-position, position]))
    return bit


@lru_cache(maxsize=1 << 14)
def threshold(
    top: float, level: float, sigma: float, orders: tuple[float, ...], reach: float = 1.0
) -> Truth:
    """Return the two-sided cost of one noisy check on a largest count.

    Args:
        top: the largest count.
        level: the threshold for the noisy count.
        sigma: standard deviation of the noise.
        orders: Rényi orders above 1.
        reach: how far one record can move the largest count.
    """
    moved = top + reach * _SHARES
    laws = np.array([log_bit((other - level) / sigma) for other in moved])
    return worst_neighbour(
        log_bit((top - level) / sigma), laws, lambda i: f"top {moved[i]:.6g}", np.array(orders)
    )

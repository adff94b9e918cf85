"""The law of an argmax under Gaussian noise.

Class i wins with probability ∫ φ(x − c_i) Π_{j≠i} Φ(x − c_j) dx (counts in standard deviations).
The integrand is log-concave and falls at least as fast as φ on both sides of its peak, which lies
between c_i and slightly above the largest count. Gauss–Legendre panels cover that range; the sum
is computed from logarithms, so an outcome of probability e^-1000 is as accurate as any other.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy.special import log_ndtr

from ballotine.types import FloatArray

_REACH = 10.0
_POINTS = 16
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(_POINTS)
_LOG_WEIGHTS = np.log(_WEIGHTS)
_HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)


def argmax_law(
    counts: tuple[float, ...], sigma: float, sizes: tuple[int, ...] | None = None
) -> FloatArray:
    """Return the log-probability that a class wins argmax(counts + N(0, σ²)).

    Args:
        counts: one count per class, or per group of classes that share a count.
        sigma: standard deviation of the noise on each class.
        sizes: the number of classes in each group; one each by default.

    Returns:
        For each group, the log-probability that one given class of it wins.
    """
    numbers = sizes or (1,) * len(counts)
    order = sorted(range(len(counts)), key=lambda i: (-counts[i], numbers[i]))
    top = counts[order[0]]
    gaps = tuple((top - counts[i]) / sigma for i in order)
    law = np.empty(len(counts))
    law[order] = _sorted_law(gaps, tuple(numbers[i] for i in order))
    return law


@lru_cache(maxsize=1 << 15)
def _sorted_law(gaps: tuple[float, ...], sizes: tuple[int, ...]) -> FloatArray:
    """Return the law for ascending gaps below the largest count, in standard deviations."""
    x, log_weights = _panels(gaps[-1], sum(sizes))
    shifted = x + np.array(gaps)[:, np.newaxis]
    log_cdf = log_ndtr(shifted)
    everyone = np.array(sizes, dtype=np.float64) @ log_cdf + log_weights
    # In logarithms one rival can be divided out exactly; the winner's own density replaces it.
    logs = everyone - log_cdf - 0.5 * shifted * shifted - _HALF_LOG_2PI
    peaks = logs.max(axis=1)
    law: FloatArray = peaks + np.log(np.exp(logs - peaks[:, np.newaxis]).sum(axis=1))
    law.setflags(write=False)
    return law


def _panels(widest: float, classes: int) -> tuple[FloatArray, FloatArray]:
    """Return nodes and log-weights; the largest count is at 0, the smallest at −widest."""
    # The largest of k standard normals is near √(2 ln k), in a peak whose width is like 1/√ln k.
    spread = math.sqrt(2.0 * math.log(classes))
    low, high = -widest - _REACH, _REACH + spread
    number = math.ceil((high - low) * max(1.0, spread / 2.0))
    half = (high - low) / number / 2.0
    centres = low + half * (2.0 * np.arange(number) + 1.0)
    x = (centres[:, np.newaxis] + half * _NODES).ravel()
    return x, np.tile(_LOG_WEIGHTS + math.log(half), number)

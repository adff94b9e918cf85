"""True costs of single-label votes: GNMax, Confident-GNMax, LNMax."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ballotine.oracle import gaussian, laplace
from ballotine.oracle.bits import log_bit
from ballotine.oracle.neighbours import Tally, format_tally, neighbours
from ballotine.oracle.truth import Truth, worst_neighbour
from ballotine.types import FloatArray

Orders = tuple[float, ...]


@lru_cache(maxsize=1 << 14)
def gnmax(
    counts: Tally,
    sigma: float,
    orders: Orders,
    weight: float = 1.0,
    teachers: int = 1,
    *,
    forward_only: bool = False,
) -> Truth:
    """Return the two-sided cost of GNMax on one tally.

    Args:
        counts: the tally.
        sigma: standard deviation of the noise on each class.
        orders: Rényi orders above 1.
        weight: the weight of each teacher that may change its vote.
        teachers: the number of teachers that may, each independently.
        forward_only: only D(tally‖neighbour), the direction that some published bounds cover.
    """
    others = neighbours(counts, weight, teachers)
    laws = np.array([gaussian.argmax_law(other, sigma) for other in others])
    return worst_neighbour(
        gaussian.argmax_law(counts, sigma),
        laws,
        lambda i: format_tally(others[i]),
        np.array(orders),
        forward_only=forward_only,
    )


@lru_cache(maxsize=1 << 13)
def confident_gnmax(
    counts: Tally,
    sigma: float,
    threshold: float,
    sigma_threshold: float,
    orders: Orders,
    weight: float = 1.0,
    teachers: int = 1,
) -> Truth:
    """Return the two-sided cost of Confident-GNMax as a whole: abstain, or a class.

    Args:
        counts: the tally.
        sigma: standard deviation of the noise on each class.
        threshold: the threshold for the noisy largest count.
        sigma_threshold: standard deviation of that count's noise.
        orders: Rényi orders above 1.
        weight: the weight of each teacher that may change its vote.
        teachers: the number of teachers that may, each independently.
    """

    def law(tally: Tally) -> FloatArray:
        fails, passes = log_bit((max(tally) - threshold) / sigma_threshold)
        return np.concatenate(([fails], passes + gaussian.argmax_law(tally, sigma)))

    others = neighbours(counts, weight, teachers)
    laws = np.array([law(other) for other in others])
    return worst_neighbour(law(counts), laws, lambda i: format_tally(others[i]), np.array(orders))


@lru_cache(maxsize=1 << 13)
def lnmax(counts: Tally, gamma: float, orders: Orders) -> Truth:
    """Return the two-sided cost of LNMax on one tally of unweighted votes."""
    others = neighbours(counts)
    laws = np.array([laplace.argmax_law(other, gamma) for other in others])
    return worst_neighbour(
        laplace.argmax_law(counts, gamma), laws, lambda i: format_tally(others[i]), np.array(orders)
    )

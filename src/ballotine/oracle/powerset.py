"""True costs of Powerset votes: every allowed subset of the labels is a class of its own.

Subsets without votes take part in the argmax. They all have the count zero, so they are one group
of classes; a vote that moves to one of them makes it a class of its own.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from ballotine.oracle import gaussian
from ballotine.oracle.neighbours import Tally, format_tally, neighbours
from ballotine.oracle.truth import Truth, worst_neighbour
from ballotine.types import FloatArray


@lru_cache(maxsize=1 << 13)
def powerset(
    counts: Tally, subsets: int, sigma: float, orders: tuple[float, ...], weight: float = 1.0
) -> Truth:
    """Return the two-sided cost of an argmax over all allowed subsets.

    Args:
        counts: the counts of the subsets with votes.
        subsets: the number of allowed subsets.
        sigma: standard deviation of the noise on each of them.
        orders: Rényi orders above 1.
        weight: the weight of the teacher that may change its vote.
    """
    unlisted = subsets - len(counts)
    # One subset without votes is listed separately, because a moved vote may go to it.
    before = (*counts, 0.0) if unlisted else counts
    rest = max(0, unlisted - 1)
    others = neighbours(before, weight)
    laws = np.array([_law(other, rest, sigma) for other in others])
    return worst_neighbour(
        _law(before, rest, sigma), laws, lambda i: format_tally(others[i]), np.array(orders)
    )


def restricted(counts: Tally, sigma: float, orders: tuple[float, ...]) -> Truth:
    """Return the cost of an argmax over only the subsets with votes."""
    before = (*counts, 0.0)
    others = neighbours(before)
    laws = np.array([_observed_law(other, sigma) for other in others])
    return worst_neighbour(
        _observed_law(before, sigma), laws, lambda i: format_tally(others[i]), np.array(orders)
    )


def _law(counts: Tally, rest: int, sigma: float) -> FloatArray:
    """Return the law over the listed subsets and, last, all other subsets together."""
    if rest == 0:
        return gaussian.argmax_law(counts, sigma)
    sizes = (*(1,) * len(counts), rest)
    law = gaussian.argmax_law((*counts, 0.0), sigma, sizes).copy()
    law[-1] += math.log(rest)
    return law


def _observed_law(counts: Tally, sigma: float) -> FloatArray:
    law = np.full(len(counts), -np.inf)
    observed = [i for i, votes in enumerate(counts) if votes > 0.0]
    law[observed] = gaussian.argmax_law(tuple(counts[i] for i in observed), sigma)
    return law

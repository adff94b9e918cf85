"""The law of an argmax under Laplace noise of scale 1/γ.

Between the counts the densities are smooth, so Gauss–Legendre panels end at every count; beyond
the outermost counts the integrand is at most an exponential and is integrated over forty scales.
All terms are positive, so small probabilities stay accurate.
"""

from __future__ import annotations

import itertools
from functools import lru_cache

import numpy as np

from ballotine.types import FloatArray

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)
_TAIL = np.array([2.0, 5.0, 9.0, 14.0, 20.0, 27.0, 34.0, 42.0])
_WIDEST_PANEL = 4.0


def argmax_law(counts: tuple[float, ...], gamma: float) -> FloatArray:
    """Return the log-probability that each class wins argmax(counts + Laplace(1/γ))."""
    order = sorted(range(len(counts)), key=lambda i: -counts[i])
    top = counts[order[0]]
    law = np.empty(len(counts))
    law[order] = _sorted_law(tuple(gamma * (counts[i] - top) for i in order))
    return law


@lru_cache(maxsize=1 << 14)
def _sorted_law(counts: tuple[float, ...]) -> FloatArray:
    """Return the law for noise of scale 1."""
    totals = np.zeros(len(counts))
    columns = np.array(counts)[:, np.newaxis]
    for low, high in itertools.pairwise(_edges(counts)):
        half = (high - low) / 2.0
        steps = low + half * (1.0 + _NODES) - columns
        tails = 0.5 * np.exp(-np.abs(steps))
        below = np.where(steps < 0.0, tails, 1.0 - tails)
        for winner in range(len(counts)):
            rivals = np.delete(below, winner, axis=0).prod(axis=0)
            totals[winner] += half * float(_WEIGHTS @ (tails[winner] * rivals))
    law: FloatArray = np.log(totals)
    law.setflags(write=False)
    return law


def _edges(counts: tuple[float, ...]) -> list[float]:
    kinks = sorted(set(counts))
    edges = [kinks[0] - step for step in _TAIL[::-1]]
    for low, high in itertools.pairwise(kinks):
        number = int(np.ceil((high - low) / _WIDEST_PANEL))
        edges += list(np.linspace(low, high, number + 1)[:-1])
    return [*edges, kinks[-1], *(kinks[-1] + step for step in _TAIL)]

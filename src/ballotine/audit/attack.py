"""Attacks that distinguish two worlds by answers: scores of outcomes, and cells to count them in.

They are chosen on the scouts' half of the trials only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ballotine.audit.lower_bounds import coarser, composed_bound
from ballotine.types import FloatArray, IntArray

LARGEST_SCORE = 40.0
MAX_CELLS = 6


@dataclass(frozen=True)
class Attack:
    """An attack chosen on the scouts.

    Attributes:
        scores: the score of each outcome; larger ones are evidence for the first world.
        cells: the cell of each outcome; cell 0 is the strongest evidence for the first world.
    """

    scores: FloatArray
    cells: IntArray

    def transcripts(self, outcomes: IntArray) -> FloatArray:
        """Return one score per trial: the sum over its answers."""
        total: FloatArray = self.scores[outcomes].sum(axis=1)
        return total

    def counts(self, outcomes: IntArray) -> IntArray:
        """Return the number of single answers in each cell."""
        return np.bincount(self.cells[outcomes].ravel(), minlength=int(self.cells.max()) + 1)


def scores_of_laws(laws: tuple[FloatArray, FloatArray]) -> FloatArray:
    """Return log-likelihood ratios of known laws; 0 for outcomes that are impossible in both."""
    first, second = laws
    never = np.isneginf(first) & np.isneginf(second)
    ratio: FloatArray = np.where(never, 0.0, first) - np.where(never, 0.0, second)
    return ratio.clip(-LARGEST_SCORE, LARGEST_SCORE)


def scores_of_counts(first: IntArray, second: IntArray) -> FloatArray:
    """Return log-likelihood ratios estimated from counts, shrunk for rare outcomes."""
    ratio: FloatArray = np.log(first + 0.5) - np.log(second + 0.5)
    return ratio


def distance(first: IntArray, second: IntArray) -> float:
    """Return the distance of two counted laws: the symmetric relative entropy."""
    shares = first / first.sum() - second / second.sum()
    return float(shares @ scores_of_counts(first, second))


def anticipated(
    laws: tuple[FloatArray, FloatArray], answers: int, times: int, delta: float, error: float
) -> float:
    """Return the bound that one event of single answers would give at the expected counts.

    Args:
        laws: log-probabilities of each outcome in both worlds.
        answers: the number of answers counted in each world.
        times: how many are released together.
        delta: δ.
        error: the allowed error of the bound.
    """
    order = np.argsort(-scores_of_laws(laws), kind="stable")
    first, second = (np.rint(answers * np.cumsum(np.exp(law[order]))) for law in laws)
    best = 0.0
    for hits, other_hits in zip(first[:-1].tolist(), second[:-1].tolist(), strict=True):
        inside, outside = np.array([hits, other_hits]), answers - np.array([hits, other_hits])
        cells = np.maximum(np.stack((inside, outside)), 0.0)
        best = max(best, composed_bound(coarser(cells[:, 0], cells[:, 1], error), times, delta))
    return best


def make_attack(
    scores: FloatArray, first: IntArray, second: IntArray, times: int, delta: float, error: float
) -> Attack:
    """Choose the cells that give the largest bound on the scouts.

    Args:
        scores: the score of each outcome.
        first: how often the scouts saw each outcome in the first world.
        second: the same in the second world.
        times: how many answers are released together.
        delta: δ.
        error: the allowed error of the composed bound.
    """
    best, found = -1.0, np.zeros(scores.size, dtype=np.int64)
    for cells in _groupings(scores, (first + second).astype(np.float64)):
        number = int(cells.max()) + 1
        hits = [np.bincount(cells, weights=one, minlength=number) for one in (first, second)]
        bound = composed_bound(coarser(hits[0], hits[1], error), times, delta)
        if bound > best:
            best, found = bound, cells
    return Attack(scores, found)


def _groupings(scores: FloatArray, masses: FloatArray) -> list[IntArray]:
    """Return groupings of neighbouring scores into a few cells, merged by Ward's criterion."""
    order = np.argsort(-scores, kind="stable")
    centres, weights = scores[order].copy(), masses[order].copy()
    ends = np.arange(1, order.size + 1)
    found = []
    while centres.size > 1:
        if centres.size <= MAX_CELLS:
            cells = np.empty(order.size, dtype=np.int64)
            cells[order] = np.searchsorted(ends, np.arange(order.size), side="right")
            found.append(cells)
        both = weights[:-1] + weights[1:]
        loss = weights[:-1] * weights[1:] / np.maximum(both, 1.0) * np.diff(centres) ** 2
        here = int(np.argmin(loss))
        if both[here] > 0:
            shares = weights[here : here + 2] / both[here]
            centres[here] = shares @ centres[here : here + 2]
        weights[here] = both[here]
        centres, weights = np.delete(centres, here + 1), np.delete(weights, here + 1)
        ends = np.delete(ends, here)
    return found[::-1]

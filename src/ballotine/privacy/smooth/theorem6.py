"""Local sensitivities of Theorem 6 (Scalable PATE, appendix on smooth sensitivity).

Write q = (k − 1) Φ(−√2 v). One changed vote moves v by at most 1/σ: that is the paper's pair of
bounds B_U and B_L. So the two-sided cost is b(v) = B(v − 1/σ), with B Theorem 6, which never rises
with v, and the local sensitivity at v is max(b(v − 1/σ) − b(v), b(v) − b(v + 1/σ)).

It is largest on the plateau [v0, v0 + 1/σ] above the point v0 where b drops below the
data-independent cost, rises towards the plateau from above, and is no larger below. So the
largest value within distance d is found by moving d votes towards the plateau: from the top class
to the runner-up when v is above it, and back when it is below. `__init__` checks this shape on a
grid and refuses parameters for which it does not hold.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import log_ndtr, ndtri_exp

from ballotine.errors import ParameterError
from ballotine.privacy import published
from ballotine.types import BoolArray, FloatArray, IntArray

_SQRT_2 = math.sqrt(2.0)
_GRID = 4000
_LOWEST_LOG_Q = -1e4
_ROUNDING = 1e-12
# Tallies processed at once; bounds the memory.
_CHUNK = 8192


class Theorem6:
    """The two-sided Theorem 6 at one order, as a function of v."""

    def __init__(self, order: float, sigma: float, classes: int) -> None:
        if classes < 2:
            raise ParameterError("Theorem 6 needs at least two classes")
        self._sigma, self._log_rivals = sigma, math.log(classes - 1)
        self._orders = np.array([order])
        self._fallback = published.gnmax(self._orders, sigma)
        self._cap = math.log1p(-1.0 / classes)
        self._step = 1.0 / sigma
        self.meeting = self._meeting()
        self._check_shape()

    def cost(self, v: FloatArray) -> FloatArray:
        """Return b(v)."""
        log_q = np.minimum(self._log_rivals + log_ndtr(-_SQRT_2 * (v - self._step)), self._cap)
        bound = published._theorem6(log_q, self._orders, self._sigma, self._fallback)
        cost: FloatArray = bound[:, 0]
        return cost

    def place(self, counts: IntArray, log_tails: FloatArray) -> FloatArray:
        """Return v of tallies whose classes are sorted, largest first."""
        tails = log_tails[counts[:, :1] - counts[:, 1:]]
        # Sorted, the first tail is the largest: nothing overflows, and q = e^-1000 needs no care.
        log_q = tails[:, 0] + np.log(np.exp(tails - tails[:, :1]).sum(axis=1))
        place: FloatArray = -ndtri_exp(np.minimum(log_q, self._cap) - self._log_rivals) / _SQRT_2
        return place

    def local(self, v: FloatArray) -> FloatArray:
        """Return the local sensitivity at v; on the plateau, its largest value there."""
        # Below the plateau only a step up changes the cost; above it a step down changes it more,
        # as `_check_shape` verified; and the plateau's value is that of a step down to its start.
        high = self.meeting + self._step
        start = np.where(v < self.meeting, v, np.maximum(v, high) - self._step)
        change: FloatArray = self.cost(start) - self.cost(start + self._step)
        return change

    def sensitivities(self, counts: IntArray) -> tuple[float, FloatArray]:
        """Return the sum of the costs and LS_0, …, LS_n of tallies of n votes."""
        distinct, repeats = np.unique(-np.sort(-counts, axis=1), axis=0, return_counts=True)
        queries = repeats.astype(np.float64)
        total, local = 0.0, np.zeros(int(counts[0].sum()) + 1)
        for at in range(0, len(distinct), _CHUNK):
            chosen = slice(at, at + _CHUNK)
            v = self._path_to_plateau(distinct[chosen], local.size)
            total += float(queries[chosen] @ self.cost(v[:, 0]))
            largest = queries[chosen] @ self._largest_local(v)
            local += np.pad(largest, (0, local.size - largest.size), mode="edge")
        return total, local

    def _path_to_plateau(self, counts: IntArray, distances: int) -> FloatArray:
        """Return v after 0, 1, … votes moved towards the plateau; NaN once it is reached.

        There are as many columns as the tally farthest from the plateau needs.
        """
        log_tails = log_ndtr(-np.arange(float(distances)) / (_SQRT_2 * self._sigma))
        path = np.full((len(counts), distances), np.nan)
        rows = np.arange(len(counts))
        v = self.place(counts, log_tails)
        path[:, 0] = v
        for distance in range(1, distances):
            far = (v < self.meeting) | (v > self.meeting + self._step)
            if not far.any():
                return path[:, :distance]
            rows, v = rows[far], v[far]
            counts = _move_one_vote(counts[far], v > self.meeting)
            v = self._stopped_at_plateau(v, self.place(counts, log_tails))
            path[rows, distance] = v
        return path

    def _largest_local(self, path: FloatArray) -> FloatArray:
        """Return the largest local sensitivity up to each distance."""
        local = np.zeros(path.shape)
        moving = ~np.isnan(path)
        local[moving] = self.local(path[moving])
        return np.maximum.accumulate(local, axis=1)

    def _stopped_at_plateau(self, before: FloatArray, after: FloatArray) -> FloatArray:
        """Return the new places; one that would cross the plateau stops on it."""
        low, high = self.meeting, self.meeting + self._step
        crossed = ((before > high) & (after < low)) | ((before < low) & (after > high))
        return np.where(crossed, high, after)

    def _meeting(self) -> float:
        """Return v0, above which the cost is below the data-independent one."""
        highest = float(-ndtri_exp(_LOWEST_LOG_Q) / _SQRT_2)
        low, high = float(-ndtri_exp(self._cap - self._log_rivals) / _SQRT_2), highest
        if self.cost(np.array([high]))[0] >= self._fallback[0]:
            return high
        while high - low > 1e-13 * max(1.0, abs(high)):
            middle = 0.5 * (low + high)
            if self.cost(np.array([middle]))[0] >= self._fallback[0]:
                low = middle
            else:
                high = middle
        return low

    def _check_shape(self) -> None:
        """Refuse parameters for which the algorithm's monotonicity does not hold."""
        # More than 30/σ above v0 the cost falls like a Gaussian: the grid covers what matters.
        reach = max(30.0 * self._step, 6.0)
        v = self.meeting + self._step + np.linspace(0.0, reach, _GRID)
        cost, jump = self.cost(v), self.cost(v - self._step) - self.cost(v)
        tolerance = _ROUNDING * float(self._fallback[0])
        if np.any(np.diff(cost) > tolerance) or np.any(np.diff(jump) > tolerance):
            raise ParameterError(
                "the smooth sensitivity of Theorem 6 does not hold at this order and noise, where "
                "its cost is not monotone in the consensus; choose another order or sigma"
            )


def _move_one_vote(counts: IntArray, from_top: BoolArray) -> IntArray:
    """Return sorted tallies after one vote moved between the top and the runner-up."""
    votes = np.where(from_top, 1, -1)
    # A unanimous tally below the plateau has no vote left to move: it stays.
    votes[counts[:, 1] + votes < 0] = 0
    moved = counts.copy()
    moved[:, 0] -= votes
    moved[:, 1] += votes
    unsorted = moved[:, 0] < moved[:, 1]
    if moved.shape[1] > 2:
        unsorted |= moved[:, 1] < moved[:, 2]
    moved[unsorted] = -np.sort(-moved[unsorted], axis=1)
    return moved

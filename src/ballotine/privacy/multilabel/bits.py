"""Joint cost of many released bits of one query, when one ballot moves all of them together.

Bit i is whether count_i + noise reaches a centre. One ballot moves count_i by some d_i; the
costs of the bits add up. Let w_i(d) be the larger cost of a move by d up or down (as far as the
count's range allows). It does not fall with d, so by `ballots` two disjoint ballots are worst:
every d_i is zero or one of the scales s_1 ≥ s_2 ≥ …. For every power p ≥ 0, let

    r_i = max over scales s of w_i(s) (s_1/s)^p,   K = max over a + b ≤ k of Σ (d_i/s_1)^p.

A move by s costs at most r_i (s/s_1)^p. So the joint cost is at most the largest Σ r_i t_i over
shares 0 ≤ t_i ≤ 1 that add up to at most K: the largest r_i, K of them, the last one by its
fraction. Where the ballot that is taken away moves counts down and the new one up, the same with
one ballot and r_i for one sign bounds the part of each, and the two parts together are another
bound, better where hardly any count can fall. Each p gives these, and the smallest of all is
taken: costs grow like the square of a small move, but like a large move itself. Without clipping
every move is by 1, and the plain sum (p = 0) is exact.

Each direction of the divergence is summed on its own: a pair of neighbours has one direction.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import log_ndtr

from ballotine.privacy.exact.divergence import Laws, bounds
from ballotine.privacy.exact.laws import log_ndtr_change
from ballotine.privacy.multilabel.ballots import worst_pair
from ballotine.types import FloatArray, IntArray

# Queries priced at once and counts tabulated at once; both bound the memory.
_BLOCK = 1 << 15
_COUNTS = 1 << 13
# More scales than this are grouped, and each group is priced by its largest scale.
_MAX_GROUPS = 128
_POWERS = (0.0, 1.0, 1.5, 2.0)


@dataclass(frozen=True)
class LabelRelease:
    """Everything that the joint cost of a query's bits depends on, apart from its counts.

    Attributes:
        orders: Rényi orders, shape (m,).
        unit: standard deviation of the noise, in units of the counts.
        centre: the threshold for a noisy count.
        lowest: the smallest value a count can take.
        highest: the largest value a count can take.
        weight: the weight of the teacher whose ballot is replaced.
        signed: whether a ballot taken away only lowers counts, and a new one only raises them.
        scales: what a ballot of 1, 2, …, k labels holds per label, never rising.
        ceiling: a cost that holds for all counts, shape (m,).
    """

    orders: FloatArray
    unit: float
    centre: float
    lowest: float
    highest: float
    weight: float
    signed: bool
    scales: FloatArray
    ceiling: FloatArray

    def each(self, counts: FloatArray) -> FloatArray:
        """Return the cost of each query, shape (queries, m)."""
        return np.concatenate(list(self._blocks(counts)))

    def total(self, counts: FloatArray) -> FloatArray:
        """Return the sum over queries, shape (m,)."""
        result = np.zeros(self.orders.size)
        for costs in self._blocks(counts):
            result += costs.sum(axis=0)
        return result

    def _blocks(self, counts: FloatArray) -> Iterator[FloatArray]:
        for start in range(0, len(counts), _BLOCK):
            yield self._costs(counts[start : start + _BLOCK])

    def _costs(self, counts: FloatArray) -> FloatArray:
        if self.weight == 0.0:
            return np.zeros((len(counts), self.orders.size))
        distinct, place = np.unique(counts, return_inverse=True)
        place = place.reshape(counts.shape)
        parts = [
            self._rates(distinct[at : at + _COUNTS]) for at in range(0, distinct.size, _COUNTS)
        ]
        rates = np.concatenate(parts, axis=3)
        worst = np.full((len(counts), self._grid.size), np.inf)
        for power, (forth, back) in zip(self._powers, rates, strict=True):
            bound = np.maximum(self._joint(forth, place, power), self._joint(back, place, power))
            np.minimum(worst, bound, out=worst)
        costs: FloatArray = np.minimum(worst[:, self._rank], self.ceiling)
        return costs

    def _joint(self, rates: FloatArray, place: IntArray, power: float) -> FloatArray:
        """Return the bound of one direction from r for moves down and up, (queries, orders)."""
        shares = (self.scales / self.scales[0]) ** power
        together = _largest(rates.max(axis=0), place, float(worst_pair(shares)))
        # At p = 0 every label fits into one ballot: the signed bound would not be smaller.
        if power == 0.0 or not self.signed:
            return together
        alone = float((shares * np.arange(1.0, shares.size + 1.0)).max())
        apart = _largest(rates[0], place, alone) + _largest(rates[1], place, alone)
        return np.minimum(together, apart)

    @cached_property
    def _powers(self) -> tuple[float, ...]:
        return _POWERS if self.scales[-1] < self.scales[0] else _POWERS[:1]

    @cached_property
    def _grid(self) -> FloatArray:
        return np.unique(self.orders)

    @cached_property
    def _rank(self) -> IntArray:
        return np.searchsorted(self._grid, self.orders)

    @cached_property
    def _groups(self) -> FloatArray:
        """Return the largest and the smallest scale of each group, shape (groups, 2)."""
        distinct = np.unique(self.scales)[::-1]
        if distinct.size <= _MAX_GROUPS:
            return np.stack((distinct, distinct), axis=1)
        edges = np.geomspace(distinct[0], distinct[-1], _MAX_GROUPS)
        group = np.searchsorted(-edges, -distinct)
        starts = np.flatnonzero(np.diff(group, prepend=-1))
        return np.stack((distinct[starts], distinct[np.append(starts[1:], distinct.size) - 1]), 1)

    def _rates(self, counts: FloatArray) -> FloatArray:
        """Return r for each power, direction, sign of the move, count and order."""
        rates = np.zeros((len(self._powers), 2, 2, counts.size, self._grid.size))
        position = (counts - self.centre) / self.unit
        log_p = np.stack((log_ndtr(-position), log_ndtr(position)))
        for largest, smallest in self._groups:
            step = self.weight * largest
            down, up = (np.minimum(step, room) for room in self._headroom(counts))
            for sign, shift in enumerate((-down / self.unit, up / self.unit)):
                log_ratio = np.stack(
                    (log_ndtr_change(-position, -shift), log_ndtr_change(position, shift))
                )
                costs = bounds(Laws.both_ways(log_p, log_ratio), self._grid)
                costs *= shift.repeat(2)[:, np.newaxis] != 0.0
                for power, (forth, back) in zip(self._powers, rates, strict=True):
                    stretch = (self.scales[0] / smallest) ** power
                    np.maximum(forth[sign], stretch * costs[0::2], out=forth[sign])
                    np.maximum(back[sign], stretch * costs[1::2], out=back[sign])
        # Exact costs do not fall with the order; restore that after rounding.
        np.maximum.accumulate(rates, axis=4, out=rates)
        return rates

    def _headroom(self, counts: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return how far counts can fall and rise."""
        return counts - self.lowest, self.highest - counts


def _largest(rates: FloatArray, place: IntArray, most: float) -> FloatArray:
    """Return the largest Σ r_i t_i of each query with Σ t_i at most `most`, (queries, orders)."""
    queries, bits = place.shape
    whole, rest = divmod(most * (1.0 + 1e-12), 1.0)
    result = np.zeros((queries, rates.shape[1]))
    if whole >= bits:
        for column in place.T:
            result += rates[column]
        return result
    first = bits - int(whole)
    for order, column in enumerate(rates.T):
        ascending = np.sort(column[place], axis=1)
        result[:, order] = ascending[:, first:].sum(axis=1) + rest * ascending[:, first - 1]
    return result

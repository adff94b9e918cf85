"""Branch and bound for the worst cuts of two shifted Gaussians.

`one_cut` and `two_cuts` bound, from above and to a relative 5e-7, the log-moment
ln Σ P_i^α Q_i^(1−α) of two or three intervals of P = N(0, 1) against Q = N(−s, 1), over all
positions of the cuts. Regions are halved until none can exceed the best cut found by more than the
gap, so the result does not depend on a local optimiser. The bounds of a region are in `arcs`;
infinity and NaN mean "no bound", so floating-point warnings are off.
"""

from __future__ import annotations

import itertools

import numpy as np

from ballotine.privacy.tight.arcs import FIRST_CELLS, Cut, Intervals, Scale, log_between
from ballotine.types import BoolArray, FloatArray, IntArray

# Relative gap at which a region counts as settled; the returned bounds include it.
GAP = 4e-7
_MAX_LEVELS = 30
# With more open regions than this the current bound is returned: valid, but less tight.
_MAX_OPEN = 60_000
_KEY_BITS = 50


@np.errstate(all="ignore")
def one_cut(orders: FloatArray, shift: float, gap: float = GAP) -> FloatArray:
    """Return an upper bound of ln M over all single cuts, shape (m,).

    Args:
        orders: Rényi orders above 1, shape (m,).
        shift: distance s > 0 of the two Gaussians in standard deviations.
        gap: how far above the supremum the bound may be, relative to it.
    """
    scale = Scale.of(orders, shift)
    row = np.repeat(np.arange(orders.size), FIRST_CELLS)
    index = np.tile(np.arange(FIRST_CELLS), orders.size)
    record = _Record(scale, gap)
    for level in range(_MAX_LEVELS):
        cells = Intervals.of(scale, row, index, level)
        record.attain(row, cells.start.left + cells.start.right)
        record.attain(row, cells.end.left + cells.end.right)
        corner = _or_infinite(cells.corner.left + cells.corner.right)
        ends = np.maximum(cells.start.left + cells.start.right, cells.end.left + cells.end.right)
        # The share of (−∞, x] rises with x; `right` is valid for large moments only.
        apart = np.where(scale.small[row], np.inf, cells.end.left + cells.right)
        resolved = cells.start.left + cells.inside + cells.end.right
        ceiling = np.minimum(np.minimum(np.maximum(corner, ends), resolved), apart)
        still = record.open(row, ceiling)
        if record.settled(row, ceiling, still, level):
            break
        row = np.tile(row[still], 2)
        index = np.concatenate([2 * index[still], 2 * index[still] + 1])
    return record.bound


@np.errstate(all="ignore")
def two_cuts(orders: FloatArray, shift: float) -> FloatArray:
    """Return an upper bound of ln M over all pairs of cuts, shape (m,).

    Args:
        orders: Rényi orders above 1, shape (m,).
        shift: distance s > 0 of the two Gaussians in standard deviations.
    """
    scale = Scale.of(orders, shift)
    first, second = np.triu_indices(FIRST_CELLS)
    row = np.repeat(np.arange(orders.size), first.size)
    i, j = np.tile(first, orders.size), np.tile(second, orders.size)
    # One cut is two that coincide, and it bounds the share of any [x, ∞): a good start.
    single = one_cut(orders, shift, GAP / 4.0)
    record = _Record(scale, GAP)
    record.start(single / (1.0 + GAP / 4.0))
    tail = np.exp(np.minimum(single - scale.full, 0.0))
    for level in range(_MAX_LEVELS):
        a, b = _pairs(scale, row, i, j, level)
        ceiling = _pair_ceiling(record, row, a, b, apart=j - i)
        ceiling = np.minimum(ceiling, _outer_ceiling(scale, row, a, b, tail[row]))
        still = record.open(row, ceiling)
        if record.settled(row, ceiling, still, level):
            break
        row, i, j = np.tile(row[still], 4), 2 * i[still], 2 * j[still]
        i, j = np.concatenate([i, i, i + 1, i + 1]), np.concatenate([j, j + 1, j, j + 1])
        ordered = i <= j
        row, i, j = row[ordered], i[ordered], j[ordered]
    return record.bound


class _Record:
    """The best attained log-moment of every order, and the bound once the search ends."""

    def __init__(self, scale: Scale, gap: float) -> None:
        self.scale = scale
        self._gap = gap
        self._best = np.full(scale.beta.size, -np.inf)
        self.bound = self._best

    def start(self, log_moment: FloatArray) -> None:
        """Start from log-moments that are known to be attained."""
        self._best = log_moment.copy()

    def attain(self, row: IntArray, total: FloatArray) -> None:
        """Record moments that are attained by actual cuts."""
        usable = np.isfinite(total)
        log_moment = self.scale.log_moment(row[usable], total[usable])
        np.maximum.at(self._best, row[usable], log_moment)

    def open(self, row: IntArray, ceiling: FloatArray) -> BoolArray:
        """Return which regions may still exceed the best by more than the gap."""
        goal = self._best * (1.0 + self._gap)
        still: BoolArray = self.scale.log_moment(row, ceiling) > goal[row]
        return still

    def settled(self, row: IntArray, ceiling: FloatArray, still: BoolArray, level: int) -> bool:
        """Set the bound and return True when the search is over."""
        exhausted = level == _MAX_LEVELS - 1 or np.count_nonzero(still) > _MAX_OPEN
        if still.any() and not exhausted:
            return False
        self.bound = self._best * (1.0 + self._gap)
        left = self.scale.log_moment(row[still], ceiling[still])
        np.maximum.at(self.bound, row[still], left)
        return True


def _pairs(
    scale: Scale, row: IntArray, i: IntArray, j: IntArray, level: int
) -> tuple[Intervals, Intervals]:
    """Return the intervals of both cuts, computing each distinct one once."""
    keys = np.concatenate([(row << _KEY_BITS) + i, (row << _KEY_BITS) + j])
    distinct, place = np.unique(keys, return_inverse=True)
    cells = Intervals.of(scale, distinct >> _KEY_BITS, distinct & ((1 << _KEY_BITS) - 1), level)
    return cells.take(place[: row.size]), cells.take(place[row.size :])


def _pair_ceiling(
    record: _Record, row: IntArray, a: Intervals, b: Intervals, *, apart: IntArray
) -> FloatArray:
    """Return an upper bound of the sum of shares for a cut in `a` and one in `b`."""
    scale = record.scale
    same = apart == 0
    ceiling = np.zeros(row.size)
    for first, second in itertools.product((a.start, a.corner, a.end), (b.start, b.corner, b.end)):
        middle = _middle(scale, row, first, second)
        if first is a.end and second is b.start:
            # Neighbouring intervals share this cut, so nothing lies between.
            middle = np.where(apart == 1, 0.0, middle)
            resolved = a.start.left + a.inside + middle + b.inside + b.end.right
        total = first.left + middle + second.right
        if first is not a.corner and second is not b.corner:
            record.attain(row[~same], total[~same])
        ceiling = np.maximum(ceiling, _or_infinite(total))
    # Cuts in one interval may coincide, for which the triangles' corners are meaningless.
    ceiling = np.where(same, np.inf, ceiling)
    resolved = np.where(same, a.start.left + a.inside + a.end.right, resolved)
    return np.minimum(ceiling, _or_infinite(resolved))


def _outer_ceiling(
    scale: Scale, row: IntArray, a: Intervals, b: Intervals, tail: FloatArray
) -> FloatArray:
    """Return a bound that treats the middle cell as if it extended to infinity.

    A cell's share rises with its upper end, so the middle one is below that of [a, ∞); and all
    shares together are at most that of the unquantised Gaussians, which is the unit.
    """
    outer = a.end.left + np.minimum(a.right, tail) + np.minimum(b.right, tail)
    return np.where(scale.small[row], np.inf, np.minimum(outer, 1.0))


def _middle(scale: Scale, row: IntArray, first: Cut, second: Cut) -> FloatArray:
    log_p, log_q = log_between(first, second)
    return scale.share(row, log_p, log_p - log_q)


def _or_infinite(total: FloatArray) -> FloatArray:
    """Return the totals with NaN ("no bound") replaced by infinity."""
    return np.where(np.isnan(total), np.inf, total)

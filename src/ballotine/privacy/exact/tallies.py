"""Deduplication: tallies that cost the same, and classes that hold the same count.

Exact costs do not change when classes are renamed, so tallies are sorted and only the distinct
ones are priced. Inside a tally, classes with equal counts win equally often, so each distinct
count (a *level*) is priced once, with the number of classes that hold it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ballotine.types import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Levels:
    """Tallies with the same number g of distinct counts.

    Attributes:
        index: which of the given rows these are, shape (n,).
        counts: the distinct counts, largest first, shape (n, g).
        sizes: how many classes hold each of them, shape (n, g).
    """

    index: IntArray
    counts: FloatArray
    sizes: FloatArray

    @property
    def classes(self) -> int:
        """The number of classes, which is the same for every row."""
        return int(self.sizes[0].sum())

    def take(self, chosen: slice | IntArray) -> Levels:
        """Return the chosen rows."""
        return Levels(self.index[chosen], self.counts[chosen], self.sizes[chosen])


def distinct(counts: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return the distinct tallies up to renaming classes, and which of them each query is.

    Args:
        counts: shape (queries, classes).

    Returns:
        Rows sorted from the largest count to the smallest, shape (rows, classes), and for each
        query its row, shape (queries,).
    """
    ordered = -np.sort(-counts, axis=1)
    ranks = np.lexsort(ordered.T)
    ordered = ordered[ranks]
    fresh = np.ones(len(ordered), dtype=np.bool_)
    np.any(ordered[1:] != ordered[:-1], axis=1, out=fresh[1:])
    inverse = np.empty(len(ordered), dtype=np.int64)
    inverse[ranks] = np.cumsum(fresh) - 1
    return ordered[fresh], inverse


def levels(rows: FloatArray) -> Iterator[Levels]:
    """Split sorted tallies by their number of distinct counts.

    Args:
        rows: tallies with counts in descending order, shape (rows, classes).

    Yields:
        The levels of all rows with one, two, … distinct counts.
    """
    starts = np.ones(rows.shape, dtype=np.bool_)
    starts[:, 1:] = rows[:, 1:] != rows[:, :-1]
    numbers = starts.sum(axis=1)
    for number in np.unique(numbers):
        index = np.flatnonzero(numbers == number)
        first = starts[index]
        positions = np.nonzero(first)[1].reshape(len(index), number)
        sizes = np.diff(positions, axis=1, append=rows.shape[1]).astype(np.float64)
        yield Levels(index, rows[index][first].reshape(len(index), number), sizes)


def level_of_class(rows: FloatArray) -> IntArray:
    """Return for each class of sorted tallies the number of its level, shape (rows, classes)."""
    ranks: IntArray = np.zeros(rows.shape, dtype=np.int64)
    np.cumsum(rows[:, 1:] != rows[:, :-1], axis=1, out=ranks[:, 1:])
    return ranks

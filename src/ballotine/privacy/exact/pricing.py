"""Price tallies in chunks: each distinct tally once, in threads, in bounded memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np

from ballotine.errors import DataError
from ballotine.privacy.exact.laws import grid_for, node_count
from ballotine.privacy.exact.moves import move_count
from ballotine.privacy.exact.neighbours import (
    LawTables,
    Neighbours,
    fits_one_grid,
    holders,
    on_one_grid,
    one_by_one,
)
from ballotine.privacy.exact.search import Pairs, worst_costs
from ballotine.privacy.exact.tallies import Levels, distinct, levels
from ballotine.types import FloatArray, IntArray

Check = Callable[[FloatArray, Neighbours], Pairs]
"""Adds the outcomes of a check to the laws of an argmax, given the largest counts."""

Job = Callable[[], tuple[IntArray, FloatArray]]
"""Returns rows and their costs (or the costs of some of their neighbours)."""

_BLOCK = 1 << 17
_CELLS = 1 << 17
_SHARED_TABLE = 4096
_NEIGHBOURS = 2000
_MAX_WORKERS = 4


@dataclass(frozen=True, slots=True)
class Pricing:
    """Everything that the costs of a set of queries depend on.

    Attributes:
        counts: tallies, shape (queries, classes).
        orders: Rényi orders, shape (m,).
        sigma: standard deviation of the noise on each class.
        weight: the weight of one teacher.
        teachers: the number of teachers that may move at once.
        check: the check that precedes the answer, if any.
    """

    counts: FloatArray
    orders: FloatArray
    sigma: float
    weight: float
    teachers: int
    check: Check | None

    def each(self) -> FloatArray:
        """Return the cost of each query, shape (queries, m)."""
        result = np.empty((len(self.counts), self.orders.size))
        start = 0
        for costs, inverse in self._blocks():
            result[start : start + inverse.size] = costs[inverse]
            start += inverse.size
        return result

    def total(self) -> FloatArray:
        """Return the sum over queries, shape (m,)."""
        result = np.zeros(self.orders.size)
        for costs, inverse in self._blocks():
            result += np.bincount(inverse, minlength=len(costs)) @ costs
        return result

    def _blocks(self) -> Iterator[tuple[FloatArray, IntArray]]:
        for start in range(0, len(self.counts), _BLOCK):
            rows, inverse = distinct(self.counts[start : start + _BLOCK])
            yield self._costs(rows), inverse

    def _costs(self, rows: FloatArray) -> FloatArray:
        """Return the cost of each distinct tally."""
        costs = np.zeros((len(rows), self.orders.size))
        if self.weight == 0.0 or rows.shape[1] == 1:
            return costs
        if not holders(rows[:, 0], self.weight).all():
            raise DataError("a tally has no class with a count of at least the sensitivity")
        for index, found in _run(list(self._jobs(rows))):
            costs[index] = np.maximum(costs[index], found)
        return costs

    def _jobs(self, rows: FloatArray) -> Iterator[Job]:
        near, far = [], []
        for tallies in levels(rows):
            fits = fits_one_grid(tallies, self.sigma, self.weight) & (self.teachers == 1)
            near.append(tallies.take(np.flatnonzero(fits)))
            far.append(tallies.index[~fits])
        yield from self._near_jobs([tallies for tallies in near if tallies.index.size])
        yield from self._far_jobs(rows, np.concatenate(far))

    def _near_jobs(self, groups: list[Levels]) -> Iterator[Job]:
        """Price all moves from one level of each chunk, or from all of them."""
        if not groups:
            return
        gaps = np.unique(np.concatenate([self._gaps(tallies).ravel() for tallies in groups]))
        classes = groups[0].classes
        # Whole votes have few distinct gaps, which all chunks share; weighted votes have many.
        tables = self._tables(gaps, classes) if gaps.size <= _SHARED_TABLE else None
        nodes = node_count(gaps[-1:], classes, self.weight / self.sigma).item()
        for tallies in groups:
            g = tallies.counts.shape[1]
            rows = max(1, int(_CELLS / (g * max(g * (g + 2), nodes))))
            if tables is None:
                rows = max(1, min(rows, _SHARED_TABLE // g))
            losers = max(1, int(8 * _CELLS / ((g + 2) * max(g, nodes))))
            for start in range(0, tallies.index.size, rows):
                chunk = tallies.take(slice(start, start + rows))
                for first in range(0, g, losers):
                    yield partial(self._price_near, chunk, tables, slice(first, first + losers))

    def _far_jobs(self, rows: FloatArray, index: IntArray) -> Iterator[Job]:
        moves = move_count(rows.shape[1], self.teachers)
        size = max(1, _NEIGHBOURS // moves)
        for start in range(0, index.size, size):
            chosen = index[start : start + size]
            yield partial(self._price_far, rows[chosen], chosen)

    def _gaps(self, tallies: Levels) -> FloatArray:
        gaps: FloatArray = (tallies.counts[:, :1] - tallies.counts) / self.sigma
        return gaps

    def _tables(self, gaps: FloatArray, classes: int) -> LawTables:
        shift = self.weight / self.sigma
        return LawTables.build(gaps, grid_for(gaps, classes, shift), shift)

    def _price_near(
        self, tallies: Levels, tables: LawTables | None, losing: slice
    ) -> tuple[IntArray, FloatArray]:
        gaps = self._gaps(tallies)
        if tables is None:
            tables = self._tables(np.unique(gaps), tallies.classes)
        found = on_one_grid(tallies, tables, gaps, self.weight, losing)
        return tallies.index, self._worst(tallies.counts[:, 0], found)

    def _price_far(self, rows: FloatArray, index: IntArray) -> tuple[IntArray, FloatArray]:
        found = one_by_one(rows, self.sigma, self.weight, self.teachers)
        return index, self._worst(rows[:, 0], found)

    def _worst(self, tops: FloatArray, found: Neighbours) -> FloatArray:
        pairs = found.pairs if self.check is None else self.check(tops, found)
        return worst_costs(pairs, tops.size, self.orders)


def _run(jobs: list[Job]) -> Iterator[tuple[IntArray, FloatArray]]:
    """Run jobs, in threads when there are several: NumPy releases the interpreter lock."""
    workers = min(_MAX_WORKERS, os.cpu_count() or 1, len(jobs))
    if workers < 2:
        yield from (job() for job in jobs)
        return
    with ThreadPoolExecutor(workers) as pool:
        yield from pool.map(lambda job: job(), jobs)

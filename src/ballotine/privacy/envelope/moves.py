"""All moves of one vote from tallies with a given top and runner-up, with bounds on their excess.

A tally has a top class with t votes, a runner-up with r ≤ t, and the rest. A vote moves between
the top and another class, or between two classes that are not the top. Each bound here holds for
every arrangement of the rest. Proof: docs/proofs/envelope.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ballotine.errors import ParameterError
from ballotine.privacy.envelope.tables import Bend, Weights, excess, grid
from ballotine.types import BoolArray, FloatArray, IntArray

# Gaps tabulated at once; bounds the memory.
_ROWS = 64


@dataclass(frozen=True, slots=True)
class Size:
    """The numbers of teachers and classes."""

    teachers: int
    classes: int

    @classmethod
    def of(cls, teachers: int, classes: int) -> Size:
        """Validate both numbers."""
        for value, name in ((teachers, "teachers"), (classes, "classes")):
            if value != int(value) or value < 1:
                raise ParameterError(f"{name} must be a whole number of at least 1")
        return cls(int(teachers), int(classes))

    @property
    def tops(self) -> range:
        """The possible largest counts of n votes on k classes."""
        return range(-(-self.teachers // self.classes), self.teachers + 1)

    def runners(self, top: int) -> IntArray:
        """Return the possible second largest counts, given this top."""
        rest = self.teachers - top
        return np.arange(-(-rest // (self.classes - 1)), min(top, rest) + 1)


@dataclass(frozen=True, slots=True)
class Moves:
    """Moves of one vote that share a direction: the laws compared and the argmax's excess.

    Attributes:
        before: top count under the first law, shape (moves, 1) or a number.
        after: top count under the second.
        excess: upper bounds of the argmax's excess, shape (moves, runners) or (moves, 1).
        possible: which of them occur in some tally.
    """

    before: int | IntArray
    after: int | IntArray
    excess: FloatArray
    possible: BoolArray


@dataclass(frozen=True, slots=True)
class MoveTables:
    """Upper bounds on the excess of any move, by the counts it involves.

    A gap μ is at index μ + n + 2, a mean m of τ at index m + n.

    Attributes:
        size: numbers of teachers and classes.
        plain: excess by gap when no third class can win.
        worst: largest excess by gap, whichever other classes can win.
        rival: by gap and mean, what one more class can add.
        losers: by gap and mean for the top class, the excess of a move between two others.
    """

    size: Size
    plain: FloatArray
    worst: FloatArray
    rival: FloatArray
    losers: FloatArray

    @classmethod
    def of(cls, size: Size, bend: Bend, ceiling: float) -> MoveTables:
        """Compute the tables; `ceiling` is the data-independent excess."""
        n, unit = size.teachers, bend.drift / 2.0
        gaps = np.arange(-n - 2.0, n + 3.0) * unit
        nodes = grid(bend, 0.5 * n * unit, (0.5 * n + 2.0) * unit)
        weights = Weights.of(nodes, np.arange(-n, 2.0 * n + 1.0) * unit)
        parts = [
            _averages(bend, gaps[at : at + _ROWS], nodes, ceiling, weights)
            for at in range(0, gaps.size, _ROWS)
        ]
        plain, worst, rival, losers = (np.concatenate(part) for part in zip(*parts, strict=True))
        return cls(size, plain, worst, rival, losers)

    def moves(self, top: int) -> Iterator[Moves]:
        """Yield all moves of one vote from tallies with this top, in both directions."""
        runners = self.size.runners(top)
        yield from self._from_top(top, runners)
        yield from self._to_top(top, runners)
        if self.size.classes > 2:
            yield from self._between_losers(top, runners)

    def _from_top(self, top: int, runners: IntArray) -> Iterator[Moves]:
        other, possible = self._others(top, 0, runners)
        column = other[:, np.newaxis]
        forth = self._with_top(top, other, other - top, runners)
        back = self._with_top(top, other, top - other - 2, runners)
        lowered = np.maximum(top - 1, column + 1)
        yield Moves(top, lowered, forth, possible)
        yield Moves(lowered, top, back, possible)
        # A third class may hold as many votes as the top; the largest count then does not change.
        tied = possible & (2 * top + column <= self.size.teachers) & (runners == top)
        kept = np.maximum(top, column + 1)
        yield Moves(top, kept, forth, tied)
        yield Moves(kept, top, back, tied)

    def _to_top(self, top: int, runners: IntArray) -> Iterator[Moves]:
        other, possible = self._others(top, 1, runners)
        forth = self._with_top(top, other, top - other, runners)
        back = self._with_top(top, other, other - top - 2, runners)
        yield Moves(top, top + 1, forth, possible)
        yield Moves(top + 1, top, back, possible)

    def _others(self, top: int, least: int, runners: IntArray) -> tuple[IntArray, BoolArray]:
        """Return counts of another class, and with which runners-up they are possible."""
        rest = self.size.teachers - top
        other = np.arange(least, min(top, rest) + 1)
        column = other[:, np.newaxis]
        # The remaining votes must fit into the other k − 2 classes, at most `runners` in each.
        fits = rest - column <= (self.size.classes - 2) * runners
        return other, fits & (column <= runners)

    def _with_top(self, top: int, other: IntArray, gap: IntArray, runners: IntArray) -> FloatArray:
        """Bound the excess of moves between the top and classes with these counts."""
        n, rivals = self.size.teachers, self.size.classes - 2
        row = gap + n + 2
        plain = self.plain[row][:, np.newaxis]
        if rivals == 0:
            return np.broadcast_to(plain, (other.size, runners.size))
        rest = (n - top - other)[:, np.newaxis]
        # What a rival with c votes adds; only c ≤ rest is possible.
        votes = np.arange(int(runners[-1]) + 1)
        means = 2 * np.minimum(votes, rest) - top - other[:, np.newaxis] + n
        adds = self.rival[row[:, np.newaxis], means]
        if rivals == 1:
            added = adds[:, -1:]
        else:
            slopes = (adds[:, 1:] - adds[:, :1]) / votes[1:]
            slopes = np.where(votes[1:] <= rest, slopes, 0.0)
            steepest = np.maximum.accumulate(np.pad(slopes, ((0, 0), (1, 0))), axis=1)
            added = rivals * adds[:, :1] + steepest[:, runners] * rest
        return np.minimum(plain + added, self.worst[row][:, np.newaxis])

    def _between_losers(self, top: int, runners: IntArray) -> Iterator[Moves]:
        n = self.size.teachers
        reach = int(runners[-1])
        lead = np.arange(-reach, reach + 1)[:, np.newaxis]
        # The excess falls as both counts decrease below the top: take the largest possible counts.
        both = np.minimum(2 * runners - np.abs(lead), n - top)
        both = both - (both - lead) % 2
        giver, taker = (both + lead) // 2, (both - lead) // 2
        possible = (giver >= 1) & (taker >= 0)
        means = np.where(possible, 2 * top - both, 0) + n
        forth = self.losers[n + 2 - lead, means]
        back = self.losers[n + lead, means]
        yield Moves(top, top, forth, possible)
        yield Moves(top, top, back, possible)
        # A receiving class that ties with the top becomes the new top.
        tied = possible & (runners == top) & (2 * top + 1 <= n)
        yield Moves(top, top + 1, forth, tied)
        yield Moves(top + 1, top, back, tied)


def _averages(
    bend: Bend, gaps: FloatArray, nodes: FloatArray, ceiling: float, weights: Weights
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Compute the rows of all four tables for these gaps."""
    plain, table = excess(bend, gaps, nodes, ceiling)
    falling = np.maximum.accumulate(table[:, ::-1], axis=1)[:, ::-1]
    above = np.maximum(table - plain[:, np.newaxis], 0.0)
    return plain, falling[:, 0], above @ weights.positive, falling @ weights.all

"""The laws of a tally and of all its neighbours, paired outcome by outcome.

*On one grid* (the common case): moving a teacher of weight s from level a to level b multiplies the
integrand of every other class by Φ(x+g_a+s)/Φ(x+g_a) · Φ(x+g_b−s)/Φ(x+g_b), and that of the two
classes themselves by the same ratios of φ. So with a table of four ratios per level all neighbours
of a tally follow from a few small matrix products on the tally's own nodes.

*One by one* (split moves of several teachers, or weights and gaps so many standard deviations wide
that these ratios leave the range of floating point): each neighbour is a tally of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr

from ballotine.privacy.exact.divergence import NEVER
from ballotine.privacy.exact.laws import (
    Grid,
    log_law,
    log_ndtr_change,
    log_pdf,
    node_count,
)
from ballotine.privacy.exact.moves import split_moves
from ballotine.privacy.exact.search import Pairs
from ballotine.privacy.exact.tallies import Levels, level_of_class
from ballotine.types import BoolArray, FloatArray, IntArray

_HOLDS = 1.0 - 1e-9
_LARGEST_LOG_RATIO = 200.0
_MAX_NODES = 6000
# With larger products the BLAS library starts threads of its own, which compete with ours.
_SMALL_PRODUCT = 200_000


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Pairs of laws, and the largest count after each move (before it: the tally's own).

    `rows` of the pairs number the tallies of the chunk that was given.
    """

    pairs: Pairs
    tops: FloatArray


def holders(counts: FloatArray, weight: float | FloatArray) -> BoolArray:
    """Return which counts contain a teacher of this weight, tolerating rounded sums of weights."""
    held: BoolArray = counts >= weight * _HOLDS
    return held


def fits_one_grid(tallies: Levels, sigma: float, weight: float) -> BoolArray:
    """Return for which tallies the ratio tables stay within floating-point range, shape (n,)."""
    shift = weight / sigma
    gaps = (tallies.counts[:, 0] - tallies.counts[:, -1]) / sigma
    nodes = node_count(gaps, tallies.classes, shift)
    fits: BoolArray = (nodes <= _MAX_NODES) & (
        shift * (gaps / 2.0 + 20.0 + 2.0 * shift) <= _LARGEST_LOG_RATIO
    )
    return fits


@dataclass(frozen=True, slots=True)
class LawTables:
    """Functions of x for each distinct gap, shape (gaps, nodes), after moves by ±s."""

    gaps: FloatArray
    grid: Grid
    log_cdf: FloatArray
    log_ratio: FloatArray
    rival_loses: FloatArray
    rival_gains: FloatArray
    winner_loses: FloatArray
    winner_gains: FloatArray

    @classmethod
    def build(cls, gaps: FloatArray, grid: Grid, shift: float) -> LawTables:
        """Compute the tables for sorted distinct gaps (in standard deviations)."""
        x = grid.nodes + gaps[:, np.newaxis]
        log_cdf = log_ndtr(x)
        return cls(
            gaps,
            grid,
            log_cdf,
            log_pdf(x) - log_cdf,
            np.exp(log_ndtr_change(x, shift)),
            np.exp(log_ndtr_change(x, -shift)),
            np.exp(-shift * (x + 0.5 * shift)),
            np.exp(shift * (x - 0.5 * shift)),
        )


def on_one_grid(
    tallies: Levels, tables: LawTables, gaps: FloatArray, weight: float, losing: slice
) -> Neighbours:
    """Return all single moves of one teacher of the given weight.

    Args:
        tallies: n rows with g levels each.
        tables: built for (at least) the gaps of these rows.
        gaps: distances from the largest count in standard deviations, shape (n, g).
        weight: the weight of the teacher.
        losing: the levels that the teacher may leave.
    """
    counts, sizes = tallies.counts, tallies.sizes
    where = np.searchsorted(tables.gaps, gaps)
    log_p, integrands = _integrals(tables, where, sizes)
    after = _after_moves(tables, where, integrands, losing)
    rows, losers, gainers = np.nonzero(possible_moves(counts, sizes, weight)[:, losing])
    log_ratio = np.log(after[rows, :, losers, gainers].T)
    losers += losing.start
    pairs = _paired(log_p, log_ratio, sizes, rows, losers, gainers)
    return Neighbours(pairs, _new_tops(counts, sizes, weight, rows, losers, gainers))


def possible_moves(counts: FloatArray, sizes: FloatArray, weight: float) -> BoolArray:
    """Return from which level to which a vote can move, shape (n, g, g).

    Within a level a vote moves between two different classes.
    """
    others: BoolArray = ~np.eye(counts.shape[1], dtype=np.bool_) | (sizes[:, :, np.newaxis] > 1.0)
    return holders(counts, weight)[:, :, np.newaxis] & others


def _integrals(
    tables: LawTables, where: IntArray, sizes: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return log-probabilities by level, and the integrands normalised to sum 1."""
    everyone = np.einsum("ng,ngx->nx", sizes, tables.log_cdf[where])
    logs = tables.log_ratio[where] + everyone[:, np.newaxis, :]
    peaks = logs.max(axis=2)
    integrands = np.exp(logs - peaks[:, :, np.newaxis])
    masses = integrands.sum(axis=2)
    integrands /= masses[:, :, np.newaxis]
    return np.log(tables.grid.step * masses) + peaks, integrands


def _after_moves(
    tables: LawTables, where: IntArray, integrands: FloatArray, losing: slice
) -> FloatArray:
    """Return the ratios q/p of all outcomes, shape (n, g + 2, losing levels, gaining levels)."""
    n, g = where.shape
    loses = tables.rival_loses[where[:, losing]]
    gains = tables.rival_gains[where].transpose(0, 2, 1)
    # Outcomes: one class of each level that stays, the one that loses, the one that gains.
    factors = np.empty((n, g + 1, *loses.shape[1:]))
    np.multiply(integrands[:, :, np.newaxis, :], loses[:, np.newaxis], out=factors[:, :g])
    np.multiply(integrands[:, losing], tables.winner_loses[where[:, losing]], out=factors[:, g])
    after = np.empty((n, g + 2, loses.shape[1], g))
    if factors[0].size * g <= _SMALL_PRODUCT:
        after[:, :-1] = (factors.reshape(n, -1, factors.shape[-1]) @ gains).reshape(n, g + 1, -1, g)
    else:
        np.matmul(factors, gains[:, np.newaxis], out=after[:, :-1])
    won = (tables.winner_gains[where] * integrands).transpose(0, 2, 1)
    np.matmul(loses, won, out=after[:, -1])
    return after


def _paired(
    log_p: FloatArray,
    log_ratio: FloatArray,
    sizes: FloatArray,
    rows: IntArray,
    losers: IntArray,
    gainers: IntArray,
) -> Pairs:
    """Merge the classes of a level that did not move; the two that did are outcomes g and g + 1."""
    g = sizes.shape[1]
    members = np.arange(g)[:, np.newaxis]
    staying = sizes[rows].T - (members == losers) - (members == gainers)
    mass = np.full(log_ratio.shape, NEVER)
    np.log(staying, out=mass[:g], where=staying > 0.0)
    mass[:g] = np.where(staying > 0.0, mass[:g] + log_p[rows].T, NEVER)
    mass[g] = log_p[rows, losers]
    mass[g + 1] = log_p[rows, gainers]
    log_ratio[:g][staying <= 0.0] = 0.0
    return Pairs(rows, mass, log_ratio)


def _new_tops(
    counts: FloatArray,
    sizes: FloatArray,
    weight: float,
    rows: IntArray,
    losers: IntArray,
    gainers: IntArray,
) -> FloatArray:
    first = counts[rows, 0]
    if counts.shape[1] > 1:
        dethroned = (losers == 0) & (sizes[rows, 0] == 1.0)
        first = np.where(dethroned, np.maximum(counts[rows, 1], first - weight), first)
    tops: FloatArray = np.maximum(first, counts[rows, gainers] + weight)
    return tops


def one_by_one(rows: FloatArray, sigma: float, weight: float, teachers: int) -> Neighbours:
    """Return all moves of up to `teachers` teachers of the given weight.

    Args:
        rows: tallies with counts in descending order, shape (n, classes).
        sigma: standard deviation of the noise.
        weight: the weight of each teacher.
        teachers: the number of teachers that may move, each independently.
    """
    counts, owners = [], []
    for number, (row, ranks) in enumerate(zip(rows, level_of_class(rows), strict=True)):
        moves = _single_moves(ranks) if teachers == 1 else split_moves(row.size, teachers)
        after = row + weight * _different(moves[_possible(row, weight, moves)], ranks)
        counts.append(after)
        owners.append(np.full(len(after), number))
    neighbours = np.maximum(np.concatenate(counts), 0.0)
    index = np.concatenate(owners)
    log_p = log_law(rows, sigma)[index]
    pairs = Pairs(index, log_p.T, (log_law(neighbours, sigma) - log_p).T)
    return Neighbours(pairs, neighbours.max(axis=1))


def _single_moves(ranks: IntArray) -> IntArray:
    """Return one move for each pair of levels: from its first class, to its last."""
    firsts = np.flatnonzero(np.diff(ranks, prepend=-1))
    lasts = np.append(firsts[1:], ranks.size) - 1
    losers, gainers = (names.ravel() for names in np.meshgrid(firsts, lasts, indexing="ij"))
    losers, gainers = losers[losers != gainers], gainers[losers != gainers]
    moves = np.zeros((losers.size, ranks.size), dtype=np.int64)
    moves[np.arange(losers.size), losers] = -1
    moves[np.arange(losers.size), gainers] = 1
    return moves


def _possible(row: FloatArray, weight: float, moves: IntArray) -> BoolArray:
    """Return which moves take teachers only from classes that hold them."""
    possible: BoolArray = np.all(holders(row, -np.minimum(moves, 0) * weight), axis=1)
    return possible


def _different(moves: IntArray, ranks: IntArray) -> IntArray:
    """Drop moves that differ only by renaming classes with equal counts."""
    span = 2 * int(np.abs(moves).max(initial=0)) + 1
    return np.unique(np.sort(ranks * span + moves, axis=1) - ranks * span, axis=0)

"""Costs of Powerset voting: a ballot is a set of labels; the largest noisy count wins.

With k labels there are 2^k sets (fewer when a ballot may name at most τ labels), and noise N(0, σ²)
is added to the count of *every* allowed set, including those without votes; the costs here assume
that. An argmax over the observed sets alone has no finite cost: a set that is observed only because
of one teacher's vote can win with that teacher and cannot win without.

The sets without votes are exchangeable, so none of them is enumerated: `law` integrates with their
number (`crowd`), and drawing the winner takes one number for all of them, the largest of their
noises: `unobserved_maximum_quantile`.

Data-dependent costs are upper bounds, at most true · (1 + 1e-9) + 1e-11, and private: see `exact`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri_exp

from ballotine.errors import DataError, ParameterError
from ballotine.privacy import exact, tight
from ballotine.privacy._validate import (
    as_counts,
    as_nonnegative,
    as_orders,
    as_positive,
    as_sensitivity,
    as_sigma,
)
from ballotine.privacy.exact.divergence import NEVER
from ballotine.privacy.exact.neighbours import LawTables, holders, on_one_grid, possible_moves
from ballotine.privacy.exact.search import Pairs, worst_costs
from ballotine.privacy.exact.tallies import Levels, distinct, level_of_class, levels
from ballotine.privacy.powerset.crowd import (
    MAX_NODES,
    SMALLEST_CROWD,
    grid_for,
    log_law_of_levels,
    with_crowd,
)
from ballotine.types import FloatArray

_MAX_LABELS = 500
_WIDEST = 1e6
_LARGEST_LOG_RATIO = 200.0
_BLOCK = 1 << 16
_CELLS = 1 << 18


def allowed_subsets(labels: int, tau: int | None = None) -> int:
    """Return how many sets of labels a ballot may name.

    Args:
        labels: k, the number of labels.
        tau: the largest number of labels in a set; None: no limit.
    """
    number = as_positive(labels, "labels")
    if not number.is_integer() or number > _MAX_LABELS:
        raise ParameterError(f"labels must be a whole number from 1 to {_MAX_LABELS}")
    if tau is None:
        return 1 << int(number)
    most = as_nonnegative(tau, "tau")
    if not most.is_integer():
        raise ParameterError("tau must be a whole number of labels")
    return sum(math.comb(int(number), size) for size in range(int(min(most, number)) + 1))


def cost(
    orders: npt.ArrayLike, sigma: float, sensitivity: float = 1.0, allowed: int | None = None
) -> FloatArray:
    """Return the data-independent cost of one answer: that of an argmax over the allowed sets.

    Limiting the sets does not lower it (one vote still moves two counts), unless only two remain.

    Args:
        orders: Rényi orders above 1, shape (m,).
        sigma: standard deviation of the noise on every allowed set.
        sensitivity: the weight of one teacher.
        allowed: the number of allowed sets, if known.

    Returns:
        The three-cell bound of `tight.gnmax`, never above the published α s²/σ², shape (m,).
    """
    classes = None if allowed is None else _as_allowed(allowed)
    return tight.gnmax(orders, sigma, sensitivity, classes)


def law(counts: npt.ArrayLike, allowed: int, sigma: float) -> FloatArray:
    """Return the log-probability that each set wins.

    Each probability has a relative error below 1e-9, however small it is.

    Args:
        counts: votes of the sets that are listed for each query, shape (queries, listed). Sets
            with votes must be listed; a zero is a set without votes, so rows can be padded.
        allowed: the number of allowed sets, listed or not.
        sigma: standard deviation of the noise on every allowed set.

    Returns:
        Natural logarithms, shape (queries, listed + 1). The last column is the total of all sets
        that are not listed; each of them has an equal share of it.
    """
    tallies, number, noise = _as_tallies(counts, allowed, sigma, 0.0)
    unlisted = number - tallies.shape[1]
    if _is_small(tallies, number):
        full = np.pad(tallies, ((0, 0), (0, unlisted)))
        logs = exact.gnmax_law(full, noise)
        rest = logs[:, -1:] + math.log(unlisted) if unlisted else np.full((len(logs), 1), -np.inf)
        return np.hstack((logs[:, : tallies.shape[1]], rest))
    padded = np.pad(tallies, ((0, 0), (0, 1)))
    rows, inverse = distinct(padded)
    laws = np.empty_like(rows)
    for group in levels(rows):
        by_level = log_law_of_levels(with_crowd(group, number, rows.shape[1]), noise)
        chosen = group.index
        laws[chosen] = np.take_along_axis(by_level, level_of_class(rows[chosen]), axis=1)
    result = np.empty_like(padded)
    np.put_along_axis(result, np.argsort(-padded, axis=1, kind="stable"), laws[inverse], axis=1)
    result[:, -1] += math.log(unlisted)
    return result


def data_dependent(
    counts: npt.ArrayLike,
    allowed: int,
    orders: npt.ArrayLike,
    sigma: float,
    sensitivity: float = 1.0,
    *,
    total: bool = False,
) -> FloatArray:
    """Return the exact two-sided cost of each answer, over all moves of one teacher's vote.

    The vote may go from any set that has it to any allowed set: another one with votes, or one
    without; and a set may lose its only vote.

    Args:
        counts: votes of the sets that are listed for each query, shape (queries, listed), as for
            `law`.
        allowed: the number of allowed sets, listed or not.
        orders: Rényi orders above 1, shape (m,).
        sigma: standard deviation of the noise on every allowed set.
        sensitivity: the weight of one teacher.
        total: return the sum over the queries instead of one cost per query.

    Returns:
        Shape (queries, m), or (m,) for the total.

    Raises:
        DataError: when a tally is unusable or holds no teacher of this weight.
    """
    weight, grid = as_sensitivity(sensitivity), as_orders(orders)
    tallies, number, noise = _as_tallies(counts, allowed, sigma, weight)
    if not holders(tallies.max(axis=1), weight).all():
        raise DataError("a tally has no set with a count of at least the sensitivity")
    if _is_small(tallies, number):
        full = np.pad(tallies, ((0, 0), (0, number - tallies.shape[1])))
        return exact.gnmax(full, grid, noise, weight, total=total)
    result = np.zeros((1 if total else len(tallies), grid.size))
    for start in range(0, len(tallies), _BLOCK):
        rows, inverse = distinct(np.pad(tallies[start : start + _BLOCK], ((0, 0), (0, 1))))
        costs = _costs(rows, number, grid, noise, weight)
        if total:
            result += np.bincount(inverse, minlength=len(costs)) @ costs
        else:
            result[start : start + _BLOCK] = costs[inverse]
    return result[0] if total else result


def unobserved_maximum_quantile(
    probability: npt.ArrayLike, unobserved: float, sigma: float
) -> FloatArray:
    """Return quantiles of the largest of M independent noises N(0, σ²): σ Φ⁻¹(u^(1/M)).

    A uniform u gives one exact draw of that maximum. It keeps its digits for M up to 2^500.

    Args:
        probability: u, strictly between 0 and 1, any shape.
        unobserved: M, the number of noises.
        sigma: standard deviation of each.

    Returns:
        The quantiles, in the shape of `probability`.
    """
    number, noise = as_positive(unobserved, "unobserved"), as_sigma(sigma)
    u = np.asarray(probability, dtype=np.float64)
    if not np.all((u > 0.0) & (u < 1.0)):
        raise ParameterError("probability must lie strictly between 0 and 1")
    quantile: FloatArray = np.asarray(noise * ndtri_exp(np.log(u) / number))
    return quantile


def _as_allowed(allowed: int) -> int:
    if isinstance(allowed, bool) or not isinstance(allowed, int | np.integer):
        raise ParameterError("allowed must be a whole number; compute it with allowed_subsets")
    if not 1 <= int(allowed) <= 1 << _MAX_LABELS:
        raise ParameterError(f"allowed must lie between 1 and 2^{_MAX_LABELS}")
    return int(allowed)


def _as_tallies(
    counts: npt.ArrayLike, allowed: int, sigma: float, weight: float
) -> tuple[FloatArray, int, float]:
    tallies, number, noise = as_counts(counts), _as_allowed(allowed), as_sigma(sigma)
    if tallies.shape[1] > number:
        raise DataError("more sets are listed than are allowed")
    if max(float(tallies.max()), weight) > _WIDEST * noise:
        raise ParameterError(
            "sigma is too small relative to the counts: the probabilities of the other sets "
            "exceed the range of double precision"
        )
    return tallies, number, noise


def _is_small(tallies: FloatArray, allowed: int) -> bool:
    """Return whether the sets without votes are few enough to be listed."""
    return bool(allowed - tallies.shape[1] < SMALLEST_CROWD)


def _costs(
    rows: FloatArray, allowed: int, orders: FloatArray, sigma: float, weight: float
) -> FloatArray:
    """Return the cost of each distinct tally, shape (rows, m)."""
    costs = np.zeros((len(rows), orders.size))
    if weight == 0.0:
        return costs
    for group in levels(rows):
        for chunk in _chunks(with_crowd(group, allowed, rows.shape[1]), sigma, weight):
            pairs = _pairs(chunk, sigma, weight)
            costs[chunk.index] = worst_costs(pairs, chunk.index.size, orders)
    return costs


def _chunks(tallies: Levels, sigma: float, weight: float) -> Iterator[Levels]:
    """Split tallies into chunks that fit into memory, with similar largest counts."""
    tops, g = tallies.counts[:, 0], tallies.counts.shape[1]
    ranks = np.argsort(tops, kind="stable")
    start = 0
    while start < ranks.size:
        widest = (tops[ranks[start : start + 1]] + weight) / sigma
        nodes = min(grid_for(widest, tallies.sizes).nodes.size, MAX_NODES)
        rows = max(1, _CELLS // (g * (g + 1) * nodes))
        yield tallies.take(ranks[start : start + rows])
        start += rows


def _pairs(tallies: Levels, sigma: float, weight: float) -> Pairs:
    """Return the laws of tallies paired with those of all their neighbours."""
    shift, top = weight / sigma, float(tallies.counts.max()) / sigma
    grid = grid_for(np.array([top + shift]), tallies.sizes)
    ratios = shift * (top + 20.0 + 2.0 * shift)
    if grid.nodes.size > MAX_NODES or ratios > _LARGEST_LOG_RATIO:
        return _one_by_one(tallies, sigma, weight)
    gaps = -tallies.counts / sigma
    tables = LawTables.build(np.unique(gaps), grid, shift)
    return on_one_grid(tallies, tables, gaps, weight, slice(0, gaps.shape[1])).pairs


def _one_by_one(tallies: Levels, sigma: float, weight: float) -> Pairs:
    """Compute the law of each neighbour separately: the two sets that moved are new levels."""
    counts, sizes = tallies.counts, tallies.sizes
    g = counts.shape[1]
    rows, losers, gainers = np.nonzero(possible_moves(counts, sizes, weight))
    moved = np.stack((counts[rows, losers] - weight, counts[rows, gainers] + weight), axis=1)
    members = np.arange(g)
    staying = sizes[rows] - (members == losers[:, np.newaxis]) - (members == gainers[:, np.newaxis])
    # The laws expect the crowd as the last level.
    after = Levels(
        rows,
        np.hstack((np.maximum(moved, 0.0), counts[rows])),
        np.hstack((np.ones_like(moved), staying)),
    )
    log_q = log_law_of_levels(after, sigma)
    log_p = log_law_of_levels(tallies, sigma)
    before = np.hstack((log_p[rows, losers, None], log_p[rows, gainers, None], log_p[rows]))
    present = after.sizes > 0.0
    log_ratio = np.where(present, log_q - before, 0.0)
    mass = np.where(present, before + np.log(np.where(present, after.sizes, 1.0)), NEVER)
    return Pairs(rows, mass.T, log_ratio.T)

"""Exact costs: the Rényi divergence of the released answer itself, not a bound on it.

A noisy argmax over k classes has k outcomes, and each probability is a one-dimensional integral.
The divergence between a tally and a neighbour is therefore computed, in both directions, for
*every* neighbour: one teacher of weight s (the `sensitivity`) moves from a class that holds at
least s to another one. The largest of these is the data-dependent cost of the query.

Results are upper bounds, at most true · (1 + 1e-9) + 1e-11: the quadrature's error is proven in
`laws`, its propagation in `divergence`.

The costs depend on private tallies, so they are private themselves. They may be summed over
queries that were fixed before any answer was seen; for queries chosen after seeing earlier
answers only data-independent costs compose.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import log_ndtr

from ballotine.errors import DataError, ParameterError
from ballotine.privacy._validate import (
    as_counts,
    as_orders,
    as_positive,
    as_real,
    as_sensitivity,
    as_sigma,
    as_tops,
)
from ballotine.privacy.exact.divergence import NEVER
from ballotine.privacy.exact.laws import log_law, log_ndtr_change
from ballotine.privacy.exact.moves import split_moves
from ballotine.privacy.exact.neighbours import Neighbours
from ballotine.privacy.exact.pricing import Check, Pricing
from ballotine.privacy.exact.search import Pairs, worst_costs
from ballotine.types import FloatArray, IntArray

_WIDEST = 1e6
_LAW_TOLERANCE = 1e-9


def gnmax_law(counts: npt.ArrayLike, sigma: float) -> FloatArray:
    """Return the log-probability that each class wins argmax(counts + N(0, σ²)).

    Each probability has a relative error below 1e-9, however small it is (down to about
    e^-1000000, where float64 logarithms become too coarse).

    Args:
        counts: tallies, shape (queries, classes); counts may be fractional.
        sigma: standard deviation of the noise on each class.

    Returns:
        Natural logarithms, shape (queries, classes).
    """
    tallies = as_counts(counts)
    noise = as_sigma(sigma)
    _check_range(tallies, noise, 0.0)
    return log_law(tallies, noise)


def gnmax(
    counts: npt.ArrayLike,
    orders: npt.ArrayLike,
    sigma: float,
    sensitivity: float = 1.0,
    teachers: int = 1,
    *,
    total: bool = False,
) -> FloatArray:
    """Return the exact two-sided cost of GNMax on each tally.

    Args:
        counts: tallies, shape (queries, classes); counts may be fractional.
        orders: Rényi orders above 1, shape (m,).
        sigma: standard deviation of the noise on each class.
        sensitivity: the weight of one teacher.
        teachers: how many teachers saw one record; each may change its vote independently.
        total: return the sum over the queries instead of one cost per query.

    Returns:
        Shape (queries, m), or (m,) for the total.

    Raises:
        DataError: when a tally is unusable or holds no teacher of this weight.
        ParameterError: when a parameter is outside its domain, or `teachers` can move in too many
            ways to enumerate.
    """
    pricing = _pricing(counts, orders, sigma, sensitivity, teachers)
    return pricing.total() if total else pricing.each()


def confident_gnmax(
    counts: npt.ArrayLike,
    orders: npt.ArrayLike,
    sigma: float,
    threshold: float,
    sigma_threshold: float,
    sensitivity: float = 1.0,
    teachers: int = 1,
    *,
    total: bool = False,
) -> FloatArray:
    """Return the exact two-sided cost of Confident-GNMax as a whole.

    Its law over {abstain, 1, …, k} is (1 − p, p P_1, …, p P_k), where P is the law of GNMax and p
    the probability Φ((max count − T)/σ1) of passing the check. Nothing is charged twice, and no
    answer needs to be known.

    Args:
        counts: tallies, shape (queries, classes); counts may be fractional.
        orders: Rényi orders above 1, shape (m,).
        sigma: standard deviation of the noise on each class.
        threshold: T, the threshold for the noisy largest count.
        sigma_threshold: σ1, standard deviation of the noise of the check.
        sensitivity: the weight of one teacher.
        teachers: how many teachers saw one record; each may change its vote independently.
        total: return the sum over the queries instead of one cost per query.

    Returns:
        Shape (queries, m), or (m,) for the total.

    Raises:
        DataError: when a tally is unusable or holds no teacher of this weight.
        ParameterError: when a parameter is outside its domain, or `teachers` can move in too many
            ways to enumerate.
    """
    bar, noise = as_real(threshold, "threshold"), as_sigma(sigma_threshold, "sigma_threshold")
    check = _checked(bar, noise)
    pricing = _pricing(counts, orders, sigma, sensitivity, teachers, check)
    return pricing.total() if total else pricing.each()


def threshold(
    top: npt.ArrayLike,
    threshold: float,
    orders: npt.ArrayLike,
    sigma: float,
    sensitivity: float = 1.0,
) -> FloatArray:
    """Return the exact two-sided cost of one noisy threshold check per query.

    The bit "top + N(0, σ²) ≥ T" is compared with that of a largest count `sensitivity` higher and
    lower; divergence grows with the distance, so smaller changes cost less.

    Args:
        top: the largest count of each query, shape (queries,).
        threshold: T, the threshold for the noisy count.
        orders: Rényi orders above 1, shape (m,).
        sigma: standard deviation of the noise.
        sensitivity: how far one record can move the largest count.

    Returns:
        Shape (queries, m).
    """
    tops, inverse = np.unique(as_tops(top), return_inverse=True)
    grid, noise = as_orders(orders), as_sigma(sigma)
    shift = as_sensitivity(sensitivity) / noise
    position = (tops - as_real(threshold, "threshold")) / noise
    if shift == 0.0:
        return np.zeros((inverse.size, grid.size))
    rows = np.repeat(np.arange(tops.size), 2)
    pairs = _bits(rows, position[rows], np.tile([shift, -shift], tops.size))
    return worst_costs(pairs, tops.size, grid)[inverse.reshape(-1)]


def cost_of_laws(log_p: npt.ArrayLike, log_q: npt.ArrayLike, orders: npt.ArrayLike) -> FloatArray:
    """Return the larger of D_α(p‖q) and D_α(q‖p) for laws given by their log-probabilities.

    Args:
        log_p: shape (queries, outcomes), accurate to about 1e-13; -inf means impossible.
        log_q: the same for the neighbouring laws.
        orders: Rényi orders above 1, shape (m,).

    Returns:
        Upper bounds, shape (queries, m): infinite where only one law makes an outcome impossible.
    """
    before, after = _as_log_law(log_p), _as_log_law(log_q)
    if before.shape != after.shape:
        raise DataError("log_p and log_q must have the same shape (queries, outcomes)")
    never, never_after = before == -np.inf, after == -np.inf
    ratio = np.zeros_like(before)
    np.subtract(after, before, out=ratio, where=~(never | never_after))
    pairs = Pairs(np.arange(len(before)), np.where(never, NEVER, before).T, ratio.T)
    costs = worst_costs(pairs, len(before), as_orders(orders))
    costs[np.any(never != never_after, axis=1)] = np.inf
    return costs


def _checked(bar: float, noise: float) -> Check:
    """Return a function that prepends the outcome "abstain" to pairs of laws of GNMax."""

    def extend(tops: FloatArray, neighbours: Neighbours) -> Pairs:
        pairs = neighbours.pairs
        before = tops[pairs.rows]
        bit = _bits(pairs.rows, (before - bar) / noise, (neighbours.tops - before) / noise)
        log_p = np.where(pairs.log_p == NEVER, NEVER, pairs.log_p + bit.log_p[1])
        log_ratio = np.where(pairs.log_p == NEVER, 0.0, pairs.log_ratio + bit.log_ratio[1])
        return Pairs(
            pairs.rows,
            np.concatenate((bit.log_p[:1], log_p)),
            np.concatenate((bit.log_ratio[:1], log_ratio)),
        )

    return extend


def _bits(rows: IntArray, position: FloatArray, shift: FloatArray) -> Pairs:
    """Return pairs of laws over {fail, pass} of a check whose position shifts."""
    return Pairs(
        rows,
        np.stack((log_ndtr(-position), log_ndtr(position))),
        np.stack((log_ndtr_change(-position, -shift), log_ndtr_change(position, shift))),
    )


def _pricing(
    counts: npt.ArrayLike,
    orders: npt.ArrayLike,
    sigma: float,
    sensitivity: float,
    teachers: int,
    check: Check | None = None,
) -> Pricing:
    tallies, noise, weight = as_counts(counts), as_sigma(sigma), as_sensitivity(sensitivity)
    moving = as_positive(teachers, "teachers")
    if not moving.is_integer():
        raise ParameterError("teachers must be a whole number of at least 1")
    if moving > 1:
        split_moves(tallies.shape[1], int(moving))
    _check_range(tallies, noise, weight)
    return Pricing(tallies, as_orders(orders), noise, weight, int(moving), check)


def _check_range(counts: FloatArray, sigma: float, weight: float) -> None:
    if max(float(counts.max()), weight) > _WIDEST * sigma:
        raise ParameterError(
            "sigma is too small relative to the counts: the probabilities of the other classes "
            "exceed the range of double precision"
        )


def _as_log_law(values: npt.ArrayLike) -> FloatArray:
    try:
        law = np.atleast_2d(np.asarray(values, dtype=np.float64))
    except (TypeError, ValueError) as error:
        raise DataError("log-probabilities must be numbers, one row per query") from error
    if law.ndim != 2 or law.size == 0:
        raise DataError("log-probabilities must be a non-empty table (queries, outcomes)")
    if not np.all(law <= _LAW_TOLERANCE) or not np.allclose(
        np.exp(law).sum(axis=1), 1.0, rtol=0.0, atol=_LAW_TOLERANCE
    ):
        raise DataError("the probabilities in every row of log-probabilities must add up to 1")
    return law

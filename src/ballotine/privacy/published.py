"""Bounds from the literature, with all the conditions that they need.

Sources: "Scalable PATE" is Papernot et al. 2018 (Theorem 6, Propositions 7, 8 and 10); "PATE" is
Papernot et al. 2017 (Theorems 2 and 3, Lemma 4), whose bounds TTAC restates as equations 10
and 11. The sibling modules `tight` and `exact` give smaller costs; these bounds serve for
comparison and as the fallback.

The data-dependent bounds start from q, a bound on the probability that the answer is not the top
class, and bound D(M(D)‖M(D')) only. With `two_sided`, q is the largest among the tally and all its
neighbours, which bounds both directions: docs/proofs/two-sided.md. That holds for one teacher of
weight s and for s teachers whose votes move independently.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.special import log_ndtr

from ballotine.privacy._validate import (
    as_counts,
    as_nonnegative,
    as_orders,
    as_positive,
    as_real,
    as_sensitivity,
    as_sigma,
    as_tops,
)
from ballotine.types import FloatArray

_LogTail = Callable[[FloatArray], FloatArray]
# A cost that underflows is still not zero.
_FLOOR = 1e-300
# Theorem 6's conditions imply q ≤ 1/e, and equation 11's imply q < 1/2: at 1/2 neither applies.
_TIE = float(np.log(0.5))
# Rows processed at once: a million tallies at a hundred orders must fit into memory.
_CHUNK = 8192


def gnmax(orders: npt.ArrayLike, sigma: float, sensitivity: float = 1.0) -> FloatArray:
    """Return the data-independent cost α s²/σ² of GNMax (Scalable PATE, Prop. 8).

    Args:
        orders: Rényi orders above 1, shape (m,).
        sigma: standard deviation of the noise on each class.
        sensitivity: the weight s of one teacher, or the number of teachers that saw one record.

    Returns:
        The cost at each order, shape (m,).
    """
    grid, weight, noise = as_orders(orders), as_sensitivity(sensitivity), as_sigma(sigma)
    if weight == 0.0:
        return np.zeros(grid.size)
    ratio = weight / noise
    return np.maximum(grid * (ratio * ratio), _FLOOR)


def threshold(orders: npt.ArrayLike, sigma: float, sensitivity: float = 1.0) -> FloatArray:
    """Return the data-independent cost α s²/(2σ²) of one noisy threshold check.

    Args:
        orders: Rényi orders above 1, shape (m,).
        sigma: standard deviation of the noise on the largest count.
        sensitivity: how far one record can move the largest count.

    Returns:
        The cost at each order, shape (m,).
    """
    cost: FloatArray = gnmax(orders, sigma, sensitivity) / 2.0
    return cost


def gnmax_data_dependent(
    counts: npt.ArrayLike,
    orders: npt.ArrayLike,
    sigma: float,
    sensitivity: float = 1.0,
    two_sided: bool = True,
) -> FloatArray:
    """Return the data-dependent cost of each GNMax answer (Scalable PATE, Theorem 6).

    The result depends on private votes and is itself private.

    Args:
        counts: tallies, shape (queries, classes); fractions (weights) are allowed.
        orders: Rényi orders above 1, shape (m,).
        sigma: standard deviation of the noise on each class.
        sensitivity: the weight s of one teacher, or the number of teachers that saw one record.
        two_sided: bound both directions (the default; use it for guarantees); False gives the
            published one-directional bound, for comparison.

    Returns:
        The cost of each query at each order, shape (queries, m); never above `gnmax`.
    """
    tallies, grid = as_counts(counts), as_orders(orders)
    noise, weight = as_sigma(sigma), as_sensitivity(sensitivity)
    if weight == 0.0 or tallies.shape[1] == 1:
        return np.zeros((tallies.shape[0], grid.size))

    def log_tail(gaps: FloatArray) -> FloatArray:
        # Prop. 7: the difference of two noisy counts has standard deviation σ√2.
        tail: FloatArray = log_ndtr(-gaps / (np.sqrt(2.0) * noise))
        return tail

    fallback = gnmax(grid, noise, weight)
    log_q = _log_error(tallies, log_tail, weight if two_sided else 0.0)
    return _cost_by_error(log_q, lambda log_q: _theorem6(log_q, grid, noise / weight, fallback))


def threshold_data_dependent(
    top: npt.ArrayLike,
    threshold: float,
    orders: npt.ArrayLike,
    sigma: float,
    sensitivity: float = 1.0,
    *,
    two_sided: bool = True,
) -> FloatArray:
    """Return the data-dependent cost of each noisy threshold check (Scalable PATE, Theorem 6).

    The likelier of "passed" and "not passed" is the theorem's likely outcome. The result depends
    on private votes and is itself private.

    Args:
        top: the largest count of each query, shape (queries,).
        threshold: the count that the noisy top must reach.
        orders: Rényi orders above 1, shape (m,).
        sigma: standard deviation of the noise on the largest count.
        sensitivity: how far one record can move the largest count.
        two_sided: bound both directions (the default); False is for comparison only.

    Returns:
        The cost of each query at each order, shape (queries, m).
    """
    tops, level, grid = as_tops(top), as_real(threshold, "threshold"), as_orders(orders)
    noise, weight = as_sigma(sigma), as_sensitivity(sensitivity)
    if weight == 0.0:
        return np.zeros((tops.size, grid.size))
    # A neighbour's top count is within the sensitivity of this one. The error probability is
    # largest for the neighbour closest to the threshold.
    distance = np.abs(tops - level)
    if two_sided:
        distance = np.maximum(distance - weight, 0.0)
    # α s²/(2σ²) is GNMax's cost at noise σ√2, so Theorem 6 applies with that.
    scale = float(np.sqrt(2.0)) * noise / weight
    fallback = gnmax(grid, noise, weight) / 2.0
    return _cost_by_error(
        log_ndtr(-distance / noise), lambda log_q: _theorem6(log_q, grid, scale, fallback)
    )


def pure(orders: npt.ArrayLike, epsilon: float) -> FloatArray:
    """Return the largest Rényi cost of any release that is (ε, 0)-private.

    Randomised response dominates every such release (Kairouz, Oh and Viswanath 2015, "The
    Composition Theorem for Differential Privacy"); its divergence has a closed form (Mironov
    2017, Proposition 5). It is below ε and below the αε²/2 of the moments accountant
    (Papernot et al. 2017, Theorem 2).

    Args:
        orders: Rényi orders above 1, shape (m,).
        epsilon: ε of the pure guarantee, at least 0.
    """
    grid = as_orders(orders)
    spent = as_nonnegative(epsilon, "epsilon")
    betas = grid - 1.0
    log_moment = np.logaddexp(grid * spent, -betas * spent) - np.logaddexp(0.0, spent)
    # Each logarithm may be off by an ulp of its size, and their difference may nearly cancel.
    rounding = 4.0 * np.finfo(np.float64).eps * (1.0 + grid * spent)
    response = (log_moment + rounding) / betas
    cost: FloatArray = np.minimum(np.minimum(response, grid * spent**2 / 2.0), spent)
    return cost


def lnmax(
    counts: npt.ArrayLike, orders: npt.ArrayLike, gamma: float, *, two_sided: bool = True
) -> FloatArray:
    """Return the cost of each LNMax answer: the smaller of equations 10 and 11 of TTAC.

    The noise is Laplace of scale 1/γ on every class, and one vote changes. Moment l in the
    literature is order l + 1 here, and the Rényi cost is the moment divided by l. The result is
    private.

    Args:
        counts: tallies of unweighted votes, shape (queries, classes).
        orders: Rényi orders above 1, shape (m,).
        gamma: inverse scale γ of the noise.
        two_sided: bound both directions (the default); False is for comparison only.

    Returns:
        The cost of each query at each order, shape (queries, m).
    """
    tallies, grid, rate = as_counts(counts), as_orders(orders), as_positive(gamma, "gamma")
    if tallies.shape[1] == 1:
        return np.zeros((tallies.shape[0], grid.size))

    def log_tail(gaps: FloatArray) -> FloatArray:
        # PATE, Lemma 4: Pr[Lap − Lap' ≥ gap] = (2 + γ gap)/(4 e^(γ gap)).
        tail: FloatArray = np.log((2.0 + rate * gaps) / 4.0) - rate * gaps
        return tail

    log_q = _log_error(tallies, log_tail, 1.0 if two_sided else 0.0)
    return _cost_by_error(log_q, lambda log_q: _moments(log_q, grid, rate))


def _cost_by_error(log_q: FloatArray, cost: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """Return the cost of every query, computing equal values of q once."""
    distinct, place = np.unique(log_q, return_inverse=True)
    table = np.concatenate(
        [cost(distinct[at : at + _CHUNK]) for at in range(0, distinct.size, _CHUNK)]
    )
    result: FloatArray = np.maximum(table, _FLOOR)[place]
    return result


def _log_error(counts: FloatArray, log_tail: _LogTail, reach: float) -> FloatArray:
    """Return ln q for every tally: a bound on the probability that the top class loses.

    With a reach above 0 the bound holds for the tally and all its neighbours, in which votes of
    this total weight have moved between classes, together or independently.
    """
    chunks = [counts[at : at + _CHUNK] for at in range(0, counts.shape[0], _CHUNK)]
    return np.concatenate([_worst_error(chunk, log_tail, reach) for chunk in chunks])


def _worst_error(counts: FloatArray, log_tail: _LogTail, reach: float) -> FloatArray:
    if reach == 0.0:
        return _union(counts, log_tail)
    ranked = -np.sort(-counts, axis=1)
    # While the top class stays on top, the worst move is top → runner-up, as the tails are convex.
    # Otherwise the moved votes can produce a tie, for which no data-dependent bound holds.
    clear = ranked[:, 0] - ranked[:, 1] >= 2.0 * reach
    moved = ranked[clear]
    moved[:, 0] -= reach
    moved[:, 1] += reach
    log_q = np.full(counts.shape[0], _TIE)
    log_q[clear] = _union(moved, log_tail)
    return log_q


def _union(counts: FloatArray, log_tail: _LogTail) -> FloatArray:
    """Return the log of the union bound over the classes below the top, at most (k − 1)/k.

    The cap holds because the noise is the same on every class, so no class is likelier to win
    than the top.
    """
    gaps = np.sort(counts.max(axis=1, keepdims=True) - counts, axis=1)[:, 1:]
    tails = log_tail(gaps)
    largest = tails[:, 0]
    union = largest + np.log(np.exp(tails - largest[:, np.newaxis]).sum(axis=1))
    capped: FloatArray = np.minimum(union, np.log1p(-1.0 / counts.shape[1]))
    return capped


def _theorem6(
    log_q: FloatArray, orders: FloatArray, scale: float, fallback: FloatArray
) -> FloatArray:
    """Return Theorem 6 with the orders of Prop. 10, or the fallback where a condition fails.

    Args:
        log_q: ln q, shape (rows,).
        orders: shape (m,).
        scale: σ/s; the theorem's ε1, ε2 are μ1/scale² and μ2/scale²; q was computed from σ itself.
        fallback: the data-independent cost α/scale², shape (m,).
    """
    mu2 = scale * np.sqrt(-log_q)
    mu1 = mu2 + 1.0
    eps1, eps2 = mu1 / (scale * scale), mu2 / (scale * scale)
    with np.errstate(invalid="ignore", divide="ignore"):
        # μ1/(μ1 − 1) · μ2/(μ2 − 1) is μ1/(μ2 − 1), for μ1 − 1 = μ2.
        log_limit = (mu2 - 1.0) * eps2 - mu2 * np.log(mu1 / (mu2 - 1.0))
    usable = (mu2 > 1.0) & (log_q <= log_limit) & (log_q + eps2 < 0.0)
    result = np.tile(fallback, (log_q.size, 1))
    if not usable.any():
        return result
    log_q, mu1, mu2, eps1, eps2 = (v[usable, None] for v in (log_q, mu1, mu2, eps1, eps2))
    log_1mq = np.log1p(-np.exp(log_q))
    log_a = log_1mq - np.log1p(-np.exp((log_q + eps2) * (mu2 - 1.0) / mu2))
    log_b = eps1 - log_q / (mu1 - 1.0)
    beta = orders - 1.0
    bound = np.logaddexp(log_1mq + beta * log_a, log_q + beta * log_b) / beta
    result[usable] = np.where(orders <= mu1, np.minimum(bound, fallback), fallback)
    return result


def _moments(log_q: FloatArray, orders: FloatArray, rate: float) -> FloatArray:
    """Return min(equation 10, equation 11 where its condition holds) as Rényi costs."""
    beta = orders - 1.0
    independent = 2.0 * rate**2 * orders
    # The condition q < (e^(2γ) − 1)/(e^(4γ) − 1), simplified; without it, q e^(2γ) may reach 1.
    usable = log_q < -np.logaddexp(2.0 * rate, 0.0)
    result = np.tile(independent, (log_q.size, 1))
    q = log_q[usable, None]
    log_1mq = np.log1p(-np.exp(q))
    log_a = log_1mq - np.log1p(-np.exp(q + 2.0 * rate))
    moment = np.logaddexp(log_1mq + beta * log_a, q + 2.0 * rate * beta)
    result[usable] = np.minimum(moment / beta, independent)
    return result

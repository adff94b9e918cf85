"""Envelopes: for each top count, a cost that no tally with this top exceeds.

The exact cost of a query depends on the whole tally, which is private, and the effect of one
changed vote on it is hard to bound. An *envelope* g(t) depends on the largest count t alone and
lies above the exact two-sided cost of every tally with that top. The sum of g over the queries is
a valid cost, and because one teacher moves each top by at most one, `smooth` can release that sum.
With `runner_up` the envelope also depends on the second largest count, and is lower where the
votes against the top are spread.

For tallies with a clear winner the envelope is a few per cent above the largest exact cost; where
no class has half of the votes it approaches the data-independent cost. For two classes it is exact.

Proof: docs/proofs/envelope.md. Envelopes depend on public numbers only.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.special import log_ndtr

from ballotine.errors import ParameterError
from ballotine.privacy import exact, tight
from ballotine.privacy._validate import as_orders, as_positive, as_real, as_sensitivity, as_sigma
from ballotine.privacy.envelope.moves import Moves, MoveTables, Size
from ballotine.privacy.envelope.tables import Bend, share
from ballotine.privacy.smooth.lattice import as_costs, widen
from ballotine.types import FloatArray

# Beyond these limits the tables overflow or lose precision: the data-independent cost is used.
_LARGEST_LOG_MOMENT = 200.0
_SMALLEST_DRIFT = 1e-4
# Added for rounding: relative to the result, and relative to the data-independent excess.
_RELATIVE, _ABSOLUTE = 1e-9, 1e-9


def gnmax(
    teachers: int,
    classes: int,
    order: float,
    sigma: float,
    sensitivity: float = 1.0,
    *,
    runner_up: bool = False,
) -> FloatArray:
    """Return g(0), …, g(n): a GNMax answer on a tally with top t costs at most g(t).

    Args:
        teachers: the public number n of teachers, all of the same weight.
        classes: the public number k of classes.
        order: the Rényi order, above 1.
        sigma: standard deviation of the noise on each class.
        sensitivity: the weight of one teacher; t counts teachers, not weight.
        runner_up: return costs by top and runner-up.

    Returns:
        Shape (n + 1,); tops below n/k do not occur and repeat the first value that does. With
        `runner_up`, shape (n + 1, n // 2 + 1), NaN where no tally has such counts.
    """
    size = Size.of(teachers, classes)
    alpha, noise, weight = _as_order(order), as_sigma(sigma), as_sensitivity(sensitivity)
    if classes == 1:
        raise ParameterError("an envelope needs at least two classes")
    if weight == 0.0:
        return _by_requested_axes(_filled(size, 0.0), runner_up)
    ceiling = float(tight.gnmax([alpha], noise, weight, classes)[0])
    return _by_requested_axes(
        _envelope(size, alpha, noise / weight, ceiling, ceiling, None), runner_up
    )


def confident_gnmax(
    teachers: int,
    classes: int,
    order: float,
    sigma: float,
    threshold: float,
    sigma_threshold: float,
    *,
    runner_up: bool = False,
) -> FloatArray:
    """Return g(0), …, g(n) for Confident-GNMax as a whole, whether it answers or abstains.

    Args:
        teachers: the public number n of teachers, one vote each.
        classes: the public number k of classes.
        order: the Rényi order, above 1.
        sigma: standard deviation of the noise on each class.
        threshold: T, the threshold for the noisy largest count.
        sigma_threshold: σ1, standard deviation of the noise of the check.
        runner_up: return costs by top and runner-up.

    Returns:
        As `gnmax`.
    """
    size = Size.of(teachers, classes)
    alpha, noise = _as_order(order), as_sigma(sigma)
    bar, check_noise = as_real(threshold, "threshold"), as_sigma(sigma_threshold, "sigma_threshold")
    if classes == 1:
        raise ParameterError("an envelope needs at least two classes")
    vote = float(tight.gnmax([alpha], noise, 1.0, classes)[0])
    ceiling = vote + float(tight.threshold([alpha], check_noise)[0])
    position = (np.arange(size.teachers + 2.0) - bar) / check_noise
    return _by_requested_axes(_envelope(size, alpha, noise, vote, ceiling, position), runner_up)


def check(teachers: int, order: float, threshold: float, sigma: float) -> FloatArray:
    """Return the exact two-sided cost of the threshold check by top count, shape (n + 1,).

    Args:
        teachers: the public number n of teachers, one vote each.
        order: the Rényi order, above 1.
        threshold: T, the threshold for the noisy largest count.
        sigma: standard deviation of the noise of the check.
    """
    tops = np.arange(Size.of(teachers, 2).teachers + 1)
    return exact.threshold(tops, threshold, [_as_order(order)], sigma)[:, 0]


def shape(g: npt.ArrayLike, rate: float, offset: float = 0.0) -> FloatArray:
    """Return the smallest function above g whose change from one count to the next is limited.

    With G the result, G + offset changes by at most a factor e^rate when a teacher changes its
    vote. `smooth.LogRelease` releases a sum of such values. Choose rate and offset before seeing
    votes.

    Args:
        g: costs by top count, or by top and runner-up (NaN: does not occur).
        rate: largest change of the logarithm per vote, above 0.
        offset: above −min(g); large values make the limit absolute: rate · offset per vote.

    Returns:
        The same shape as g, NaN where g is NaN.
    """
    costs = as_costs(g)
    slope, raised = as_positive(rate, "rate"), costs + as_real(offset, "offset")
    if float(np.nanmin(raised)) <= 0.0:
        raise ParameterError("offset must be greater than minus the smallest cost")
    logs = np.where(np.isnan(raised), -np.inf, np.log(raised))
    # The largest of log g(u) − rate · distance to u: one step of distance at a time.
    while True:
        wider = np.maximum(logs, widen(logs) - slope)
        if np.array_equal(wider, logs):
            break
        logs = wider
    return np.maximum(np.exp(logs) - offset, costs)


def _as_order(order: float) -> float:
    orders = as_orders(order)
    if orders.size != 1:
        raise ParameterError("an envelope takes exactly one order")
    return float(orders[0])


def _filled(size: Size, cost: float) -> FloatArray:
    """Return a table with this cost for every possible top and runner-up."""
    g = np.full((size.teachers + 1, size.teachers // 2 + 1), np.nan)
    for top in size.tops:
        g[top, size.runners(top)] = cost
    return g


@np.errstate(all="ignore")
def _envelope(
    size: Size,
    order: float,
    sigma: float,
    vote_ceiling: float,
    ceiling: float,
    position: FloatArray | None,
) -> FloatArray:
    """Return the envelope by top and runner-up; NaN for impossible pairs."""
    g = _filled(size, ceiling)
    bend = Bend(order, math.sqrt(2.0) / sigma)
    log_moment = 0.5 * order * bend.beta * bend.drift**2
    if log_moment > _LARGEST_LOG_MOMENT or bend.drift < _SMALLEST_DRIFT:
        return g
    most = math.expm1(bend.beta * vote_ceiling)
    tables = MoveTables.of(size, bend, most)
    for top in size.tops:
        runners = size.runners(top)
        worst = np.zeros(runners.size)
        for moves in tables.moves(top):
            whole = np.where(moves.possible, _check_and_argmax(bend, position, moves), 0.0)
            # Overflow means that there is no bound: use the ceiling.
            whole[np.isnan(whole)] = np.inf
            worst = np.maximum(worst, whole.max(axis=0, initial=0.0))
        worst = worst * (1.0 + _RELATIVE) + _ABSOLUTE * most
        g[top, runners] = np.minimum(ceiling, np.log1p(worst) / bend.beta)
    return g


def _check_and_argmax(bend: Bend, position: FloatArray | None, moves: Moves) -> FloatArray:
    """Return the excess of the whole mechanism: of the check, and of the argmax if it passes."""
    if position is None:
        return moves.excess
    first, second = position[moves.before], position[moves.after]
    log_p, log_q = log_ndtr(first), log_ndtr(second)
    check = share(bend, log_p, log_q) + share(bend, log_ndtr(-first), log_ndtr(-second))
    whole: FloatArray = check + np.exp(bend.order * log_p - bend.beta * log_q) * moves.excess
    return whole


def _by_requested_axes(g: FloatArray, runner_up: bool) -> FloatArray:
    """Return the table by top and runner-up, or its maximum for each top."""
    if runner_up:
        return g
    occurs = ~np.isnan(g).all(axis=1)
    tops: FloatArray = np.nanmax(g[occurs], axis=1)
    return np.pad(tops, (g.shape[0] - tops.size, 0), mode="edge")

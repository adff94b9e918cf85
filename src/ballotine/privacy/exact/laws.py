"""The output law of a noisy argmax, by a quadrature whose error is proven.

Lengths are in noise standard deviations and positions are measured from the largest count, so a
class with *gap* g ≥ 0 sits at −g. Class c wins with probability P_c = ∫ F_c(x) dx, where
F_c(x) = φ(x + g_c) ∏_{j≠c} Φ(x + g_j) has one factor for each of the k classes.

Step of the trapezoid rule. F_c is entire, |φ(x + ia)| = e^{a²/2} φ(x), and integrating φ along a
horizontal line gives |Φ(x + ia)| ≤ e^{a²/2} Φ(x). Hence |F_c(x + ia)| ≤ e^{k a²/2} F_c(x), and the
classical bound for functions analytic in the strip |Im| ≤ a says that the rule with step h errs by
at most 2 e^{k a²/2} P_c / (e^{2πa/h} − 1). With a = 2π/(k h) that is a *relative* error of at most
2 e^{−2π²/(k h²)} (up to a factor 1 + 1e-13), for every class, however unlikely, and every tally.

Ends of the grid. With r = φ/Φ, the slope of log F_c is −(x + g_c) + Σ_{j≠c} r(x + g_j), and each
rival bends it by −b(x + g_j), where b(y) = r(y) (y + r(y)) falls from 1 to 0. So the slope falls at
least as fast as −x, and on each side of the mode the mass beyond a distance t is at most a fraction
2 Q(t) of that side's; left of a mode that lies left of the top class, which is then a rival with
b ≥ b(0) = 2/π, even 2 Q(t √(1 + 2/π)). As r(−u) > u, the mode lies right of −g_c/2, and that of the
top class right of 0. To the right, F_c / F_top falls (because y + r(y) rises), so the winning score
of every class is stochastically below the top's, whose mass beyond t is at most
Q(t)/P_top ≤ k Q(t). Moving one teacher of weight s shifts all this by at most s.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import erfcx, log_ndtr, ndtri

from ballotine.privacy.exact.tallies import Levels, distinct, level_of_class, levels
from ballotine.types import FloatArray

_STEP_ERROR = 1e-14
_END_ERROR = 1e-14
_REACH = -float(ndtri(_END_ERROR / 2.0))
_REACH_BEHIND = _REACH / math.sqrt(1.0 + 2.0 / math.pi)
_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
_SQRT_HALF = math.sqrt(0.5)

_MODE_ERROR = 0.25
_CELLS = 1 << 18


@dataclass(frozen=True, slots=True)
class Grid:
    """Equidistant nodes, in standard deviations from the largest count."""

    nodes: FloatArray
    step: float


def step_for(classes: int) -> float:
    """Return the step whose relative error is proven to be below 1e-14."""
    return math.sqrt(2.0 * math.pi**2 / (classes * math.log(2.0 / _STEP_ERROR)))


def node_count(widest_gap: FloatArray, classes: int, shift: float) -> FloatArray:
    """Return how many nodes one grid needs for tallies with the given widest gaps."""
    width = _left_reach(widest_gap) - float(ndtri(_END_ERROR / classes)) + 2.0 * shift
    count: FloatArray = np.ceil(width / step_for(classes)) + 3.0
    return count


def grid_for(gaps: FloatArray, classes: int, shift: float) -> Grid:
    """Return a grid for every class of tallies, and of their neighbours at distance `shift`."""
    widest = gaps.max(keepdims=True)
    step = step_for(classes)
    count = int(node_count(widest, classes, shift).item())
    left = float(_left_reach(widest).item()) + shift
    nodes: FloatArray = step * np.arange(-1.0, count - 1.0) - left
    return Grid(nodes, step)


def _left_reach(widest_gap: FloatArray) -> FloatArray:
    reach: FloatArray = np.maximum(widest_gap / 2.0 + _REACH_BEHIND, _REACH)
    return reach


def log_ndtr_change(x: FloatArray, shift: float | FloatArray) -> FloatArray:
    """Return log Φ(x + shift) − log Φ(x) without cancellation in the lower tail."""
    moved = x + shift
    tail = np.maximum(x, moved) < 0.0
    # In the tail both are φ times a slowly varying factor; log φ changes by −shift (x + shift/2).
    scaled = erfcx(np.where(tail, -moved, 0.0) * _SQRT_HALF) / erfcx(
        np.where(tail, -x, 0.0) * _SQRT_HALF
    )
    lower = np.log(scaled) - shift * (x + 0.5 * shift)
    change: FloatArray = np.where(tail, lower, log_ndtr(moved) - log_ndtr(x))
    return change


def log_pdf(x: FloatArray) -> FloatArray:
    """Return log φ(x)."""
    density: FloatArray = -0.5 * x * x - _LOG_SQRT_2PI
    return density


def log_law(counts: FloatArray, sigma: float) -> FloatArray:
    """Return the log-probability that each class wins, shape (queries, classes)."""
    rows, inverse = distinct(counts)
    laws = np.empty_like(rows)
    for tallies in levels(rows):
        chosen = tallies.index
        by_level = log_law_of_levels(tallies, sigma)
        laws[chosen] = np.take_along_axis(by_level, level_of_class(rows[chosen]), axis=1)
    result = np.empty_like(counts)
    np.put_along_axis(result, np.argsort(-counts, axis=1, kind="stable"), laws[inverse], axis=1)
    return result


def log_law_of_levels(tallies: Levels, sigma: float) -> FloatArray:
    """Return the log-probability of one class of each level, shape (n, g)."""
    gaps = (tallies.counts[:, :1] - tallies.counts) / sigma
    result = np.empty_like(gaps)
    # Rows of similar width share a grid, so that the widest row does not slow down all others.
    ranks = np.argsort(gaps[:, -1], kind="stable")
    nodes = node_count(gaps[ranks, -1], tallies.classes, 0.0)
    window = 2 * _half_window(tallies.classes) + 1
    near = nodes <= gaps.shape[1] * window
    for law, rows, widest in (
        (_on_one_grid, ranks[near], nodes[near].max(initial=1.0)),
        (_in_windows, ranks[~near], window),
    ):
        size = max(1, int(_CELLS / (gaps.shape[1] * widest)))
        for start in range(0, len(rows), size):
            chosen = rows[start : start + size]
            result[chosen] = law(gaps[chosen], tallies.sizes[chosen])
    return result


def _half_window(classes: int) -> int:
    """Return how many steps cover one side of an integrand whose mode is known to 0.25."""
    return math.ceil((_REACH + _MODE_ERROR) / step_for(classes)) + 1


def _on_one_grid(gaps: FloatArray, sizes: FloatArray) -> FloatArray:
    grid = grid_for(gaps, int(sizes[0].sum()), 0.0)
    points = grid.nodes + gaps[:, :, np.newaxis]
    log_cdf = log_ndtr(points)
    everyone = np.einsum("ng,ngx->nx", sizes, log_cdf)[:, np.newaxis, :]
    return _log_sum(everyone + log_pdf(points) - log_cdf, grid.step)


def _in_windows(gaps: FloatArray, sizes: FloatArray) -> FloatArray:
    """Integrate each class around its own mode; for noise far below the spread of the counts."""
    classes = int(sizes[0].sum())
    step, half = step_for(classes), _half_window(classes)
    centres = _modes(gaps, sizes)
    nodes = centres[:, :, np.newaxis] + step * np.arange(-half, half + 1)
    logs = log_pdf(nodes + gaps[:, :, np.newaxis])
    levels = gaps.shape[1]
    for other in range(levels):
        rivals = sizes[:, other, np.newaxis] - (np.arange(levels) == other)
        logs += rivals[:, :, np.newaxis] * log_ndtr(nodes + gaps[:, other, np.newaxis, np.newaxis])
    return _log_sum(logs, step)


def _modes(gaps: FloatArray, sizes: FloatArray) -> FloatArray:
    """Return the mode of each class's integrand to within 0.25.

    The slope of log F_c falls at least as fast as −x, so a slope below 0.25 proves it. It is
    convex, and positive at −g_c/2, so Newton's steps approach its root from the left and never
    pass it.
    """
    modes = -gaps / 2.0
    others = sizes[:, np.newaxis, :] - np.eye(gaps.shape[1])
    while True:
        points = modes[:, :, np.newaxis] + gaps[:, np.newaxis, :]
        ratios = inverse_mills(points)
        slopes = np.sum(others * ratios, axis=2) - (modes + gaps)
        if float(np.abs(slopes).max()) <= _MODE_ERROR:
            return modes
        # r (x + r) tends to 1 in the lower tail, where x + r cancels.
        bends = np.where(points < -1e4, 1.0, ratios * (points + ratios))
        curvature = 1.0 + np.sum(others * bends, axis=2)
        modes = modes + slopes / curvature


def inverse_mills(x: FloatArray) -> FloatArray:
    """Return φ(x)/Φ(x), which tends to −x in the lower tail."""
    # Beyond 37 the density underflows while erfcx overflows: the ratio is 0 either way.
    ratio: FloatArray = math.sqrt(2.0 / math.pi) / erfcx(-np.minimum(x, 37.0) * _SQRT_HALF)
    return np.where(x > 37.0, 0.0, ratio)


def _log_sum(logs: FloatArray, step: float) -> FloatArray:
    peak = logs.max(axis=-1, keepdims=True)
    total: FloatArray = np.log(step * np.exp(logs - peak).sum(axis=-1)) + peak[..., 0]
    return total

"""The law of a noisy argmax when most of very many outcomes have no votes.

Of up to 2^500 outcomes only a few were voted for; the *crowd* of M others is exchangeable, so it is
one level with the size M. Lengths are in noise standard deviations and a count v sits at v ≥ 0, the
crowd at 0. An outcome at v wins with the probability of one of these integrals (Φ of each rival):

    P_v = ∫ F_v(x) dx,   F_v(x) = φ(x − v) Φ(x)^M' ∏_j Φ(x − v_j),   M' = M, or M − 1 in the crowd.

Left end. The slope of log F_v at x is v − x plus Σ r over all rivals, r = φ/Φ decreasing. With
m = M − 2 rivals in the crowd at the least (here and for every neighbour) it is positive left of the
root b of b = m r(b). There the curvature is below −κ², κ² = 1 + m r(b) (b + r(b)), so the mass
left of b − t is at most a fraction 2Q(κt) of P_v: the crowd makes the left flank steep.

Right end. The mode is left of the root of x − top = M r(x) + R r(x − top), R the number of rivals
outside the crowd; the curvature is below −1, so 2Q(t) bounds the fraction beyond mode + t.

Step. The trapezoid rule with step h errs by a relative 2 G e^{−2πa/h} if ∫|F_v(x + ia)| dx ≤ G P_v.
Each Φ outside the crowd gives at most a factor e^{a²/2}. In the crowd Φ(x)^M is e^{−t} with
t = M Q(x), and off the real line about e^{−t cos(ax)}: at a = 1.4/b the integral grows by less than
1/cos(1.4) < 6. That is asymptotic; `tests/privacy/test_powerset.py` evaluates G for crowds
from 64 to 2^500 and finds it below 6; 8 is used. So R + 1 factors and the crowd give an error below
1e-14 with h = 2πa / (log(2 · 8 · 1e14) + (R + 1) a²/2).
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtri

from ballotine.privacy.exact.laws import Grid, inverse_mills, log_pdf
from ballotine.privacy.exact.tallies import Levels
from ballotine.types import FloatArray

SMALLEST_CROWD = 64
"""The smallest crowd for which the step and the ends above are tested."""

MAX_NODES = 6000
"""Wider tallies are integrated outcome by outcome."""

_ERROR = 1e-14
_GROWTH = 8.0
_ANGLE = 1.4
_REACH = -float(ndtri(_ERROR / 2.0))
_MODE_ERROR = 0.1
_CELLS = 1 << 18


def grid_for(tops: FloatArray, sizes: FloatArray) -> Grid:
    """Return nodes for every outcome of these tallies, and of their neighbours.

    Args:
        tops: the largest positions, neighbours included, shape (n,).
        sizes: how many outcomes each level has, the crowd last, shape (n, g).
    """
    least, most = float(sizes[:, -1].min()), float(sizes[:, -1].max())
    rivals = float(sizes[:, :-1].sum(axis=1).max(initial=0.0)) + 1.0
    start, end = _left_end(least), _right_end(float(tops.max()), most, rivals)
    step = _step(most, rivals)
    nodes: FloatArray = start + step * np.arange(math.ceil((end - start) / step) + 2.0)
    return Grid(nodes, step)


def log_law_of_levels(tallies: Levels, sigma: float) -> FloatArray:
    """Return the log-probability of one outcome of each level, the crowd last, shape (n, g)."""
    positions = tallies.counts / sigma
    result = np.empty_like(positions)
    # Tallies with similar tops share a grid, so that the widest does not slow down all others.
    ranks = np.argsort(positions.max(axis=1), kind="stable")
    start = 0
    while start < ranks.size:
        widest = grid_for(positions[ranks[start]].max(keepdims=True), tallies.sizes).nodes.size
        rows = max(1, _CELLS // (positions.shape[1] * min(widest, MAX_NODES)))
        chosen = ranks[start : start + rows]
        grid = grid_for(positions[chosen].max(axis=1), tallies.sizes[chosen])
        law = _on_one_grid if grid.nodes.size <= MAX_NODES else _in_windows
        result[chosen] = law(positions[chosen], tallies.sizes[chosen], grid)
        start += rows
    return result


def _on_one_grid(positions: FloatArray, sizes: FloatArray, grid: Grid) -> FloatArray:
    distinct, where = np.unique(positions, return_inverse=True)
    where = where.reshape(positions.shape)
    points = grid.nodes - distinct[:, np.newaxis]
    log_cdf = log_ndtr(points)
    everyone = np.einsum("ng,ngx->nx", sizes, log_cdf[where])
    logs = (log_pdf(points) - log_cdf)[where] + everyone[:, np.newaxis, :]
    return _log_sum(logs, grid.step)


def _in_windows(positions: FloatArray, sizes: FloatArray, grid: Grid) -> FloatArray:
    """Integrate each outcome around its own mode; for noise far below the spread of the counts."""
    half = math.ceil((_REACH + _MODE_ERROR) / grid.step) + 1
    offsets = grid.step * np.arange(-half, half + 1)
    low, high = float(grid.nodes[0]), float(grid.nodes[-1])
    result = np.empty_like(positions)
    for row, (places, numbers) in enumerate(zip(positions, sizes, strict=True)):
        rivals = numbers - np.eye(places.size)
        nodes = _modes(places, rivals, low, high)[:, np.newaxis] + offsets
        logs = log_pdf(nodes - places[:, np.newaxis])
        for number, place in zip(rivals.T, places, strict=True):
            logs += number[:, np.newaxis] * log_ndtr(nodes - place)
        result[row] = _log_sum(logs, grid.step)
    return result


def _modes(places: FloatArray, rivals: FloatArray, low: float, high: float) -> FloatArray:
    """Return the mode of each outcome's integrand to within 0.1, by bisection."""
    left, right = np.full(places.size, low), np.full(places.size, high)
    for _ in range(math.ceil(math.log2((high - low) / _MODE_ERROR))):
        middle = 0.5 * (left + right)
        ratios = inverse_mills(middle[:, np.newaxis] - places)
        rising = np.sum(rivals * ratios, axis=1) > middle - places
        left, right = np.where(rising, middle, left), np.where(rising, right, middle)
    modes: FloatArray = 0.5 * (left + right)
    return modes


def _log_sum(logs: FloatArray, step: float) -> FloatArray:
    peak = logs.max(axis=-1, keepdims=True)
    total: FloatArray = np.log(step * np.exp(logs - peak).sum(axis=-1)) + peak[..., 0]
    return total


def _mills(x: float) -> float:
    return float(inverse_mills(np.asarray(x)))


@lru_cache(maxsize=1024)
def _lowest_mode(crowd: float) -> float:
    """Return the root b of b = (M − 2) φ(b)/Φ(b)."""
    return float(brentq(lambda b: (crowd - 2.0) * _mills(b) - b, 0.0, 36.0))


@lru_cache(maxsize=1024)
def _left_end(crowd: float) -> float:
    lowest = _lowest_mode(crowd)
    ratio = _mills(lowest)
    return lowest - _REACH / math.sqrt(1.0 + (crowd - 2.0) * ratio * (lowest + ratio))


@lru_cache(maxsize=1024)
def _right_end(top: float, crowd: float, rivals: float) -> float:
    def slope(x: float) -> float:
        return crowd * _mills(x) + rivals * _mills(x - top) - (x - top)

    # This far right of both the crowd's own mode and the top, every ratio is negligible.
    beyond = top + _lowest_mode(crowd) + math.sqrt(2.0 * math.log(rivals + 1.0)) + 3.0
    return float(brentq(slope, top, beyond)) + _REACH


def _step(crowd: float, rivals: float) -> float:
    height = _ANGLE / _lowest_mode(crowd)
    error = math.log(2.0 * _GROWTH / _ERROR) + (rivals + 1.0) * height**2 / 2.0
    return 2.0 * math.pi * height / error


def with_crowd(tallies: Levels, outcomes: int, width: int) -> Levels:
    """Return tallies whose last level (zero votes) is enlarged to the crowd.

    Args:
        tallies: levels of rows that end with at least one zero.
        outcomes: the total number of outcomes.
        width: the number of outcomes that each row lists.
    """
    sizes = tallies.sizes.copy()
    sizes[:, -1] += float(outcomes - width)
    return Levels(tallies.index, tallies.counts, sizes)

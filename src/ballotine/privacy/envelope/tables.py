"""The excess of one moved vote between two noisy counts: tabulated, and averaged from above.

A vote moves between two classes whose counts differ by a *gap* μ. Given everything else the answer
is a function of three cells (−∞, −τ], (−τ, τ), [τ, ∞) of the difference Δ ~ N(μ, 2σ²), which the
move shifts by 2. The *excess* h(μ, τ) = Σ P^α Q^(1−α) − 1 of these cells is tabulated on a grid of
τ, and averaged over Gaussian τ.

The averages are upper bounds. Σ P^α Q^(1−α) is convex in the masses, so h″ is at least the
gradient times the second derivatives of the masses; that gives a K with h″ ≥ −K on a cell of the
grid, and h lies below its chord plus K w²/8. Chords are averaged exactly, with the expectations of
the hat functions as weights. Proof: docs/proofs/envelope.md.

Lengths are in standard deviations σ√2 of Δ; `drift` is the shift of Δ in these units. Table
entries without a finite value are replaced by the data-independent excess, so warnings are off.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr, ndtr

from ballotine.types import FloatArray

# Beyond this many standard deviations a Gaussian's mass (1e-19) is left to the last node.
_REACH = 9.0
_MAX_NODES, _COARSEST = 8192, 0.005
_MODERATE = 30.0
_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
# The deviation of τ = 2X − (X_i + X_j), a Gaussian of variance 6σ², in units of σ√2.
SPREAD = math.sqrt(3.0)


@dataclass(frozen=True, slots=True)
class Bend:
    """The order and the shift of Δ, on which every excess depends."""

    order: float
    drift: float

    @property
    def beta(self) -> float:
        """The order minus 1."""
        return self.order - 1.0


_Laws = tuple[FloatArray, FloatArray]


@dataclass(frozen=True, slots=True)
class _Cells:
    """Log-masses of the three cells before and after the move, each of shape (gaps, nodes)."""

    left: _Laws
    middle: _Laws
    right: _Laws

    @classmethod
    def of(cls, bend: Bend, gaps: FloatArray, nodes: FloatArray) -> _Cells:
        """Return the cells for gaps one vote apart: the law after the move is two rows further."""
        further = gaps[-1] + bend.drift * np.array([0.5, 1.0])
        centres = np.concatenate((gaps, further))[:, np.newaxis]
        left, right = log_ndtr(-nodes - centres), log_ndtr(centres - nodes)
        # The middle mass is the tail beyond its nearer end minus the tail beyond the farther one.
        near, far = log_ndtr(nodes - np.abs(centres)), np.minimum(left, right)
        middle = near + np.log1p(-np.exp(far - near))
        return cls(_moved(left), _moved(middle), _moved(right))


def _moved(log_mass: FloatArray) -> _Laws:
    return log_mass[:-2], log_mass[2:]


def share(bend: Bend, log_p: FloatArray, log_q: FloatArray) -> FloatArray:
    """Return p^α q^(1−α) − α p + β q ≥ 0; its sum over all outcomes is the excess."""
    ratio = log_p - log_q
    growth = bend.beta * ratio
    # The first form does not cancel near 0; the second does not overflow far out.
    near = np.exp(log_p) * (np.expm1(growth) + bend.beta * np.expm1(-ratio))
    far = np.exp(log_p + growth) - bend.order * np.exp(log_p) + bend.beta * np.exp(log_q)
    plain = np.abs(growth) <= _MODERATE
    return np.maximum(np.where(plain, near, far), 0.0)


def grid(bend: Bend, widest_mean: float, widest_gap: float) -> FloatArray:
    """Return nodes from 0 to where neither τ nor Δ, under either law or tilted, has mass."""
    reach = max(
        widest_mean + _REACH * SPREAD,
        widest_gap + _REACH + 2.0 * bend.order * bend.drift,
    )
    step = min(_COARSEST, 0.1 / (bend.order * bend.drift))
    return np.linspace(0.0, reach, min(math.ceil(reach / step), _MAX_NODES) + 1)


@np.errstate(all="ignore")
def excess(
    bend: Bend, gaps: FloatArray, nodes: FloatArray, ceiling: float
) -> tuple[FloatArray, FloatArray]:
    """Return the excess at cut 0, and a table whose chords lie above the excess at every cut.

    Args:
        bend: order and shift.
        gaps: μ, shape (g,), rising by one vote, which is half the shift.
        nodes: cuts τ from 0 on, equally spaced, shape (m,).
        ceiling: the data-independent excess, an upper bound of every excess.

    Returns:
        Shapes (g,) and (g, m). The table's last column also bounds every larger cut.
    """
    cells = _Cells.of(bend, gaps, nodes)
    table = share(bend, *cells.left) + share(bend, *cells.right)
    middle = share(bend, *cells.middle)
    middle[:, 0] = 0.0
    table = np.fmin(table + middle, ceiling)
    plain = table[:, 0].copy()
    beyond = middle[:, -1] + _resolved_tails(bend, gaps, float(nodes[-1]), cells)
    table[:, -1] = np.fmin(np.maximum(beyond, table[:, -1]), ceiling)
    step = float(nodes[1] - nodes[0])
    sag = _concavity(bend, gaps, nodes, cells) * (step * step / 8.0)
    # No excess is above the ceiling; this also replaces overflowed entries.
    sag = np.fmin(sag, np.maximum(ceiling - np.minimum(table[:, 1:], table[:, :-1]), 0.0))
    table[:, 1:-1] += np.maximum(sag[:, 1:], sag[:, :-1])
    table[:, 0] += sag[:, 0]
    table[:, -1] += sag[:, -1]
    return plain, table


def _resolved_tails(bend: Bend, gaps: FloatArray, cut: float, cells: _Cells) -> FloatArray:
    """Return the share of both tails beyond the cut if Δ itself were released there."""
    tilted = gaps - bend.beta * bend.drift
    log_full = 0.5 * bend.order * bend.beta * bend.drift**2
    tails = np.exp(log_full + np.logaddexp(log_ndtr(-cut - tilted), log_ndtr(tilted - cut)))
    after = np.exp(cells.left[1][:, -1]) + np.exp(cells.right[1][:, -1])
    resolved: FloatArray = tails + bend.beta * after
    return resolved


def _concavity(bend: Bend, gaps: FloatArray, nodes: FloatArray, cells: _Cells) -> FloatArray:
    """Return K with h″ ≥ −K between neighbouring nodes, shape (g, m − 1)."""
    centre = gaps[:, np.newaxis]
    inner, outer = nodes[:-1], nodes[1:]
    # Ratios P/Q: of the outer cells at the outer node, where they are most extreme; of the middle
    # cell, between the densities' ratios at its ends, and between what its masses allow.
    at_left = bend.drift * (outer + centre) + 0.5 * bend.drift**2
    at_right = bend.drift * (centre - outer) + 0.5 * bend.drift**2
    left = (cells.left[0] - cells.left[1])[:, 1:]
    right = (cells.right[0] - cells.right[1])[:, 1:]
    before, after = cells.middle
    highest = np.fmin(at_left, before[:, 1:] - after[:, :-1])
    lowest = np.fmax(at_right, before[:, :-1] - after[:, 1:])
    bound: FloatArray = _cut_concavity(
        bend, -outer - centre, -inner - centre, left, lowest
    ) + _cut_concavity(bend, inner - centre, outer - centre, highest, right)
    return bound


def _cut_concavity(
    bend: Bend, start: FloatArray, end: FloatArray, high: FloatArray, low: FloatArray
) -> FloatArray:
    """Return one cut's part of K while it moves in [start, end], measured from the mean of P.

    The cell left of the cut has a log-ratio of at most `high`, the one right of it at least `low`.
    """
    spread = np.maximum(high - low, 0.0)
    nearest = np.clip(0.0, start - bend.drift, end - bend.drift)
    farthest = np.maximum(np.abs(start), np.abs(end))
    size = np.exp(bend.order * high - 0.5 * nearest**2 - _LOG_SQRT_2PI)
    turn = bend.order * farthest * np.expm1(-spread) * np.expm1(-bend.beta * spread)
    drop = -bend.beta * bend.drift * np.expm1(-bend.order * spread)
    result: FloatArray = size * (turn + drop)
    return result


@dataclass(frozen=True, slots=True)
class Weights:
    """Expectations of the hat functions of a grid under N(mean, SPREAD²), shape (m, means).

    Attributes:
        positive: of τ > 0 only.
        all: with everything below 0 counted at node 0.
    """

    positive: FloatArray
    all: FloatArray

    @classmethod
    def of(cls, nodes: FloatArray, means: FloatArray) -> Weights:
        """Return the weights for every mean; what lies beyond the grid goes to the last node."""
        x = (nodes[:, np.newaxis] - means) / SPREAD
        step = float(nodes[1] - nodes[0]) / SPREAD
        # E(x − X)^+ is this, which decays on both sides, plus (x)^+.
        size = np.abs(x)
        bowl = np.exp(-0.5 * x * x - _LOG_SQRT_2PI) - size * ndtr(-size)
        weights = np.empty_like(x)
        weights[1:-1] = (bowl[2:] - 2.0 * bowl[1:-1] + bowl[:-2]) / step
        weights[1:-1] += np.maximum(1.0 - size[1:-1] / step, 0.0)
        ramp = np.maximum(x[1], 0.0) - np.maximum(x[0], 0.0)
        weights[0] = (bowl[1] - bowl[0] + ramp) / step
        ramp = np.maximum(-x[-2], 0.0) - np.maximum(-x[-1], 0.0)
        weights[-1] = (bowl[-2] - bowl[-1] + ramp) / step
        np.maximum(weights, 0.0, out=weights)
        above = weights.copy()
        above[0] = np.maximum(above[0] - ndtr(x[0]), 0.0)
        return cls(above, weights)

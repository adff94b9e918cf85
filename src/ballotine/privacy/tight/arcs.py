"""Quantised shifted Gaussians: the masses of their cells, and bounds while a cut moves.

P = N(0, 1) and Q = N(−s, 1) are cut into intervals; a cell's *share* is its part
P_i^α Q_i^(1−α) of the moment M, whose logarithm over α − 1 is the Rényi divergence. `Scale`
chooses units for the shares, `Cut` is a place of a cut, `Intervals` bounds what a cut can do
while it moves within an interval. `suprema` searches with them.

A share is convex in its masses (P_i, Q_i), which are affine in the cuts' points
(Φ(x + s), Φ(x)). While x runs through a short interval its point traces a convex arc, inside
the triangle of the arc's ends and one corner below its tangents. A convex function on a triangle
is largest at a corner. Proofs: docs/proofs/three-cell.md and one-bit.md.

Where an interval is too wide for a bound, the result is infinite or NaN, which means "no bound";
call within ``np.errstate(all="ignore")``.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from scipy.special import erfcx, log_ndtr

from ballotine.types import BoolArray, FloatArray, IntArray

# A standard Gaussian has less than 1e-18 of its mass beyond this: cuts there gain nothing.
_MARGIN = 9.0
FIRST_CELLS = 32
_SMALL_EXPONENT = 30.0
_TINY = float(np.finfo(np.float64).tiny)
_SQRT_2_OVER_PI = np.sqrt(2.0 / np.pi)
# Where the hazard's series is used from, and the error of its derivative on either side.
_FAR = 100.0
_BEND_ERROR = 1e-11
_LOG_SQRT_2PI = 0.5 * np.log(2.0 * np.pi)


@dataclass(frozen=True)
class Scale:
    """The units in which each order's moment is added up, and the range of its cuts.

    Small moments are kept as M − 1 = Σ P_i ψ(r_i) with r_i = ln(P_i/Q_i), β = α − 1 and
    ψ(r) = e^(βr) − 1 + β(e^(−r) − 1) ≥ 0: nothing cancels, so a divergence of 1e-9 keeps its
    digits. Large ones are kept as M/e^F, with F = αβs²/2 the log-moment before quantisation.
    """

    alpha: FloatArray
    beta: FloatArray
    shift: float
    low: float
    width: FloatArray
    full: FloatArray
    small: BoolArray

    @classmethod
    def of(cls, orders: FloatArray, shift: float) -> Scale:
        """Return the scale of every order for a shift of s standard deviations."""
        beta = orders - 1.0
        # p^α q^(1−α) is a Gaussian around βs: the cuts that matter lie between Q and there.
        tilt = beta * shift
        low = -shift - _MARGIN
        steepest = np.maximum(tilt, shift) * (_MARGIN + tilt + shift)
        return cls(
            alpha=orders,
            beta=beta,
            shift=shift,
            low=low,
            width=(tilt + _MARGIN - low) / FIRST_CELLS,
            full=orders * beta * shift**2 / 2.0,
            small=steepest < _SMALL_EXPONENT,
        )

    def share(self, row: IntArray, log_mass: FloatArray, log_ratio: FloatArray) -> FloatArray:
        """Return one cell's share of the moment, from ln P and ln(P/Q)."""
        beta, small = self.beta[row], self.small[row]
        exponent = np.where(small, log_mass, log_mass + beta * log_ratio - self.full[row])
        share: FloatArray = np.exp(exponent)
        if small.any():
            ratio = np.where(small, log_ratio, 0.0)
            psi = np.expm1(beta * ratio) + beta * np.expm1(-ratio)
            share = share * np.where(small, psi, 1.0)
        return share

    def log_moment(self, row: IntArray, total: FloatArray) -> FloatArray:
        """Return ln M from the sum of the shares."""
        small = self.small[row]
        # Far from the best cuts a share underflows; its exact size does not matter there.
        large = np.log(np.maximum(np.where(small, 1.0, total), _TINY)) + self.full[row]
        return np.where(small, np.log1p(np.where(small, total, 0.0)), large)


@dataclass(frozen=True)
class Cut:
    """Positions of a cut: logs of the masses below and above it, and the outer cells' shares."""

    below_p: FloatArray
    above_p: FloatArray
    below_q: FloatArray
    above_q: FloatArray
    left: FloatArray
    right: FloatArray

    @classmethod
    def of(cls, scale: Scale, row: IntArray, x: FloatArray, log_drop: FloatArray) -> Cut:
        """Return the cuts at x, with the mass e^log_drop of P moved from below to above."""
        below_p, above_p = log_ndtr(x), log_ndtr(-x)
        below_q, above_q = log_ndtr(x + scale.shift), log_ndtr(-x - scale.shift)
        # A negative mass is not a probability: NaN here, and "no bound" later.
        below_p = below_p + np.log1p(-np.exp(log_drop - below_p))
        above_p = np.logaddexp(above_p, log_drop)
        left = scale.share(row, below_p, below_p - below_q)
        right = scale.share(row, above_p, above_p - above_q)
        return cls(below_p, above_p, below_q, above_q, left, right)

    def take(self, index: IntArray) -> Cut:
        """Return the cuts at these indices."""
        return Cut(*(getattr(self, field.name)[index] for field in fields(self)))


@dataclass(frozen=True)
class Intervals:
    """Intervals that hold a cut: ends, the triangle's third corner, and bounds on shares."""

    start: Cut
    corner: Cut
    end: Cut
    inside: FloatArray
    right: FloatArray

    @classmethod
    def of(cls, scale: Scale, row: IntArray, index: IntArray, level: int) -> Intervals:
        """Return the intervals with these indices after `level` halvings of the range."""
        step = scale.width[row] * 0.5**level
        x0, x1 = scale.low + step * index, scale.low + step * (index + 1)
        nothing = np.full(row.size, -np.inf)
        start, end = Cut.of(scale, row, x0, nothing), Cut.of(scale, row, x1, nothing)
        corner = Cut.of(scale, row, 0.5 * (x0 + x1), _log_depth(scale.shift, x0, x1))
        # The likelihood ratio is monotone and ψ convex: no inner point exceeds both ends.
        log_mass, _ = log_between(start, end)
        inside = np.maximum(
            scale.share(row, log_mass, scale.shift * (x0 + 0.5 * scale.shift)),
            scale.share(row, log_mass, scale.shift * (x1 + 0.5 * scale.shift)),
        )
        bend = np.exp(_curvature(scale, row, x0, x1) * step**2 / 8.0)
        right = (np.maximum(start.right, end.right) + _TINY) * bend
        return cls(start, corner, end, inside, right)

    def take(self, index: IntArray) -> Intervals:
        """Return the intervals at these indices."""
        return Intervals(
            self.start.take(index),
            self.corner.take(index),
            self.end.take(index),
            self.inside[index],
            self.right[index],
        )


def _log_depth(shift: float, x0: FloatArray, x1: FloatArray) -> FloatArray:
    """Return the log of a depth below the arc's middle that both end tangents stay above."""
    half = 0.5 * (x1 - x0)
    z = shift * half
    # For wide intervals the depth is infinite, and the corner gives no bound.
    growth = np.maximum(np.expm1(z) / z - 1.0, 0.5 * z)
    nearest = np.clip(0.0, x0, x1)
    depth: FloatArray = np.log(half * growth) - 0.5 * nearest**2 - _LOG_SQRT_2PI
    return depth


def _curvature(scale: Scale, row: IntArray, x0: FloatArray, x1: FloatArray) -> FloatArray:
    """Return K with (ln c)'' ≥ −K on [x0, x1], for the share c(x) of the cell [x, ∞)."""
    alpha, beta = scale.alpha[row], scale.beta[row]
    bound = alpha * _bend(x1) - beta * _bend(x0 + scale.shift)
    return np.maximum(bound, 0.0) + _BEND_ERROR * alpha


def _bend(x: FloatArray) -> FloatArray:
    """Return λ'(x) = λ(λ − x) for the Gaussian hazard λ = φ/Φ(−x); it rises from 0 to 1."""
    # λ − x is about 1/x: far out it cancels, and the asymptotic series is used instead.
    hazard = _SQRT_2_OVER_PI / erfcx(np.minimum(x, _FAR) / np.sqrt(2.0))
    inverse = np.maximum(x, _FAR) ** -2.0
    series = 1.0 - inverse + 6.0 * inverse**2 - 50.0 * inverse**3
    bend: FloatArray = np.where(x < _FAR, hazard * (hazard - x), series)
    return bend


def log_between(first: Cut, second: Cut) -> tuple[FloatArray, FloatArray]:
    """Return ln P and ln Q between two cuts, subtracting on the side that keeps precision."""
    upper = first.above_p < first.below_p
    upper_q = first.above_q < first.below_q
    whole = np.where(upper, first.above_p, second.below_p)
    part = np.where(upper, second.above_p, first.below_p)
    log_p = whole + np.log1p(-np.exp(part - whole))
    whole = np.where(upper_q, first.above_q, second.below_q)
    part = np.where(upper_q, second.above_q, first.below_q)
    log_q = whole + np.log1p(-np.exp(part - whole))
    return log_p, log_q

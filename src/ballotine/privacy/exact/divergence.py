"""Rényi divergences of finite laws, bounded from above.

For laws p and q with d = log(q/p) and β = α − 1 > 0, (α−1) D_α(p‖q) = log Σ p e^{−βd}. As Σ p and
Σ q = Σ p e^d are both 1, this equals log(1 + S) with S = Σ p f(d), f(d) = e^{−βd} − 1 + β(e^d − 1).
Every f(d) is non-negative and of second order in d, so S keeps its relative accuracy when the laws
are almost equal, and neither law needs to sum to 1 to the last digit.

Error. If every d is known to ±δ, D moves by at most Σ δ p |e^d − e^{−βd}| / (1 + S) to first
order, which is never above 2 max δ; by f'² ≤ 2 f sup f'' and Cauchy–Schwarz it is also at most
2 δ √(α D). Twice that is added, together with the second order (α δ²) and a relative 1e-11 for the
errors of p itself and of the last operations, which makes the result an upper bound.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ballotine.types import BoolArray, FloatArray

NEVER = -1e300
"""Stands for the logarithm of a zero probability; finite, so that no 0 · ∞ arises."""

_LOG_ERROR = 2e-13
_LOG_ERROR_GROWTH = 2e-15
_RELATIVE_ERROR = 1e-11
# The doubling chain squares once more than needed; that must not overflow either.
_LARGEST_EXPONENT = 350.0
_EPSILON = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True)
class Laws:
    """Ordered pairs (p, q) of laws, each array of shape (outcomes, n).

    Attributes:
        log_p: log-probabilities under p.
        log_ratio: log(q/p).
        mass: p.
        growth: q − p.
    """

    log_p: FloatArray
    log_ratio: FloatArray
    mass: FloatArray
    growth: FloatArray

    @classmethod
    def both_ways(cls, log_p: FloatArray, log_ratio: FloatArray) -> Laws:
        """Return (p, q) and, next to it, (q, p)."""
        mass = np.exp(log_p)
        growth = mass * np.expm1(np.minimum(log_ratio, 1.0))
        after = mass + growth
        log_after = log_p + log_ratio
        # For laws that are far apart, sums and differences lose precision that logarithms keep.
        apart = np.abs(log_ratio) > 1.0
        after[apart] = np.exp(log_after[apart])
        growth[apart] = after[apart] - mass[apart]
        return cls(
            _interleave(log_p, log_after),
            _interleave(log_ratio, -log_ratio),
            _interleave(mass, after),
            _interleave(growth, -growth),
        )

    def take(self, chosen: BoolArray) -> Laws:
        """Return the chosen pairs."""
        return Laws(
            self.log_p[:, chosen],
            self.log_ratio[:, chosen],
            self.mass[:, chosen],
            self.growth[:, chosen],
        )

    def log_error(self) -> FloatArray:
        """Return how far `log_ratio` may be off, including the rounding of a sum of outcomes.

        `laws` proves 4e-14 for the quadrature. Rounding, against 30 digits in tests, is below a
        tenth of what is allowed for here; it grows with the logarithms themselves.
        """
        rounding = _EPSILON * self.log_p.shape[0]
        error: FloatArray = _LOG_ERROR + rounding - _LOG_ERROR_GROWTH * np.minimum(self.log_p, 0.0)
        return error


def _interleave(first: FloatArray, second: FloatArray) -> FloatArray:
    both = np.empty((first.shape[0], 2 * first.shape[1]))
    both[:, ::2] = first
    both[:, 1::2] = second
    return both


Form = Callable[[Laws, FloatArray], FloatArray]


def bounds(laws: Laws, orders: FloatArray) -> FloatArray:
    """Return upper bounds on D_α(p‖q), shape (n, m), for ascending orders."""
    return _joined(_plain, laws, orders)


def chained_bounds(laws: Laws, orders: FloatArray, chains: int) -> FloatArray:
    """Return slightly larger bounds for orders whose β doubles every `chains` places."""
    return _joined(lambda some, part: _chained(some, part, chains), laws, orders)


def _joined(near: Form, laws: Laws, orders: FloatArray) -> FloatArray:
    """Use the accurate forms where no exponential can overflow, and the scaled one elsewhere."""
    spread = float(np.abs(laws.log_ratio).max(initial=0.0))
    cut = int(np.count_nonzero((orders - 1.0) * spread <= _LARGEST_EXPONENT))
    forms = ((near, orders[:cut]), (_scaled, orders[cut:]))
    parts = [form(laws, part) for form, part in forms if part.size]
    return parts[0] if len(parts) == 1 else np.hstack(parts)


def _plain(laws: Laws, orders: FloatArray) -> FloatArray:
    betas = orders - 1.0
    doubt = laws.log_error()
    sums = np.multiply.outer(laws.growth.sum(axis=0), betas)
    errors, change = np.zeros_like(sums), np.empty_like(sums)
    for outcome, ratio in enumerate(laws.log_ratio):
        np.multiply.outer(ratio, -betas, out=change)
        np.expm1(change, out=change)
        change *= laws.mass[outcome][:, np.newaxis]
        sums += change
        change -= laws.growth[outcome][:, np.newaxis]
        np.abs(change, out=change)
        change *= doubt[outcome][:, np.newaxis]
        errors += change
    np.maximum(sums, 0.0, out=sums)
    errors /= 1.0 + sums
    return _with_error_margin(np.log1p(sums) / betas, errors, orders)


def _scaled(laws: Laws, orders: FloatArray) -> FloatArray:
    """Sum p e^{−βd} relative to its largest term; accurate enough because β is not small here."""
    betas = orders - 1.0
    doubt = laws.log_error()
    outcomes, pairs = laws.mass.shape
    peaks = np.zeros((pairs, betas.size))
    exponents = np.empty_like(peaks)
    for outcome, ratio in enumerate(laws.log_ratio):
        np.multiply.outer(ratio, -betas, out=exponents)
        exponents += laws.log_p[outcome][:, np.newaxis]
        np.maximum(peaks, exponents, out=peaks)
    sums, errors = np.zeros_like(peaks), np.zeros_like(peaks)
    for outcome, ratio in enumerate(laws.log_ratio):
        np.multiply.outer(ratio, -betas, out=exponents)
        exponents += laws.log_p[outcome][:, np.newaxis]
        exponents -= peaks
        np.exp(exponents, out=exponents)
        sums += exponents
        # Neither the sum nor its errors cancel: every term contributes its full error.
        exponents *= doubt[outcome][:, np.newaxis]
        errors += exponents
    errors /= sums
    errors += _EPSILON * (outcomes + 4) / betas
    return _with_error_margin(np.maximum(peaks + np.log(sums), 0.0) / betas, errors, orders)


def _with_error_margin(costs: FloatArray, errors: FloatArray, orders: FloatArray) -> FloatArray:
    """Add the effect of errors in the laws, to first and second order, and of rounding."""
    raised: FloatArray = costs * (1.0 + _RELATIVE_ERROR) + 2.0 * errors + _LOG_ERROR**2 * orders
    return raised


def _chained(laws: Laws, orders: FloatArray, chains: int) -> FloatArray:
    """Spend one exponential per outcome and chain: with y = expm1(x), expm1(2x) = y (y + 2)."""
    betas = orders - 1.0
    sums = np.multiply.outer(betas, laws.growth.sum(axis=0))
    term = np.empty(sums.shape[1])
    for mass, ratio in zip(laws.mass, laws.log_ratio, strict=True):
        for chain in range(min(chains, betas.size)):
            change = np.expm1(-betas[chain] * ratio)
            for place in range(chain, betas.size, chains):
                np.multiply(mass, change, out=term)
                sums[place] += term
                np.add(change, 2.0, out=term)
                change *= term
    np.maximum(sums, 0.0, out=sums)
    # log(1 + S) ≤ S (6 + S)/(6 + 4 S): within 1 % up to S = 1, and much cheaper to compute.
    costs = sums * (6.0 + sums) / (6.0 + 4.0 * sums)
    np.log1p(sums, out=costs, where=sums > 1.0)
    costs /= betas[:, np.newaxis]
    doubt = 4.0 * float(laws.log_error()[laws.log_p > NEVER].max(initial=0.0))
    column = orders[:, np.newaxis]
    costs += _RELATIVE_ERROR * costs + doubt * np.sqrt(column * costs) + doubt**2 * column
    rates: FloatArray = costs.T
    return rates

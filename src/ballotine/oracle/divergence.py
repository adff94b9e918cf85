"""Rényi divergences of finite laws, with bounds on their numerical error.

With u = ln(p/q), (α − 1) D_α(p‖q) = ln Σ q e^(αu). As Σ p = Σ q = 1, the sum is 1 + S with
S = Σ q (e^(αu) − 1 − α (e^u − 1)), whose terms are of second order in u, so almost equal laws do
not lose precision. Where a term would overflow, the plain logarithm of the sum is used.
"""

from __future__ import annotations

import numpy as np

from ballotine.types import FloatArray

_LARGEST_EXPONENT = 600.0
# The error of log-probabilities from quadrature and rounding, measured with mpmath.
_LOG_ERROR = 5e-14
_RELATIVE_ERROR = 1e-10


def renyi(log_p: FloatArray, log_q: FloatArray, orders: FloatArray) -> FloatArray:
    """Return D_α(p‖q) for each pair of laws and each order.

    Args:
        log_p: log-probabilities, shape (pairs, outcomes); -inf means impossible.
        log_q: the same for the second law of each pair.
        orders: Rényi orders above 1, shape (m,).

    Returns:
        Shape (pairs, m); infinite where an outcome is possible under p and impossible under q.
    """
    alpha = orders[:, np.newaxis]
    p, q = (np.atleast_2d(law)[:, np.newaxis, :] for law in (log_p, log_q))
    never_p, never_q = np.isneginf(p), np.isneginf(q)
    forbidden = np.any(~never_p & never_q, axis=2)
    q = np.where(never_q, -np.inf, q)
    u = np.where(never_q, 0.0, p) - np.where(never_q, 0.0, q)
    exponents = np.where(never_q, -np.inf, np.where(never_q, 0.0, q) + alpha * u)
    mass = np.exp(q)
    with np.errstate(over="ignore", invalid="ignore"):
        near = mass * np.expm1(np.minimum(alpha * u, 1.0))
        far = np.exp(np.minimum(exponents, _LARGEST_EXPONENT)) - mass
        terms = np.where(alpha * u < 1.0, near, far) - alpha * mass * np.expm1(np.minimum(u, 700.0))
        sums = np.log1p(np.maximum(terms.sum(axis=2), 0.0))
    plain = np.logaddexp.reduce(exponents, axis=2)
    logs = np.where(exponents.max(axis=2) < _LARGEST_EXPONENT, sums, np.maximum(plain, 0.0))
    return np.where(forbidden, np.inf, logs / (orders - 1.0))


def error_bound(costs: FloatArray, orders: FloatArray) -> FloatArray:
    """Return a bound on the numerical error of such divergences.

    An error e in every u changes D by e √(2αD) to first order while u is small, and by at most a
    relative α e when it is not.
    """
    return _RELATIVE_ERROR * costs + _LOG_ERROR * np.sqrt(2.0 * orders * costs) + 1e-26 * orders

"""False claims exactly as the papers print them.

They are used for verification only; Ballotine ships none of them.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr

from ballotine.oracle.neighbours import Tally
from ballotine.types import FloatArray
from ballotine.verification.case import Points


def error_bound(tally: Tally, sigma: float) -> float:
    """Return q of Scalable PATE's Proposition 7: the union bound on another class winning."""
    gaps = tally[0] - np.array(tally[1:])
    return float(ndtr(-gaps / (math.sqrt(2.0) * sigma)).sum())


def theorem6(q: float, mu1: float, mu2: float, scale: float, orders: Points) -> FloatArray:
    """Return the bound of Theorem 6 for any two orders, ignoring its conditions.

    Args:
        q: the bound on the probability of another answer.
        mu1: the order of the first guarantee, ε1 = μ1/scale².
        mu2: the order of the second one.
        scale: σ divided by the weight of a vote.
        orders: where to evaluate the bound; above μ1 nothing is claimed and it is infinite.
    """
    eps1, eps2 = mu1 / scale**2, mu2 / scale**2
    a = (1.0 - q) / -math.expm1((math.log(q) + eps2) * (mu2 - 1.0) / mu2)
    b = math.exp(eps1) / q ** (1.0 / (mu1 - 1.0))
    claims = []
    for order in orders:
        beta = order - 1.0
        # Without the missing condition a is negative: the printed formula is real at odd powers.
        inside = (1.0 - q) * (a**beta if a > 0.0 or beta.is_integer() else math.nan) + q * b**beta
        claimed = order <= mu1 and inside > 1.0
        claims.append(math.log(inside) / beta if claimed else math.inf)
    return np.array(claims)


def printed_condition(q: float, mu1: float, mu2: float, scale: float) -> float:
    """Return how far ln q is below the printed limit of Theorem 6; met if not negative."""
    log_factor = mu2 * math.log(mu1 / (mu1 - 1.0) * mu2 / (mu2 - 1.0))
    return (mu2 - 1.0) * mu2 / scale**2 - log_factor - math.log(q)


def misprinted_condition(q: float, mu1: float, mu2: float, scale: float) -> float:
    """Return the same for the multi-winner paper's Theorem B.2, a product instead of a quotient."""
    log_factor = mu2 * math.log(mu1 / (mu1 - 1.0) * mu2 / (mu2 - 1.0))
    return (mu2 - 1.0) * mu2 / scale**2 + log_factor - math.log(q)

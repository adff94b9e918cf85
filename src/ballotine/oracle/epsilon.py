"""Exact (ε, δ) of two mechanisms whose privacy profiles are known in closed form."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr
from scipy.stats import binom

from ballotine.types import FloatArray


def gaussian_delta(epsilon: float, shift: float) -> float:
    """Return δ(ε) of a Gaussian that one record shifts by s standard deviations.

    δ = Φ(s/2 − ε/s) − e^ε Φ(−s/2 − ε/s).
    """
    high = log_ndtr(shift / 2.0 - epsilon / shift)
    low = epsilon + log_ndtr(-shift / 2.0 - epsilon / shift)
    return float(math.exp(high) * -math.expm1(low - high))


def gaussian_epsilon(delta: float, shift: float) -> float:
    """Return the smallest ε at δ of that Gaussian."""
    if gaussian_delta(0.0, shift) <= delta:
        return 0.0
    top = 1.0
    while gaussian_delta(top, shift) > delta:
        top *= 2.0
    return float(brentq(lambda eps: gaussian_delta(eps, shift) - delta, 0.0, top, xtol=1e-13))


def response_delta(epsilon: float, strength: float, times: int) -> float:
    """Return δ(ε) of randomised response, n times, true with odds e^strength.

    With j true answers among n the loss is (2j − n)·strength, and the probabilities of j on the
    two sides are binomial: δ is the sum of the excess over e^ε times the other side.
    """
    truths = np.arange(times + 1)
    probabilities = binom.pmf(truths, times, 1.0 / (1.0 + math.exp(-strength)))
    beyond = np.maximum((2.0 * truths - times) * strength - epsilon, 0.0)
    return float(probabilities @ -np.expm1(-beyond))


def response_epsilon(delta: float, strength: float, times: int) -> float:
    """Return the smallest ε at δ of those answers."""
    if response_delta(0.0, strength, times) <= delta:
        return 0.0
    top = times * strength
    return float(
        brentq(lambda eps: response_delta(eps, strength, times) - delta, 0.0, top, xtol=1e-13)
    )


def response_renyi(orders: FloatArray, strength: float, times: int) -> FloatArray:
    """Return the Rényi cost of those answers: n times that of one."""
    p = -math.log1p(math.exp(-strength))
    q = p - strength
    alpha, beta = orders, orders - 1.0
    one: FloatArray = np.logaddexp(alpha * p - beta * q, alpha * q - beta * p) / beta
    return np.maximum(times * one, 0.0)

"""Clipped k-hot ballots: their scales, their noise variants, and the worst pair of them.

A ballot with a positive labels, clipped to a norm of at most τ, holds s_a = min(1, τ/√a) (l2) or
min(1, τ/a) (l1) at each of them. When one ballot is replaced, a label that only one of the two
names moves by s_a (or s_b), a label that both name by |s_a − s_b|.

**Disjoint ballots are worst.** Let a label that moves by d cost g(d) ≥ 0, where g does not fall
with d and g(0) = 0. While two ballots share a label, remove it from the one with the smaller
value there: that label then moves further, and no other changes. The ballot holds no more per
label than before, so it stays below the clipped ballot on its remaining labels. So the largest sum
of g is attained by disjoint ballots: it is the maximum over a + b ≤ k of a g(s_a) + b g(s_b).

Full proof: docs/proofs/clipped-ballots.md.
"""

from __future__ import annotations

import math
from typing import Literal, TypeAlias, get_args

import numpy as np

from ballotine.errors import ParameterError
from ballotine.privacy import tight
from ballotine.privacy._validate import as_positive
from ballotine.types import FloatArray

Norm: TypeAlias = Literal["l2", "l1"]
"""The norm to which ballots are clipped."""

Variant: TypeAlias = Literal["one-against-complement", "both", "one-against-half"]
"""Where noise is added for a label; see `ballotine.privacy.multilabel`."""

# How many noise deviations a label's margin moves when its positive count moves by σ.
_LEVERAGE: dict[str, float] = {
    "one-against-complement": 2.0,
    "both": math.sqrt(2.0),
    "one-against-half": 1.0,
}

# The number of largest scales priced individually; smaller ones are priced in geometric steps.
_EACH_SCALE = 64
_STEPS = 128


def leverage(variant: Variant) -> float:
    """Return how many noise deviations a margin moves when the positive count moves by σ."""
    if variant not in _LEVERAGE:
        raise ParameterError(f"variant must be one of {', '.join(get_args(Variant))}")
    return _LEVERAGE[variant]


def scales(labels: int, tau: float | None, norm: Norm) -> FloatArray:
    """Return s_1, …, s_k: what a clipped ballot of each size holds per label.

    Args:
        labels: k, the number of labels that are released.
        tau: the largest norm of a ballot; None: ballots are not clipped.
        norm: the norm that `tau` limits.
    """
    count = as_positive(labels, "labels")
    if not count.is_integer():
        raise ParameterError("labels must be a whole number of at least 1")
    if norm not in get_args(Norm):
        raise ParameterError("norm must be l2 or l1")
    sizes = np.arange(1.0, count + 1.0)
    if tau is None:
        return np.ones(sizes.size)
    bound = as_positive(tau, "tau")
    clipped: FloatArray = np.minimum(1.0, bound / (np.sqrt(sizes) if norm == "l2" else sizes))
    return clipped


def worst_pair(prices: FloatArray) -> FloatArray:
    """Return the largest a g(s_a) + b g(s_b) over sizes a + b ≤ k.

    Args:
        prices: g(s_1), …, g(s_k), shape (k, …).

    Returns:
        The maximum over pairs of disjoint ballots, shape (…).
    """
    shape = (-1,) + (1,) * (prices.ndim - 1)
    ballots = prices * np.arange(1.0, len(prices) + 1.0).reshape(shape)
    ballots = np.concatenate((np.zeros_like(prices[:1]), ballots))
    # The other ballot takes the best of all sizes b ≤ k − a.
    largest: FloatArray = (ballots + np.maximum.accumulate(ballots)[::-1]).max(axis=0)
    return largest


def one_bit_prices(orders: FloatArray, sigma: float, shifts: FloatArray) -> FloatArray:
    """Return upper bounds of the one-bit supremum g at each shift, shape (shifts, m).

    g is convex in the shift, so between two shifts that were priced it lies below the chord.

    Args:
        orders: Rényi orders, shape (m,).
        sigma: standard deviation of the noise.
        shifts: the changes of the margins, shape (shifts,).
    """
    distinct, place = np.unique(shifts, return_inverse=True)
    size = distinct.size
    chosen = np.arange(size)
    if size > _EACH_SCALE + _STEPS:
        from_largest = np.geomspace(_EACH_SCALE, size, _STEPS).round().astype(np.int64)
        chosen = np.unique(np.concatenate((chosen[-_EACH_SCALE:], size - from_largest)))
    priced = np.stack([tight.threshold(orders, sigma, float(s)) for s in distinct[chosen]])
    columns = [np.interp(distinct, distinct[chosen], column) for column in priced.T]
    return np.stack(columns, axis=1)[place]

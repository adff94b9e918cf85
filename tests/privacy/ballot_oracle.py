"""An independent definition of k-hot ballots, their clipping and their noisy release.

Oracles for the tests of multi-label voting: plain scipy.stats, without the code under test.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar
from scipy.stats import norm

from ballotine.privacy.multilabel import Norm, Variant

Array = npt.NDArray[np.float64]

ORDERS = np.array([1.5, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0])
VARIANTS: tuple[Variant, ...] = ("one-against-complement", "both", "one-against-half")
CLIPPINGS: tuple[tuple[float | None, Norm], ...] = (
    (None, "l2"),
    (0.6, "l2"),
    (1.2, "l2"),
    (math.sqrt(2.0), "l2"),
    (0.8, "l1"),
    (1.5, "l1"),
)


def clip(ballot: npt.ArrayLike, tau: float | None, norm_name: Norm) -> Array:
    votes = np.asarray(ballot, dtype=float)
    size = np.linalg.norm(votes, 2 if norm_name == "l2" else 1)
    return votes if tau is None or size <= tau else votes * (tau / size)


def ballots(labels: int, tau: float | None, norm_name: Norm) -> Array:
    every = itertools.product((0.0, 1.0), repeat=labels)
    return np.array([clip(ballot, tau, norm_name) for ballot in every])


def margin(counts: Array, teachers: float, sigma: float, variant: Variant) -> Array:
    """Positive minus negative side over the deviation of its noise, from the definitions."""
    if variant == "one-against-complement":
        return (counts - (teachers - counts)) / sigma
    if variant == "both":
        return (counts - (teachers - counts)) / (sigma * math.sqrt(2.0))
    return (counts - teachers / 2.0) / sigma


def output_law(margins: Array) -> Array:
    """Log-probabilities of all 2^k answers, shape (…, 2^k)."""
    no, yes = norm.logsf(margins), norm.logcdf(margins)
    answers = itertools.product((0, 1), repeat=margins.shape[-1])
    return np.stack([np.where(answer, yes, no).sum(axis=-1) for answer in answers], axis=-1)


def divergence(p: Array, q: Array, orders: Array = ORDERS) -> Array:
    """Rényi divergence over the last axis, orders first."""
    alphas = orders.reshape(-1, *(1,) * p.ndim)
    return np.logaddexp.reduce(alphas * p + (1.0 - alphas) * q, axis=-1) / (alphas[..., 0] - 1.0)


def bit_divergence(x: Array | float, y: Array | float, order: float) -> Array:
    pass_ = order * norm.logcdf(x) + (1.0 - order) * norm.logcdf(y)
    fail = order * norm.logsf(x) + (1.0 - order) * norm.logsf(y)
    return np.asarray(np.logaddexp(pass_, fail) / (order - 1.0))


def one_bit_supremum(shift: float, order: float) -> float:
    grid = np.linspace(-shift - 8.0, (order - 1.0) * shift + 8.0, 4001)
    best = grid[int(np.argmax(bit_divergence(grid, grid + shift, order)))]
    found = minimize_scalar(
        lambda x: -float(bit_divergence(x, x + shift, order)),
        bounds=(best - 0.1, best + 0.1),
        method="bounded",
        options={"xatol": 1e-10},
    )
    return -float(found.fun)

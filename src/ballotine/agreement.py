"""A public model of how often teachers agree, for planning without the private votes.

On each query a share p of the teachers is right, p follows a Beta distribution, and one class
gets most of the wrong votes. The parameters come from public assumptions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from ballotine.errors import ParameterError
from ballotine.types import FloatArray

RUNNER_UP = 0.6
"""The assumed share of wrong votes that go to one class: classes are confused in pairs."""

CELLS = 400
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(48)


class Agreement(NamedTuple):
    """Kinds of queries, from those where no teacher is right to those where all are.

    Attributes:
        votes: shares of the votes by class, the right class first, shape (kinds, classes).
        weights: how often each kind occurs; they add up to 1.
    """

    votes: FloatArray
    weights: FloatArray


def agreement(teacher_accuracy: float, plurality_accuracy: float, classes: int) -> Agreement:
    """Return the model with these accuracies of a teacher and of the most frequent vote.

    The range of p is divided into cells of equal width rather than quantiles: close races are
    rare but cost most, so they must not be averaged away.

    Args:
        teacher_accuracy: how often one teacher is right.
        plurality_accuracy: how often the most frequent vote is right.
        classes: the number of classes.
    """
    from scipy.stats import beta  # slow, and only for votes that are simulated

    if not 0.0 < teacher_accuracy < 1.0:
        raise ParameterError(f"teacher_accuracy must lie between 0 and 1, got {teacher_accuracy}")
    if not 0.5 < plurality_accuracy < 1.0:
        raise ParameterError(
            f"plurality_accuracy must lie between 0.5 and 1, got {plurality_accuracy}"
        )
    if classes < 2:
        raise ParameterError(f"there must be at least two classes, got {classes}")
    tie = _rival(classes) / (1 + _rival(classes))
    wrong = 1 - teacher_accuracy

    def surplus(log_size: float) -> float:
        size = math.exp(log_size)
        return float(beta.sf(tie, teacher_accuracy * size, wrong * size)) - plurality_accuracy

    size = math.exp(root(surplus, math.log(0.05), math.log(500.0)))
    edges = np.linspace(0.0, 1.0, CELLS + 1)
    weights = np.diff(beta.cdf(edges, teacher_accuracy * size, wrong * size))
    return Agreement(_vote_shares((edges[1:] + edges[:-1]) / 2, classes), weights)


def chance_right(counts: FloatArray, sigma: float) -> FloatArray:
    """Return the probability, for each row of counts, that the first class wins the noisy vote."""
    leads = (counts[:, :1] - counts[:, 1:]) / sigma
    below = ndtr(leads[:, None, :] + _NODES[None, :, None]).prod(axis=2)
    chances: FloatArray = below @ _WEIGHTS / _WEIGHTS.sum()
    return chances


def root(rising: Callable[[float], float], low: float, high: float) -> float:
    """Return the root of an increasing function; the nearer end if there is none."""
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if rising(middle) > 0 else (middle, high)
    return (low + high) / 2


def _rival(classes: int) -> float:
    """Return the share of wrong votes that go to the most frequent wrong class."""
    return 1.0 if classes == 2 else max(RUNNER_UP, 1 / (classes - 1))


def _vote_shares(right: FloatArray, classes: int) -> FloatArray:
    """Return shares of votes by class: the right one, its rival, and equal shares of the rest."""
    rest = (1 - _rival(classes)) / max(classes - 2, 1)
    wrong = np.array([_rival(classes), *[rest] * (classes - 2)])
    return np.column_stack([right, (1 - right)[:, None] * wrong])

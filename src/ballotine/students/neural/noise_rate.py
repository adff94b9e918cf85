"""How many answers are wrong, from what is public.

The tally is private and may not be asked. Public are the mechanism, the number of teachers, how
many queries were asked and how many answered, and the answers themselves.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.special import ndtr
from scipy.stats import beta

from ballotine.errors import DataError, ParameterError
from ballotine.types import FloatArray, Labels

RUNNER_UP = 0.6
"""The share of wrong votes that one class is taken to get: classes are confused in pairs."""

_LEAST, _MOST = 0.5, 0.999
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(48)
_QUANTILES = (np.arange(400) + 0.5) / 400


def estimate_noise_rate(
    *,
    teachers: int,
    classes: int,
    sigma: float,
    plurality_accuracy: float = 0.9,
    teacher_accuracy: float | None = None,
    threshold: float | None = None,
    sigma_threshold: float | None = None,
    asked: int | None = None,
    answered: int | None = None,
) -> float:
    """The share of wrong answers under a model of votes that matches the public numbers.

    On each query a share p of the teachers is right, p follows a Beta distribution, and one
    class gets most of the wrong votes. The distribution has two unknowns. One is fixed by how
    often the plurality is assumed to be right, the other by the share of queries that passed
    the check, or, without a check, by how often one teacher is assumed to be right. Both
    assumptions must come from public data or experience, never from private records.

    Args:
        teachers: how many vote.
        classes: how many there are.
        sigma: standard deviation of the noise on each count.
        plurality_accuracy: how often the most frequent vote is assumed to be right.
        teacher_accuracy: how often one teacher is assumed to be right; needed without a check.
        threshold: of the check.
        sigma_threshold: standard deviation of the check's noise.
        asked: how many queries there were.
        answered: how many of them got an answer.
    """
    if teachers < 1 or classes < 2 or not sigma > 0:
        raise ParameterError("teachers and sigma must be positive, and classes at least 2")
    if not 0.5 < plurality_accuracy < 1.0:
        raise ParameterError(f"plurality_accuracy lies between 0.5 and 1, got {plurality_accuracy}")
    if sigma_threshold is not None and not sigma_threshold > 0:
        raise ParameterError(f"sigma_threshold must be positive, got {sigma_threshold}")

    def passing(tops: FloatArray) -> FloatArray:
        if threshold is None or sigma_threshold is None:
            return np.ones_like(tops)
        return np.asarray(ndtr((tops - threshold) / sigma_threshold))

    if teacher_accuracy is None:
        wanted = _answered_share(threshold, sigma_threshold, asked, answered)

        def surplus(accuracy: float) -> float:
            shares = _right_shares(accuracy, plurality_accuracy, classes)
            return float(passing(_tops(shares, teachers, classes)).mean()) - wanted

        teacher_accuracy = _root(surplus, _LEAST, _MOST)
    shares = _right_shares(teacher_accuracy, plurality_accuracy, classes)
    passed = passing(_tops(shares, teachers, classes))
    right = _right(teachers * _vote_shares(shares, classes), sigma)
    return float(1 - (passed * right).sum() / passed.sum())


def noise_rate_of_peers(answers: Labels, first: Labels, second: Labels, classes: int) -> float:
    """The share of wrong answers, from how often two models and the answers agree in pairs.

    The models must not have learnt from these answers (train each without the rows it
    predicts). If all three err independently, and evenly over classes, a pair's agreement a
    gives (K·a − 1)/(K − 1) = u_i·u_j with u = (K·accuracy − 1)/(K − 1), and three pairs give
    all three u. Models that err on the same rows make the answers look worse than they are;
    mistakes that models learnt from the answers make them look better.

    Args:
        answers: released ones.
        first: predictions of one model for the same rows.
        second: of another.
        classes: how many there are.
    """
    answers, first, second = (np.asarray(part) for part in (answers, first, second))
    if not len(answers) or not answers.shape == first.shape == second.shape:
        raise DataError("answers and both predictions must be of the same rows, at least one")
    if classes < 2:
        raise ParameterError(f"there must be at least two classes, got {classes}")
    pairs = ((answers, first), (answers, second), (first, second))
    agreements = [float(np.mean(one == other)) for one, other in pairs]
    one, other, models = ((classes * share - 1) / (classes - 1) for share in agreements)
    if min(one, other, models) <= 0:
        raise DataError("two of the three agree no more than by chance: nothing can be told")
    skill = min(math.sqrt(one * other / models), 1.0)
    return (1 - skill) * (classes - 1) / classes


def _answered_share(
    threshold: float | None, sigma_threshold: float | None, asked: int | None, answered: int | None
) -> float:
    if threshold is None or sigma_threshold is None or asked is None or answered is None:
        raise ParameterError(
            "give teacher_accuracy, or what the check was and did: threshold, sigma_threshold, "
            "asked and answered"
        )
    if not 0 < answered <= asked:
        raise ParameterError(f"{answered} of {asked} queries cannot have been answered")
    return answered / asked


def _right_shares(accuracy: float, plurality_accuracy: float, classes: int) -> FloatArray:
    """Quantiles of the share of right votes, with this mean and this chance to be the largest."""
    if not 0.0 < accuracy < 1.0:
        raise ParameterError(f"teacher_accuracy lies between 0 and 1, got {accuracy}")
    rival = _rival(classes)
    tie = rival / (1 + rival)

    def surplus(log_size: float) -> float:
        size = math.exp(log_size)
        chance = beta.sf(tie, accuracy * size, (1 - accuracy) * size)
        return float(chance) - plurality_accuracy

    size = math.exp(_root(surplus, math.log(0.05), math.log(500.0)))
    quantiles: FloatArray = beta.ppf(_QUANTILES, accuracy * size, (1 - accuracy) * size)
    return quantiles


def _rival(classes: int) -> float:
    """The share of wrong votes of the class that gets most of them."""
    return 1.0 if classes == 2 else max(RUNNER_UP, 1 / (classes - 1))


def _vote_shares(right: FloatArray, classes: int) -> FloatArray:
    """Shares of votes by class: the right one, its rival, and the others alike."""
    rest = (1 - _rival(classes)) / max(classes - 2, 1)
    wrong = np.array([_rival(classes), *[rest] * (classes - 2)])
    return np.column_stack([right, (1 - right)[:, None] * wrong])


def _tops(right: FloatArray, teachers: int, classes: int) -> FloatArray:
    tops: FloatArray = teachers * _vote_shares(right, classes).max(axis=1)
    return tops


def _right(counts: FloatArray, sigma: float) -> FloatArray:
    """The chance that the first class has the largest noisy count, for each row of counts."""
    leads = (counts[:, :1] - counts[:, 1:]) / sigma
    below = ndtr(leads[:, None, :] + _NODES[None, :, None]).prod(axis=2)
    chances: FloatArray = below @ _WEIGHTS / _WEIGHTS.sum()
    return chances


def _root(rising: Callable[[float], float], low: float, high: float) -> float:
    """Where a rising function is zero; the nearer end where it is nowhere."""
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if rising(middle) > 0 else (middle, high)
    return (low + high) / 2

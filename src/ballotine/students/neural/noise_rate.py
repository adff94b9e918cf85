"""Estimates of the share of wrong answers from public numbers.

Tallies are private and must not be used. Public are the mechanism, the number of teachers, the
numbers of queries asked and answered, and the answers themselves.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr

from ballotine.agreement import Agreement, agreement, chance_right, root
from ballotine.errors import DataError, ParameterError
from ballotine.types import FloatArray, Labels

_LOWEST, _HIGHEST = 0.5, 0.999


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
    """Estimate the share of wrong answers with a model of votes fitted to the public numbers.

    On each query a share p of the teachers is right, p follows a Beta distribution, and one
    class gets most of the wrong votes. The distribution has two unknowns. One is fixed by how
    often the plurality is assumed to be right, the other by the share of queries that passed
    the check, or, without a check, by how often one teacher is assumed to be right. Both
    assumptions must come from public data or experience, never from private records.

    Args:
        teachers: number of teachers.
        classes: number of classes.
        sigma: standard deviation of the noise on each count.
        plurality_accuracy: how often the most frequent vote is assumed to be right.
        teacher_accuracy: how often one teacher is assumed to be right; needed without a check.
        threshold: of the check.
        sigma_threshold: standard deviation of the check's noise.
        asked: number of queries asked.
        answered: number of queries answered.
    """
    if teachers < 1 or classes < 2 or not sigma > 0:
        raise ParameterError("teachers and sigma must be positive, and classes at least 2")
    if sigma_threshold is not None and not sigma_threshold > 0:
        raise ParameterError(f"sigma_threshold must be positive, got {sigma_threshold}")

    def passed(kinds: Agreement) -> FloatArray:
        """Return how often each kind of query occurs and is answered."""
        if threshold is None or sigma_threshold is None:
            return kinds.weights
        tops = teachers * kinds.votes.max(axis=1)
        return np.asarray(kinds.weights * ndtr((tops - threshold) / sigma_threshold))

    if teacher_accuracy is None:
        wanted = _answered_share(threshold, sigma_threshold, asked, answered)

        def surplus(accuracy: float) -> float:
            return float(passed(agreement(accuracy, plurality_accuracy, classes)).sum()) - wanted

        teacher_accuracy = root(surplus, _LOWEST, _HIGHEST)
    kinds = agreement(teacher_accuracy, plurality_accuracy, classes)
    shares = passed(kinds)
    right = chance_right(teachers * kinds.votes, sigma)
    return float(1 - (shares * right).sum() / shares.sum())


def noise_rate_of_peers(answers: Labels, first: Labels, second: Labels, classes: int) -> float:
    """Estimate the share of wrong answers from the pairwise agreement of two models and them.

    The models must not have learnt from these answers (train each without the rows it
    predicts). If all three err independently, and evenly over classes, a pair's agreement a
    gives (K·a − 1)/(K − 1) = u_i·u_j with u = (K·accuracy − 1)/(K − 1), and three pairs give
    all three u. Models that err on the same rows make the answers look worse than they are;
    mistakes that models learnt from the answers make them look better.

    Args:
        answers: the released answers.
        first: predictions of one model for the same rows.
        second: predictions of another model.
        classes: number of classes.
    """
    answers, first, second = (np.asarray(part) for part in (answers, first, second))
    if not len(answers) or not answers.shape == first.shape == second.shape:
        raise DataError("answers and both predictions must cover the same rows, at least one")
    if classes < 2:
        raise ParameterError(f"there must be at least two classes, got {classes}")
    pairs = ((answers, first), (answers, second), (first, second))
    agreements = [float(np.mean(one == other)) for one, other in pairs]
    one, other, models = ((classes * share - 1) / (classes - 1) for share in agreements)
    if min(one, other, models) <= 0:
        raise DataError("two of the three agree no more than by chance, so there is no estimate")
    skill = min(math.sqrt(one * other / models), 1.0)
    return (1 - skill) * (classes - 1) / classes


def _answered_share(
    threshold: float | None, sigma_threshold: float | None, asked: int | None, answered: int | None
) -> float:
    if threshold is None or sigma_threshold is None or asked is None or answered is None:
        raise ParameterError(
            "give teacher_accuracy, or the check and its result: threshold, sigma_threshold, "
            "asked and answered"
        )
    if not 0 < answered <= asked:
        raise ParameterError(f"{answered} of {asked} queries cannot have been answered")
    return answered / asked

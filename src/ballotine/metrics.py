"""Metrics of multi-label answers: ACC, BAC, AUC and mAP, each a mean over labels.

Rows are queries, columns are labels. Every metric is computed label by label, over the rows where
the true label is known and an answer was given, and then averaged over the labels for which it is
defined. With TP, FN, FP, TN the numbers of true and false positives and negatives of one label:

- ACC: the share of right answers, (TP + TN)/(TP + FN + FP + TN). Defined where any row counts.
- BAC: the mean recall of the two classes, (TP/(TP + FN) + TN/(TN + FP))/2. Defined where both
  classes occur.
- AUC: the share of pairs of a positive and a negative row in which the positive one has the higher
  score; a tie counts half. Defined where both classes occur.
- mAP: the average precision: the sum over distinct scores, in descending order, of the precision
  among the rows with at least this score times the share of positives with exactly this score.
  Defined where a positive row occurs.

Released answers are bits. Used as scores they make AUC equal to BAC, as in the tables of the
multi-winner paper.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from ballotine.errors import DataError
from ballotine.types import ABSTAIN, BoolArray, FloatArray, IntArray, Labels

_Metric = Callable[[BoolArray, FloatArray], float]


@dataclass(frozen=True)
class MultiLabelScores:
    """The four metrics; NaN where a metric is defined for no label.

    Attributes:
        acc: mean accuracy.
        bac: mean balanced accuracy.
        auc: mean area under the receiver operating characteristic.
        map: mean average precision.
    """

    acc: float
    bac: float
    auc: float
    map: float


def score(
    truth: Labels,
    answers: IntArray,
    scores: FloatArray | None = None,
    known: BoolArray | None = None,
) -> MultiLabelScores:
    """Return all four metrics of released answers.

    Args:
        truth: 0 or 1, shape (queries, labels).
        answers: 0, 1 or ABSTAIN, same shape; abstentions are ignored.
        scores: the scores for AUC and mAP, same shape; by default the answers.
        known: which true labels are known, same shape; by default all.
    """
    counted = _counted(truth, known) & np.not_equal(answers, ABSTAIN)
    ranking = answers.astype(np.float64) if scores is None else scores
    return MultiLabelScores(
        accuracy(truth, answers, counted),
        balanced_accuracy(truth, answers, counted),
        roc_auc(truth, ranking, counted),
        mean_average_precision(truth, ranking, counted),
    )


def accuracy(truth: Labels, answers: IntArray, known: BoolArray | None = None) -> float:
    """Return the ACC of 0/1 answers, as the module docstring defines it."""
    return _mean(truth, answers, known, _accuracy)


def balanced_accuracy(truth: Labels, answers: IntArray, known: BoolArray | None = None) -> float:
    """Return the BAC of 0/1 answers, as the module docstring defines it."""
    return _mean(truth, answers, known, _balanced_accuracy)


def roc_auc(truth: Labels, scores: FloatArray, known: BoolArray | None = None) -> float:
    """Return the AUC of scores, as the module docstring defines it."""
    return _mean(truth, scores, known, _roc_auc)


def mean_average_precision(
    truth: Labels, scores: FloatArray, known: BoolArray | None = None
) -> float:
    """Return the mAP of scores, as the module docstring defines it."""
    return _mean(truth, scores, known, _average_precision)


def _counted(truth: Labels, known: BoolArray | None) -> BoolArray:
    if truth.ndim != 2:
        raise DataError("true labels must have the shape (queries, labels)")
    if known is None:
        return np.ones(truth.shape, dtype=np.bool_)
    if known.shape != truth.shape:
        raise DataError("the mask of known labels must have the shape of the true labels")
    return known


def _mean(truth: Labels, given: Labels, known: BoolArray | None, metric: _Metric) -> float:
    """Return the mean of a metric over the labels for which it is defined."""
    counted = _counted(truth, known)
    if given.shape != truth.shape:
        raise DataError("the answers must have the shape of the true labels")
    if not np.isin(truth[counted], (0, 1)).all():
        raise DataError("a true label must be 0 or 1 wherever it is known")
    values = [
        metric(truth[rows, label] == 1, given[rows, label].astype(np.float64))
        for label, rows in enumerate(counted.T)
        if rows.any()
    ]
    defined = [value for value in values if not np.isnan(value)]
    return float(np.mean(defined)) if defined else float("nan")


def _accuracy(positive: BoolArray, answers: FloatArray) -> float:
    return float(np.mean(positive == (answers > 0)))


def _balanced_accuracy(positive: BoolArray, answers: FloatArray) -> float:
    if positive.all() or not positive.any():
        return float("nan")
    named = answers > 0
    return float(named[positive].mean() + (~named[~positive]).mean()) / 2.0


def _roc_auc(positive: BoolArray, scores: FloatArray) -> float:
    positives = int(positive.sum())
    negatives = positive.size - positives
    if not positives or not negatives:
        return float("nan")
    # The rank sum of the positives counts, for each of them, the rows below it and half its ties.
    wins = float(rankdata(scores)[positive].sum()) - positives * (positives + 1) / 2.0
    return wins / (positives * negatives)


def _average_precision(positive: BoolArray, scores: FloatArray) -> float:
    if not positive.any():
        return float("nan")
    order = np.argsort(-scores, kind="stable")
    hits = np.cumsum(positive[order])
    # Rows of equal score are added together: only the last of them is a threshold.
    last = np.flatnonzero(np.append(np.diff(scores[order]) != 0, True))
    precision = hits[last] / (last + 1.0)
    share = np.diff(hits[last], prepend=0) / hits[-1]
    return float(precision @ share)

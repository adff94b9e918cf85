"""A student learns from released answers and public rows alone.

Nothing here can reach private data: its inputs are public rows and public answers, so
whatever the student becomes is post-processing and costs no privacy.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.semi_supervised import LabelPropagation, LabelSpreading, SelfTrainingClassifier

from ballotine.errors import DataError
from ballotine.models import seeded_clone
from ballotine.types import IntArray, Labels, Matrix

UNLABELLED = -1
"""What scikit-learn's semi-supervised estimators call a row without a label."""


class TrainingInterrupted(UserWarning):
    """Somebody stopped a student's training; it goes on with the best weights so far."""


SEMI_SUPERVISED = (LabelPropagation, LabelSpreading, SelfTrainingClassifier)


def is_semi_supervised(estimator: Any) -> bool:
    """Whether the estimator also learns from rows without a label."""
    if isinstance(estimator, Pipeline):
        return is_semi_supervised(estimator.steps[-1][1])
    return isinstance(estimator, SEMI_SUPERVISED) or bool(
        getattr(estimator, "learns_from_unlabelled", False)
    )


def tells_epochs(estimator: Any) -> bool:
    """Whether the estimator's training can be watched: that of networks."""
    return "on_epoch" in estimator.get_params(deep=False)


def fit_student(estimator: Any, X: Matrix, labels: IntArray, seed: int | None = None) -> Any:
    """Fit a clone on the answered rows, and on the others too if it can use them.

    Args:
        estimator: any scikit-learn classifier.
        X: public rows.
        labels: a class number per row; negative where there is no answer.
        seed: makes the student repeatable; it protects nothing.
    """
    answered = labels >= 0
    found = np.unique(labels[answered])
    if len(found) < 2:
        raise DataError(
            f"the released answers name {len(found)} class(es) and a student needs at least two; "
            "ask more queries, lower the threshold, or give the budget more room"
        )
    return fit_answered(estimator, X, labels, seed if seed is not None else 0)


def fit_answered(estimator: Any, X: Matrix, labels: IntArray, seed: int) -> Any:
    """Fit a clone, whatever the answers are."""
    answered = labels >= 0
    if is_semi_supervised(estimator):
        return fit_clone(estimator, X, np.where(answered, labels, UNLABELLED), seed)
    return fit_clone(estimator, X[answered], labels[answered], seed)


def fit_clone(estimator: Any, X: Matrix, y: Labels, seed: int) -> Any:
    """Fit a clone, silencing all of its warnings but that of an interruption."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("default", TrainingInterrupted)
        return seeded_clone(estimator, seed).fit(X, y)

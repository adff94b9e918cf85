"""Fitting a student on released answers and public rows only.

No private data reaches this code: a student is post-processing of released answers, and costs no
privacy.
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
"""Marks a row without a label, as in scikit-learn's semi-supervised estimators."""
MORE_ANSWERS = "ask more queries, lower the threshold, or increase the budget"
"""What to do when there are too few answers, for messages."""
NO_LABEL_VARIES = "no label has been answered both present and absent, which a student needs"


class TrainingInterrupted(UserWarning):
    """A student's training was interrupted; the best weights so far are kept."""


SEMI_SUPERVISED = (LabelPropagation, LabelSpreading, SelfTrainingClassifier)


def is_semi_supervised(estimator: Any) -> bool:
    """Return whether the estimator also learns from rows without a label."""
    if isinstance(estimator, Pipeline):
        return is_semi_supervised(estimator.steps[-1][1])
    return isinstance(estimator, SEMI_SUPERVISED) or bool(
        getattr(estimator, "learns_from_unlabelled", False)
    )


def reports_epochs(estimator: Any) -> bool:
    """Return whether the estimator reports its epochs, as networks do."""
    return "on_epoch" in estimator.get_params(deep=False)


def fit_student(estimator: Any, X: Matrix, labels: IntArray, seed: int | None = None) -> Any:
    """Fit a clone on the answered rows, and on the others too if it can use them.

    Args:
        estimator: any scikit-learn classifier.
        X: public rows.
        labels: a class number per row; negative where there is no answer.
        seed: makes the student reproducible; it does not affect privacy.
    """
    answered = labels >= 0
    found = np.unique(labels[answered])
    if len(found) < 2:
        raise DataError(
            f"the released answers name {len(found)} class(es), and a student needs at least two; "
            f"{MORE_ANSWERS}"
        )
    return fit_answered(estimator, X, labels, seed if seed is not None else 0)


def fit_answered(estimator: Any, X: Matrix, labels: IntArray, seed: int) -> Any:
    """Fit a clone without checking the answers."""
    answered = labels >= 0
    if is_semi_supervised(estimator):
        return fit_clone(estimator, X, np.where(answered, labels, UNLABELLED), seed)
    return fit_clone(estimator, X[answered], labels[answered], seed)


def fit_clone(estimator: Any, X: Matrix, y: Labels, seed: int) -> Any:
    """Fit a clone; of its warnings, only that of an interruption is shown."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("default", TrainingInterrupted)
        return seeded_clone(estimator, seed).fit(X, y)

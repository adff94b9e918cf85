"""A student of several labels: one model per label, each on the rows where it was answered."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from ballotine.errors import DataError
from ballotine.students.fitting import UNLABELLED, fit_answered, fit_clone
from ballotine.students.student import Student
from ballotine.types import FloatArray, IntArray, Labels, Matrix


class LabelStudents(BaseEstimator):  # type: ignore[misc]
    """Fitted models by label; a label whose answers were all alike has a constant instead.

    Parameters:
        models: one fitted model per label, or None.
        constants: 0 or 1 for each label without a model; its value otherwise means nothing.
    """

    def __init__(self, models: Any = None, constants: Any = None) -> None:
        self.models = models
        self.constants = constants

    def predict(self, X: Matrix) -> IntArray:
        """1 where a label is present, 0 where not, shape (rows, labels)."""
        columns = [
            np.full(len(X), constant, dtype=np.int64)
            if model is None
            else np.asarray(model.predict(X), dtype=np.int64)
            for model, constant in zip(self.models, self.constants, strict=True)
        ]
        return np.column_stack(columns)

    def predict_proba(self, X: Matrix) -> FloatArray:
        """The probability of each label, shape (rows, labels); 0 or 1 from a model without any."""
        columns = [
            np.full(len(X), float(constant)) if model is None else _presence(model, X)
            for model, constant in zip(self.models, self.constants, strict=True)
        ]
        return np.column_stack(columns)


class MultiLabelStudent(Student):
    """A released model of several labels; ``classes`` are their names."""

    def predict(self, X: Matrix) -> Labels:
        """1 where a label is present, 0 where not, shape (rows, labels)."""
        found: Labels = self.model.predict(X)
        return found

    def predict_proba(self, X: Matrix) -> FloatArray:
        """The probability of each label, shape (rows, labels)."""
        found: FloatArray = self.model.predict_proba(X)
        return found

    def score(self, X: Matrix, y: Labels, sample_weight: Any = None) -> float:
        """The mean accuracy over labels."""
        return label_score(self.predict(X), y, sample_weight)


def label_score(predicted: IntArray, y: Labels, sample_weight: Any = None) -> float:
    """The share of right labels, averaged over labels; unknown ones (negative) do not count."""
    truth = np.asarray(y)
    if truth.shape != predicted.shape:
        raise DataError(f"labels of shape {predicted.shape} were expected, not {truth.shape}")
    weights = np.ones(len(truth)) if sample_weight is None else np.asarray(sample_weight)
    counted = (truth >= 0) * weights[:, np.newaxis]
    known = counted.sum(axis=0) > 0
    if not known.any():
        raise DataError("no label is known on any row: there is nothing to score")
    right = ((predicted == truth) * counted).sum(axis=0)
    return float(np.mean(right[known] / counted.sum(axis=0)[known]))


def learns_all_labels(estimator: Any) -> bool:
    """Whether one model of this kind learns several labels at once."""
    return bool(getattr(estimator, "several_labels", False))


def fit_label_students(estimator: Any, X: Matrix, labels: IntArray, seed: int | None = None) -> Any:
    """Fit one network on all labels, or a clone per label on the rows where it was answered.

    A label whose answers are all alike is taken to be so everywhere; one without any answer
    is taken to be absent.

    Args:
        estimator: any scikit-learn classifier.
        X: public rows.
        labels: 1, 0, or negative where there is no answer, shape (rows, labels).
        seed: makes the student repeatable; it protects nothing.
    """
    seed = seed or 0
    if learns_all_labels(estimator):
        return fit_clone(estimator, X, np.maximum(labels, UNLABELLED), seed)
    models: list[Any] = []
    constants: list[int] = []
    for column in labels.T:
        answered = column >= 0
        found = np.unique(column[answered])
        constants.append(int(found[0]) if len(found) == 1 else 0)
        models.append(fit_answered(estimator, X, column, seed) if len(found) == 2 else None)
    if all(model is None for model in models):
        raise DataError(
            "no label was answered both ways, and a student needs that of at least one; "
            "ask more queries, lower the threshold, or give the budget more room"
        )
    return LabelStudents(models, constants)


def unanswered(labels: IntArray) -> IntArray:
    """The positions of labels without any answer."""
    return np.flatnonzero(~np.any(labels >= 0, axis=0)).astype(np.int64)


def _presence(model: Any, X: Matrix) -> FloatArray:
    if not hasattr(model, "predict_proba"):
        return np.asarray(model.predict(X), dtype=np.float64)
    shares = np.asarray(model.predict_proba(X), dtype=np.float64)
    known = list(model.classes_)
    # Spreading can lose a rare label on its way: its model then knows absence alone.
    return shares[:, known.index(1)] if 1 in known else np.zeros(len(X))

"""Students for several labels: one model per label, fitted on the rows where it was answered."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from ballotine.errors import DataError
from ballotine.students.fitting import (
    MORE_ANSWERS,
    NO_LABEL_VARIES,
    UNLABELLED,
    fit_answered,
    fit_clone,
)
from ballotine.students.student import Student
from ballotine.types import FloatArray, IntArray, Labels, Matrix


class LabelStudents(BaseEstimator):  # type: ignore[misc]
    """One fitted model per label, or a constant where all answers were equal.

    Parameters:
        models: per label, a fitted model or None.
        constants: per label, 0 or 1; ignored where there is a model.
    """

    def __init__(self, models: Any = None, constants: Any = None) -> None:
        self.models = models
        self.constants = constants

    def predict(self, X: Matrix) -> IntArray:
        """Return 1 where a label is present and 0 elsewhere, shape (rows, labels)."""
        columns = [
            np.full(len(X), constant, dtype=np.int64)
            if model is None
            else np.asarray(model.predict(X), dtype=np.int64)
            for model, constant in zip(self.models, self.constants, strict=True)
        ]
        return np.column_stack(columns)

    def predict_proba(self, X: Matrix) -> FloatArray:
        """Return label probabilities, shape (rows, labels); 0 or 1 if a model has none."""
        columns = [
            np.full(len(X), float(constant)) if model is None else _presence(model, X)
            for model, constant in zip(self.models, self.constants, strict=True)
        ]
        return np.column_stack(columns)


class MultiLabelStudent(Student):
    """A released model for several labels; ``classes`` are their names."""

    def predict(self, X: Matrix) -> Labels:
        """Return 1 where a label is present and 0 elsewhere, shape (rows, labels)."""
        found: Labels = self.model.predict(X)
        return found

    def predict_proba(self, X: Matrix) -> FloatArray:
        """Return the probability of each label, shape (rows, labels)."""
        found: FloatArray = self.model.predict_proba(X)
        return found

    def score(self, X: Matrix, y: Labels, sample_weight: Any = None) -> float:
        """Return the mean accuracy over labels."""
        return label_score(self.predict(X), y, sample_weight)


def label_score(predicted: IntArray, y: Labels, sample_weight: Any = None) -> float:
    """Return the accuracy per label, averaged over labels, ignoring unknown (negative) values."""
    truth = np.asarray(y)
    if truth.shape != predicted.shape:
        raise DataError(f"expected labels of shape {predicted.shape}, got {truth.shape}")
    weights = np.ones(len(truth)) if sample_weight is None else np.asarray(sample_weight)
    counted = (truth >= 0) * weights[:, np.newaxis]
    known = counted.sum(axis=0) > 0
    if not known.any():
        raise DataError("no label is known on any row: there is nothing to score")
    right = ((predicted == truth) * counted).sum(axis=0)
    return float(np.mean(right[known] / counted.sum(axis=0)[known]))


def learns_all_labels(estimator: Any) -> bool:
    """Return whether one such model learns several labels at once."""
    return bool(getattr(estimator, "several_labels", False))


def fit_label_students(estimator: Any, X: Matrix, labels: IntArray, seed: int | None = None) -> Any:
    """Fit one network on all labels, or a clone per label on the rows where it was answered.

    If all answers for a label are equal, that value is predicted everywhere; a label without
    any answer is predicted absent.

    Args:
        estimator: any scikit-learn classifier.
        X: public rows.
        labels: 1, 0, or negative where there is no answer, shape (rows, labels).
        seed: makes the student reproducible; it does not affect privacy.
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
        raise DataError(f"{NO_LABEL_VARIES}; {MORE_ANSWERS}")
    return LabelStudents(models, constants)


def unanswered(labels: IntArray) -> IntArray:
    """Return the positions of labels without any answer."""
    return np.flatnonzero(~np.any(labels >= 0, axis=0)).astype(np.int64)


def _presence(model: Any, X: Matrix) -> FloatArray:
    if not hasattr(model, "predict_proba"):
        return np.asarray(model.predict(X), dtype=np.float64)
    shares = np.asarray(model.predict_proba(X), dtype=np.float64)
    known = list(model.classes_)
    # Label spreading can lose a rare label: the model then only knows absence.
    return shares[:, known.index(1)] if 1 in known else np.zeros(len(X))

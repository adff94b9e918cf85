"""How good the student is, on labelled public rows; and what only experiments may know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix

from ballotine.models import seeded_clone
from ballotine.students import Student
from ballotine.types import IntArray, Table
from ballotine.voting import Answers


@dataclass(frozen=True)
class Evaluation:
    """Student against labelled public rows.

    Attributes:
        rows: how many rows it was measured on.
        accuracy: share of them it gets right.
        confusion: true class by predicted class, counts.
    """

    rows: int
    accuracy: float
    confusion: IntArray


def evaluate(student: Student, X: Table, y: IntArray) -> Evaluation:
    """Measure a student on labelled public rows."""
    predicted = student.model.predict(X)
    matrix = confusion_matrix(y, predicted, labels=np.arange(len(student.classes_)))
    return Evaluation(len(y), float(np.mean(predicted == y)), matrix.astype(np.int64))


def label_accuracy(answers: Answers, truth: IntArray) -> float | None:
    """Share of the released answers that are right: for experiments."""
    answered = answers.answered
    if not answered.any():
        return None
    return float(np.mean(answers.labels[answered] == truth[answered]))


def ceiling(estimator: Any, X: Table, y: IntArray, X_test: Table, y_test: IntArray) -> float:
    """A teacher that sees all private records, unprotected: for experiments only."""
    model = seeded_clone(estimator, 0).fit(X, y)
    return float(np.mean(model.predict(X_test) == y_test))

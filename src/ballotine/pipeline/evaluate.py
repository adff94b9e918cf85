"""How good the student is, on labelled test rows; and what only experiments may know."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix

from ballotine import metrics
from ballotine.metrics import MultiLabelScores
from ballotine.models import seeded_clone
from ballotine.students import Student
from ballotine.teachers import fit_labels
from ballotine.types import IntArray, Matrix
from ballotine.voting import Answers

PRESENT = 0.5


@dataclass(frozen=True)
class Evaluation:
    """Student against labelled test rows.

    Attributes:
        rows: how many rows it was measured on.
        accuracy: share of them it gets right.
        confusion: true class by predicted class, counts.
    """

    rows: int
    accuracy: float
    confusion: IntArray


@dataclass(frozen=True)
class LabelScore:
    """One label: how many rows know it and have it, and its metrics (None: not defined)."""

    rows: int
    present: int
    acc: float | None
    bac: float | None
    auc: float | None
    map: float | None


@dataclass(frozen=True)
class LabelEvaluation:
    """A student of several labels against labelled test rows.

    Attributes:
        rows: how many rows it was measured on.
        acc: mean accuracy over labels.
        bac: mean balanced accuracy.
        auc: mean area under the ROC curve of the student's probabilities.
        map: mean average precision of these.
        labels: the same for each label.
    """

    rows: int
    acc: float | None
    bac: float | None
    auc: float | None
    map: float | None
    labels: tuple[LabelScore, ...]

    @property
    def accuracy(self) -> float:
        """The mean accuracy; 0 where no label is known."""
        return self.acc or 0.0


def evaluate(student: Student, X: Matrix, y: IntArray) -> Evaluation | LabelEvaluation:
    """Measure a student on labelled test rows."""
    predicted = student.model.predict(X)
    if y.ndim == 2:
        return _evaluate_labels(predicted, student.model.predict_proba(X), y)
    matrix = confusion_matrix(y, predicted, labels=np.arange(len(student.classes_)))
    return Evaluation(len(y), float(np.mean(predicted == y)), matrix.astype(np.int64))


def label_accuracy(answers: Answers, truth: IntArray) -> float | None:
    """Share of the released answers that are right: for experiments."""
    answered = (answers.labels >= 0) & (truth >= 0)
    if not answered.any():
        return None
    return float(np.mean(answers.labels[answered] == truth[answered]))


def ceiling(estimator: Any, X: Matrix, y: IntArray, X_test: Matrix, y_test: IntArray) -> float:
    """A teacher that sees all private records, unprotected: for experiments only."""
    if y.ndim == 2:
        chances = fit_labels(estimator, X, y, 0).probabilities(X_test)
        named = (np.nan_to_num(chances) > PRESENT).astype(np.int64)
        return metrics.accuracy(y_test, named, y_test >= 0)
    model = seeded_clone(estimator, 0).fit(X, y)
    return float(np.mean(model.predict(X_test) == y_test))


def _evaluate_labels(predicted: IntArray, chances: Any, y: IntArray) -> LabelEvaluation:
    known = y >= 0
    labels = tuple(
        LabelScore(
            rows=int(known[:, label].sum()),
            present=int(np.count_nonzero(y[:, label] == 1)),
            **_defined(
                metrics.score(
                    y[:, [label]], predicted[:, [label]], chances[:, [label]], known[:, [label]]
                )
            ),
        )
        for label in range(y.shape[1])
    )
    overall = _defined(metrics.score(y, predicted, chances, known))
    return LabelEvaluation(rows=len(y), labels=labels, **overall)


def _defined(scores: MultiLabelScores) -> dict[str, float | None]:
    """Numbers for JSON: nothing where a metric is not defined."""
    return {
        name: None if math.isnan(value) else float(value) for name, value in asdict(scores).items()
    }

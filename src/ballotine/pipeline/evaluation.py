"""The quality of a student on labelled test rows and, in experiments, of the answers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix

from ballotine import metrics
from ballotine.metrics import MultiLabelScores
from ballotine.students import Student
from ballotine.types import IntArray, Matrix
from ballotine.voting import Answers


@dataclass(frozen=True)
class Evaluation:
    """The evaluation of a student on labelled test rows.

    Attributes:
        rows: how many test rows there are.
        accuracy: the share of correct predictions.
        confusion: counts by true and predicted class.
    """

    rows: int
    accuracy: float
    confusion: IntArray

    @classmethod
    def of(cls, student: Student, X: Matrix, y: IntArray) -> Evaluation:
        """Evaluate a student."""
        predicted = student.model.predict(X)
        matrix = confusion_matrix(y, predicted, labels=np.arange(len(student.classes_)))
        return cls(len(y), float(np.mean(predicted == y)), matrix.astype(np.int64))

    def describe(self, names: Sequence[Any]) -> dict[str, Any]:
        """Return the entry for the privacy card."""
        rows = self.confusion.sum(axis=1)
        right = np.diagonal(self.confusion)
        return {
            "rows": self.rows,
            "accuracy": self.accuracy,
            "per_class": [
                {"class": name, "rows": int(n), "recall": float(hit / n) if n else None}
                for name, n, hit in zip(names, rows, right, strict=True)
            ],
            "confusion": self.confusion.tolist(),
        }


@dataclass(frozen=True)
class LabelScore:
    """One label: in how many rows it is known and present, and its metrics (None: undefined)."""

    rows: int
    present: int
    acc: float | None
    bac: float | None
    auc: float | None
    map: float | None


@dataclass(frozen=True)
class LabelEvaluation:
    """The evaluation of a student of several labels on labelled test rows.

    Attributes:
        rows: how many test rows there are.
        acc: mean accuracy over labels.
        bac: mean balanced accuracy.
        auc: mean area under the ROC curve of the student's probabilities.
        map: mean average precision of the same.
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
        """The mean accuracy; 0 if no label is known."""
        return self.acc or 0.0

    @classmethod
    def of(cls, student: Student, X: Matrix, y: IntArray) -> LabelEvaluation:
        """Evaluate a student."""
        predicted, chances = student.model.predict(X), student.model.predict_proba(X)
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
        return cls(rows=len(y), labels=labels, **overall)

    def describe(self, names: Sequence[Any]) -> dict[str, Any]:
        """Return the entry for the privacy card."""
        content = asdict(self)
        labels = content.pop("labels")
        return content | {
            "per_label": [{"label": name} | each for name, each in zip(names, labels, strict=True)]
        }


def label_accuracy(answers: Answers, truth: IntArray) -> float | None:
    """Return the share of correct answers: for experiments."""
    answered = (answers.labels >= 0) & (truth >= 0)
    if not answered.any():
        return None
    return float(np.mean(answers.labels[answered] == truth[answered]))


def _defined(scores: MultiLabelScores) -> dict[str, float | None]:
    """Return the metrics as numbers for JSON; None if undefined."""
    return {
        name: None if math.isnan(value) else float(value) for name, value in asdict(scores).items()
    }

"""The steps of the pipeline that differ between one class and several labels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score

from ballotine import metrics
from ballotine.data.partition import Partition
from ballotine.models import seeded_clone
from ballotine.pipeline.evaluate import Evaluation, LabelEvaluation
from ballotine.students import (
    MultiLabelStudent,
    SpreadingClassifier,
    Student,
    fit_label_students,
    fit_student,
    label_score,
    unanswered,
)
from ballotine.task import MultiLabel, SingleLabel, Task
from ballotine.teachers import Cast, Ensemble, Trainer, fit_labels, train_labels
from ballotine.text import quoted
from ballotine.types import IntArray, Labels, Matrix
from ballotine.voting import Mechanism, PowersetVoting, cast_labels

Thresholds = float | npt.ArrayLike
"""What a label's probability must exceed: one number, or one per label."""
PRESENT = 0.5


class Steps(ABC):
    """How teachers and students of one task learn, and how they are judged.

    Attributes:
        student: what a released model of this task is.
    """

    student: ClassVar[type[Student]]

    @abstractmethod
    def train(
        self,
        trainer: Trainer,
        X: Matrix,
        y: IntArray,
        partition: Partition,
        *,
        mechanism: Mechanism,
        thresholds: Thresholds | None,
        advance: Callable[[int], None],
    ) -> Ensemble:
        """One teacher per share of the private records."""

    @abstractmethod
    def fit(self, estimator: Any, X: Matrix, labels: IntArray, seed: int) -> Any:
        """A model of public rows and released answers, negative where there is none."""

    @abstractmethod
    def default_student(self) -> Any:
        """What was measured to be a good choice, see docs/papers/student.md."""

    @abstractmethod
    def evaluate(self, student: Student, X: Matrix, y: IntArray) -> Evaluation | LabelEvaluation:
        """Measure a student on labelled test rows."""

    @abstractmethod
    def score(self, predicted: Labels, y: Labels, sample_weight: Any) -> float:
        """The accuracy of predictions."""

    @abstractmethod
    def ceiling(
        self, estimator: Any, X: Matrix, y: IntArray, X_test: Matrix, y_test: IntArray
    ) -> float:
        """A teacher that sees all private records, unprotected: for experiments only."""

    def warnings(self, labels: IntArray, names: Sequence[Any]) -> list[str]:  # noqa: ARG002
        """What everybody should know about the answers a student learns from."""
        return []


class ClassSteps(Steps):
    """One class per row."""

    student = Student

    def train(
        self,
        trainer: Trainer,
        X: Matrix,
        y: IntArray,
        partition: Partition,
        *,
        mechanism: Mechanism,  # noqa: ARG002
        thresholds: Thresholds | None,  # noqa: ARG002
        advance: Callable[[int], None],
    ) -> Ensemble:
        """One classifier per share."""
        return trainer.train(X, y, partition, advance)

    def fit(self, estimator: Any, X: Matrix, labels: IntArray, seed: int) -> Any:
        """A classifier."""
        return fit_student(estimator, X, labels, seed)

    def default_student(self) -> Any:
        """Label spreading."""
        return SpreadingClassifier()

    def evaluate(self, student: Student, X: Matrix, y: IntArray) -> Evaluation | LabelEvaluation:
        """Accuracy and confusion of classes."""
        return Evaluation.of(student, X, y)

    def score(self, predicted: Labels, y: Labels, sample_weight: Any) -> float:
        """The share of rows with the right class."""
        return float(accuracy_score(y, predicted, sample_weight=sample_weight))

    def ceiling(
        self, estimator: Any, X: Matrix, y: IntArray, X_test: Matrix, y_test: IntArray
    ) -> float:
        """The accuracy of one classifier."""
        model = seeded_clone(estimator, 0).fit(X, y)
        return float(np.mean(model.predict(X_test) == y_test))


class LabelSteps(Steps):
    """Several labels per row."""

    student = MultiLabelStudent

    def train(
        self,
        trainer: Trainer,
        X: Matrix,
        y: IntArray,
        partition: Partition,
        *,
        mechanism: Mechanism,
        thresholds: Thresholds | None,
        advance: Callable[[int], None],
    ) -> Ensemble:
        """One teacher of all labels per share; what its ballots depend on names the ensemble."""
        limits = np.asarray(0.5 if thresholds is None else thresholds, dtype=np.float64)
        most = mechanism.tau if isinstance(mechanism, PowersetVoting) else None
        cast: Cast = partial(cast_labels, thresholds=limits, most=most)
        cast(np.zeros((1, trainer.classes)))  # what is wrong with the thresholds is said now
        variant = f"labels above {np.atleast_1d(limits).tolist()}, at most {most}"
        return train_labels(replace(trainer, variant=variant), X, y, partition, cast, advance)

    def fit(self, estimator: Any, X: Matrix, labels: IntArray, seed: int) -> Any:
        """A model of all labels, or one for each."""
        return fit_label_students(estimator, X, labels, seed)

    def default_student(self) -> Any:
        """Logistic regression."""
        return LogisticRegression(max_iter=1000)

    def evaluate(self, student: Student, X: Matrix, y: IntArray) -> Evaluation | LabelEvaluation:
        """The metrics of every label, and their means."""
        return LabelEvaluation.of(student, X, y)

    def score(self, predicted: Labels, y: Labels, sample_weight: Any) -> float:
        """The mean accuracy over labels."""
        return label_score(predicted, np.asarray(y), sample_weight)

    def ceiling(
        self, estimator: Any, X: Matrix, y: IntArray, X_test: Matrix, y_test: IntArray
    ) -> float:
        """The mean accuracy over labels of one teacher."""
        chances = fit_labels(estimator, X, y, 0).probabilities(X_test)
        named = (np.nan_to_num(chances) > PRESENT).astype(np.int64)
        return metrics.accuracy(y_test, named, y_test >= 0)

    def warnings(self, labels: IntArray, names: Sequence[Any]) -> list[str]:
        """Which labels have no answer at all."""
        silent = unanswered(labels)
        if not len(silent):
            return []
        found = quoted(names[label] for label in silent)
        return [f"no answer was released for {found}: the student takes them to be absent"]


_STEPS: dict[type[Task], Steps] = {SingleLabel: ClassSteps(), MultiLabel: LabelSteps()}


def steps_of(task: type[Task]) -> Steps:
    """The steps for one class, or for several labels."""
    return _STEPS[task]

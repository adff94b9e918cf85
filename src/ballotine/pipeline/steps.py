"""The steps of the pipeline that differ between one class and several labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score

from ballotine import metrics
from ballotine.data.partition import Partition
from ballotine.models import seeded_clone
from ballotine.pipeline.evaluation import Evaluation, LabelEvaluation
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
from ballotine.teachers import Ensemble, Trainer, fit_labels, train_labels
from ballotine.text import quoted
from ballotine.types import IntArray, Labels, Matrix
from ballotine.voting import Mechanism, cast_labels

Thresholds = float | npt.ArrayLike
"""The probability above which a teacher names a label: one number, or one per label."""
PRESENT = 0.5


@dataclass(frozen=True)
class TeacherTraining:
    """How an ensemble is trained on one data set.

    Attributes:
        trainer: estimator, engine and store.
        mechanism: the mechanism that will count the ballots.
        thresholds: with several labels, when a teacher names a label; None for 0.5.
        advance: called after each finished teacher.
    """

    trainer: Trainer
    mechanism: Mechanism
    thresholds: Thresholds | None
    advance: Callable[[int], None]


@dataclass(frozen=True)
class Steps:
    """The steps for one task.

    Attributes:
        train: trains one teacher per share of the private records.
        fit: fits a model to public rows and answers (negative if there is none), with a seed.
        student: the class of the released model.
        default_student: makes the default student, chosen in docs/papers/student.md.
        evaluate: evaluates a student on labelled test rows.
        score: returns the accuracy of predictions, given the truth and optional row weights.
        ceiling: returns the accuracy of one model trained on all private records, without
            protection: for experiments only. Takes an estimator, the records and test rows.
        warnings: returns public warnings about the answers, given the labels' names.
    """

    train: Callable[[TeacherTraining, Matrix, IntArray, Partition], Ensemble]
    fit: Callable[[Any, Matrix, IntArray, int], Any]
    student: type[Student]
    default_student: Callable[[], Any]
    evaluate: Callable[[Student, Matrix, IntArray], Evaluation | LabelEvaluation]
    score: Callable[[Labels, Labels, Any], float]
    ceiling: Callable[[Any, Matrix, IntArray, Matrix, IntArray], float]
    warnings: Callable[[IntArray, Sequence[Any]], list[str]] = lambda _labels, _names: []


def steps_of(task: type[Task]) -> Steps:
    """Return the steps for one class, or for several labels."""
    return _STEPS[task]


def _train_classes(how: TeacherTraining, X: Matrix, y: IntArray, partition: Partition) -> Ensemble:
    return how.trainer.train(X, y, partition, how.advance)


def _train_labels(how: TeacherTraining, X: Matrix, y: IntArray, partition: Partition) -> Ensemble:
    # The name of the ensemble depends on everything that determines a ballot.
    limits = np.asarray(0.5 if how.thresholds is None else how.thresholds, dtype=np.float64)
    most = how.mechanism.most_labels
    cast = partial(cast_labels, thresholds=limits, most=most)
    cast(np.zeros((1, how.trainer.classes)))  # refuse invalid thresholds before training
    variant = f"labels above {np.atleast_1d(limits).tolist()}, at most {most}"
    trainer = replace(how.trainer, variant=variant)
    return train_labels(trainer, X, y, partition, cast, how.advance)


def _class_score(predicted: Labels, y: Labels, sample_weight: Any) -> float:
    return float(accuracy_score(y, predicted, sample_weight=sample_weight))


def _class_ceiling(
    estimator: Any, X: Matrix, y: IntArray, X_test: Matrix, y_test: IntArray
) -> float:
    model = seeded_clone(estimator, 0).fit(X, y)
    return float(np.mean(model.predict(X_test) == y_test))


def _label_ceiling(
    estimator: Any, X: Matrix, y: IntArray, X_test: Matrix, y_test: IntArray
) -> float:
    chances = fit_labels(estimator, X, y, 0).probabilities(X_test)
    named = (np.nan_to_num(chances) > PRESENT).astype(np.int64)
    return metrics.accuracy(y_test, named, y_test >= 0)


def _label_warnings(labels: IntArray, names: Sequence[Any]) -> list[str]:
    silent = unanswered(labels)
    if not len(silent):
        return []
    found = quoted(names[label] for label in silent)
    return [f"no answer was released for {found}: the student predicts that they are absent"]


_STEPS: dict[type[Task], Steps] = {
    SingleLabel: Steps(
        train=_train_classes,
        fit=fit_student,
        student=Student,
        default_student=SpreadingClassifier,
        evaluate=Evaluation.of,
        score=_class_score,
        ceiling=_class_ceiling,
    ),
    MultiLabel: Steps(
        train=_train_labels,
        fit=fit_label_students,
        student=MultiLabelStudent,
        default_student=partial(LogisticRegression, max_iter=1000),
        evaluate=LabelEvaluation.of,
        score=label_score,
        ceiling=_label_ceiling,
        warnings=_label_warnings,
    ),
}

"""Training one teacher on its own records, in whatever process it happens to be."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Never

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier

from ballotine.errors import BallotineError
from ballotine.models import seeded_clone
from ballotine.types import IntArray, Labels, Matrix


@dataclass(frozen=True)
class TeacherTask:
    """All that is needed to train one teacher."""

    position: int
    estimator: Any
    X: Matrix
    y: IntArray
    seed: int


@dataclass(frozen=True)
class TeacherShare:
    """Which records one teacher learns from; the records themselves are shared by all workers.

    Attributes:
        position: which share of the partition it is.
        rows: of the private data.
        seed: of the teacher.
    """

    position: int
    rows: IntArray
    seed: int


@dataclass(frozen=True)
class Teacher:
    """A trained teacher.

    Attributes:
        position: which share of the partition it learnt from.
        model: has ``predict``; answers with class numbers.
        problem: why it votes for a constant class instead, for the holder's eyes only.
    """

    position: int
    model: Any
    problem: str | None = None


Work = Callable[[TeacherTask], Teacher]
"""Trains one teacher, or makes one that votes a constant and says why."""


def train_share(work: Work, estimator: Any, X: Matrix, y: IntArray, share: TeacherShare) -> Teacher:
    """Train the teacher of one share: its records are copied here, in its own process."""
    task = TeacherTask(share.position, estimator, X[share.rows], y[share.rows], share.seed)
    return work(task)


def lost_share(work: Work, X: Matrix, y: IntArray, share: TeacherShare, reason: str) -> Teacher:
    """What stands for a teacher whose process died with every attempt."""
    return train_share(work, LostClassifier(reason), X, y, share)


class LostClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Cannot learn, and says why."""

    def __init__(self, reason: str = "") -> None:
        self.reason = reason

    def fit(self, X: Matrix, y: Labels) -> Never:  # noqa: ARG002
        """Fail."""
        raise BallotineError(self.reason)


def train_teacher(task: TeacherTask) -> Teacher:
    """Train; a teacher that fails twice votes for class 0 and stays in the ensemble.

    The number of teachers is public and fixed, so a broken teacher must not change it.
    """
    if len(np.unique(task.y)) == 1:
        return Teacher(task.position, constant_model(int(task.y[0]), task))
    problem = ""
    for attempt in range(2):
        try:
            return Teacher(task.position, _fit(task, task.seed + attempt))
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
    return Teacher(task.position, constant_model(0, task), problem)


def _fit(task: TeacherTask, seed: int) -> Any:
    model = seeded_clone(task.estimator, seed)
    with warnings.catch_warnings():
        # What a fit complains about depends on private records: it must not be shown.
        warnings.simplefilter("ignore")
        return model.fit(task.X, task.y)


def constant_model(label: int, task: TeacherTask) -> Any:
    """A model that always votes for one class."""
    model = DummyClassifier(strategy="constant", constant=label)
    return model.fit(np.zeros((1, task.X.shape[1])), np.array([label]))


def predict_classes(model: Any, X: Matrix, classes: int) -> tuple[IntArray, str | None]:
    """A teacher's ballots; class 0 wherever it has no valid one to give."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            raw: Labels = np.asarray(model.predict(X))
        if raw.shape != (len(X),):
            raise ValueError(f"predict returned the shape {raw.shape}")
        ballots = raw.astype(np.int64)
    except Exception as error:
        return np.zeros(len(X), dtype=np.int64), f"{type(error).__name__}: {error}"
    return np.where((ballots >= 0) & (ballots < classes), ballots, 0), None

"""Training one teacher on its own records, in whatever process it happens to be."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier

from ballotine.models import seeded_clone
from ballotine.types import IntArray, Labels, Matrix


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


@dataclass(frozen=True)
class TeacherKind:
    """A kind of teacher: how it learns, and what stands in for one that cannot.

    Attributes:
        fit: from an estimator, rows, their targets and a seed to a model.
        constant: from rows and targets of the same widths to a model that votes the same for
            every row.
    """

    fit: Callable[[Any, Matrix, IntArray, int], Any]
    constant: Callable[[Matrix, IntArray], Any]


def train_teacher(
    kind: TeacherKind, estimator: Any, X: Matrix, y: IntArray, share: TeacherShare
) -> Teacher:
    """Train the teacher of one share; one that fails twice votes a constant and stays.

    The number of teachers is public and fixed, so a broken teacher must not change it.
    """
    rows, targets = X[share.rows], y[share.rows]  # copied here, in the teacher's own process
    problem = ""
    for attempt in range(2):
        try:
            with warnings.catch_warnings():
                # What a fit complains about depends on private records: it must not be shown.
                warnings.simplefilter("ignore")
                model = kind.fit(estimator, rows, targets, share.seed + attempt)
            return Teacher(share.position, model)
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
    return Teacher(share.position, kind.constant(X, y), problem)


def lost_teacher(
    kind: TeacherKind, X: Matrix, y: IntArray, share: TeacherShare, reason: str
) -> Teacher:
    """What stands for a teacher whose process died with every attempt."""
    return Teacher(share.position, kind.constant(X, y), reason)


def fit_classes(estimator: Any, X: Matrix, y: IntArray, seed: int) -> Any:
    """A classifier; a constant where there is one class only."""
    if len(np.unique(y)) == 1:
        return constant_model(int(y[0]), X.shape[1])
    return seeded_clone(estimator, seed).fit(X, y)


def constant_model(label: int, features: int) -> Any:
    """A model that always votes for one class."""
    model = DummyClassifier(strategy="constant", constant=label)
    return model.fit(np.zeros((1, features)), np.array([label]))


def _first_class(X: Matrix, _y: IntArray) -> Any:
    return constant_model(0, X.shape[1])


ONE_CLASS = TeacherKind(fit_classes, _first_class)
"""One class per record: a teacher that cannot learn votes for the first one."""


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

"""Train one teacher on its own share, in any process."""

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
    """The share of one teacher, as row numbers: workers share the records themselves.

    Attributes:
        position: the position of the share in the partition.
        rows: row numbers of the private data.
        seed: the teacher's seed.
    """

    position: int
    rows: IntArray
    seed: int


@dataclass(frozen=True)
class Teacher:
    """A trained teacher.

    Attributes:
        position: the position of its share in the partition.
        model: the fitted model; its ``predict`` returns class numbers.
        problem: why it casts constant ballots instead; for the holder only.
    """

    position: int
    model: Any
    problem: str | None = None


@dataclass(frozen=True)
class TeacherKind:
    """How a kind of teacher is fitted, and what replaces one that fails.

    Attributes:
        fit: makes a model from an estimator, rows, targets and a seed.
        constant: makes a model that casts the same ballot on every row, from rows and targets
            of the same widths.
    """

    fit: Callable[[Any, Matrix, IntArray, int], Any]
    constant: Callable[[Matrix, IntArray], Any]


def train_teacher(
    kind: TeacherKind, estimator: Any, X: Matrix, y: IntArray, share: TeacherShare
) -> Teacher:
    """Train the teacher of one share; one that fails twice casts constant ballots.

    It stays in the ensemble: the number of teachers is public and fixed.
    """
    rows, targets = X[share.rows], y[share.rows]  # copied here, in the teacher's own process
    problem = ""
    for attempt in range(2):
        try:
            with warnings.catch_warnings():
                # Warnings depend on private records: they must not be shown.
                warnings.simplefilter("ignore")
                model = kind.fit(estimator, rows, targets, share.seed + attempt)
            return Teacher(share.position, model)
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
    return Teacher(share.position, kind.constant(X, y), problem)


def lost_teacher(
    kind: TeacherKind, X: Matrix, y: IntArray, share: TeacherShare, reason: str
) -> Teacher:
    """Return the substitute for a teacher whose process died in every attempt."""
    return Teacher(share.position, kind.constant(X, y), reason)


def fit_classes(estimator: Any, X: Matrix, y: IntArray, seed: int) -> Any:
    """Fit a classifier; a constant one if there is only one class."""
    if len(np.unique(y)) == 1:
        return constant_model(int(y[0]), X.shape[1])
    return seeded_clone(estimator, seed).fit(X, y)


def constant_model(label: int, features: int) -> Any:
    """Return a model that always predicts the same class."""
    model = DummyClassifier(strategy="constant", constant=label)
    return model.fit(np.zeros((1, features)), np.array([label]))


def _first_class(X: Matrix, _y: IntArray) -> Any:
    return constant_model(0, X.shape[1])


ONE_CLASS = TeacherKind(fit_classes, _first_class)
"""One class per record; a teacher whose training fails votes for the first class."""


def predict_classes(model: Any, X: Matrix, classes: int) -> tuple[IntArray, str | None]:
    """Return a teacher's ballots, with class 0 for invalid ones, and the problem or None."""
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

"""Teachers of several labels: one scikit-learn classifier per label, or one that knows them all.

A teacher gives each label a probability; a ballot names the labels that are probable enough.
How probable that is, is public and decided outside. A model with thresholds of its own, found on
its own records, gives 0.5 where a probability reaches its threshold.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import get_tags

from ballotine.data.partition import Partition
from ballotine.models import seeded_clone
from ballotine.teachers.ensemble import (
    VOTE_CHUNK,
    Ensemble,
    KeptTeacher,
    Trainer,
    problems_of,
)
from ballotine.teachers.train import Teacher, TeacherKind
from ballotine.types import FloatArray, IntArray, Matrix

Cast = Callable[[FloatArray], npt.NDArray[np.uint8]]
"""Turns probabilities of labels, shape (rows, labels), into ballots of 0 and 1."""


@dataclass
class LabelModels:
    """What one teacher has learnt about every label.

    Attributes:
        constants: the probability of a label that is the same for all rows: 0 or 1 where the
            teacher's records know no other value, NaN where they know none; else −1.
        together: a model of all other labels at once, or None.
        apart: one model per other label, in their order.
    """

    constants: FloatArray
    together: Any = None
    apart: tuple[Any, ...] = ()

    def probabilities(self, X: Matrix) -> FloatArray:
        """The probability of each label, shape (rows, labels); NaN where nothing is known."""
        result = np.tile(self.constants, (len(X), 1))
        learnt = np.flatnonzero(self.constants == -1.0)
        if self.together is not None:
            result[:, learnt] = _together(self.together, X)
        else:
            for label, model in zip(learnt.tolist(), self.apart, strict=True):
                result[:, label] = presence(model, X)
        return result


@dataclass
class LabelEnsemble(Ensemble):
    """Teachers whose ballots name labels; ``classes`` is the number of labels."""

    _: KW_ONLY
    cast: Cast

    def ballots(self, X: Matrix, advance: Callable[[int], None] = lambda _: None) -> Matrix:
        """Every teacher's labels for every row: 0 and 1, shape (rows, teachers, labels)."""
        cast = np.zeros((len(X), len(self), self.classes), dtype=np.uint8)
        work = partial(_vote, X, self.classes, self.cast)
        lost = partial(_lost_vote, len(X), self.classes)
        for column, found, problem in self.engine.map(work, self._voters(), lost):
            cast[:, column] = found
            if problem is not None:
                self.problems[self.teachers[column].position] = problem
            advance(1)
        return cast


def _vote(
    X: Matrix, labels: int, cast: Cast, voter: tuple[int, Teacher | KeptTeacher]
) -> tuple[int, npt.NDArray[np.uint8], str | None]:
    """One teacher's ballots on all rows, and what went wrong."""
    column, teacher = voter
    model, problem = teacher.model, None
    ballots = np.zeros((len(X), labels), dtype=np.uint8)
    for start in range(0, len(X), VOTE_CHUNK):
        rows = slice(start, start + VOTE_CHUNK)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ballots[rows] = cast(model.probabilities(X[rows]))
        except Exception as error:
            # The number of teachers is public: a broken one casts an empty ballot.
            problem = f"{type(error).__name__}: {error}"
    return column, ballots, problem


def _lost_vote(
    rows: int, labels: int, voter: tuple[int, Any], reason: str
) -> tuple[int, npt.NDArray[np.uint8], str]:
    """The ballots of a teacher whose process died with every attempt."""
    return voter[0], np.zeros((rows, labels), dtype=np.uint8), reason


def train_labels(
    trainer: Trainer,
    X: Matrix,
    y: IntArray,
    partition: Partition,
    cast: Cast,
    advance: Callable[[int], None] = lambda _: None,
) -> LabelEnsemble:
    """One teacher of all labels per share.

    Args:
        trainer: with which estimator, where, and kept where.
        X: private rows.
        y: 0, 1, or negative where unknown, shape (records, labels).
        partition: who teaches whom.
        cast: how a teacher's probabilities become its ballot.
        advance: is told about each finished teacher.
    """
    teachers = trainer.teachers(SEVERAL_LABELS, X, y, partition, advance)
    identity = trainer.identity(len(teachers))
    problems = problems_of(teachers)
    return LabelEnsemble(teachers, trainer.classes, identity, problems, trainer.engine, cast=cast)


def fit_labels(estimator: Any, X: Matrix, y: IntArray, seed: int) -> LabelModels:
    """Learn every label from the records for which it is known.

    Args:
        estimator: any scikit-learn classifier; it is cloned.
        X: rows, shape (records, features).
        y: 0, 1, or negative where unknown, shape (records, labels).
        seed: what every ``random_state`` follows from.
    """
    constants = np.array([_constant(column) for column in y.T])
    learnt = np.flatnonzero(constants == -1.0)
    if len(learnt) > 1 and _knows_several(estimator, whole=bool(np.all(y[:, learnt] >= 0))):
        known_or_not = np.maximum(y[:, learnt], -1)
        return LabelModels(constants, together=seeded_clone(estimator, seed).fit(X, known_or_not))
    apart = []
    for label in learnt.tolist():
        known = y[:, label] >= 0
        apart.append(seeded_clone(estimator, seed).fit(X[known], y[known, label]))
    return LabelModels(constants, apart=tuple(apart))


def _no_label(_X: Matrix, y: IntArray) -> LabelModels:
    return LabelModels(np.zeros(y.shape[1]))


SEVERAL_LABELS = TeacherKind(fit_labels, _no_label)
"""Several labels per record: a teacher that cannot learn names none."""


def presence(model: Any, X: Matrix) -> FloatArray:
    """The probability of class 1; the class itself where a model has no probabilities."""
    if not hasattr(model, "predict_proba"):
        return np.asarray(model.predict(X), dtype=np.float64)
    found = np.asarray(model.predict_proba(X), dtype=np.float64)
    return found[:, list(model.classes_).index(1)]


def _constant(column: IntArray) -> float:
    values = np.unique(column[column >= 0])
    if len(values) > 1:
        return -1.0
    return float(values[0]) if len(values) else float("nan")


def _knows_several(estimator: Any, whole: bool) -> bool:
    """Whether it learns several labels at once, also when not all of them are known."""
    if not whole and not getattr(estimator, "masks_missing_labels", False):
        return False
    tags = get_tags(estimator).classifier_tags
    return bool(tags is not None and tags.multi_label and hasattr(estimator, "predict_proba"))


def _together(model: Any, X: Matrix) -> FloatArray:
    """A matrix from a model of several labels: some give one array, some one per label."""
    found = model.predict_proba(X)
    if not isinstance(found, np.ndarray):
        return np.column_stack([label[:, 1] for label in found]).astype(np.float64)
    if getattr(model, "thresholds", None) == "own":
        return centred(found, model.thresholds_)
    return found.astype(np.float64)


def centred(probabilities: FloatArray, thresholds: FloatArray) -> FloatArray:
    """Probabilities stretched so that each label's threshold, inside (0, 1), becomes 0.5."""
    below = probabilities / (2 * thresholds)
    above = 1 - (1 - probabilities) / (2 * (1 - thresholds))
    stretched: FloatArray = np.where(probabilities <= thresholds, below, above)
    return stretched

"""Teachers of several labels: one scikit-learn classifier per label, or one for all labels.

A teacher gives each label a probability, and its ballot names the labels whose probability
exceeds a public threshold. The probabilities of a model with thresholds of its own, found on its
own records, are rescaled so that each threshold becomes 0.5.
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
from ballotine.teachers.ensemble import Ensemble, PredictBallots, Trainer, problems_of
from ballotine.teachers.train import TeacherKind
from ballotine.types import FloatArray, IntArray, Matrix

Cast = Callable[[FloatArray], npt.NDArray[np.uint8]]
"""Turns probabilities of labels, shape (rows, labels), into ballots of 0 and 1."""


@dataclass
class LabelModels:
    """One teacher's models of all labels.

    Attributes:
        constants: for each label, its constant probability: 0 or 1 if the teacher's records
            contain no other value, NaN if they contain none; −1 if the label has a model.
        together: one model of all labels that have one, or None.
        apart: otherwise, one model per such label, in order.
    """

    constants: FloatArray
    together: Any = None
    apart: tuple[Any, ...] = ()

    def probabilities(self, X: Matrix) -> FloatArray:
        """Return the probability of each label, shape (rows, labels); NaN if unknown."""
        result = np.tile(self.constants, (len(X), 1))
        learned = np.flatnonzero(self.constants == -1.0)
        if self.together is not None:
            result[:, learned] = _together(self.together, X)
        else:
            for label, model in zip(learned.tolist(), self.apart, strict=True):
                result[:, label] = presence(model, X)
        return result


@dataclass
class LabelEnsemble(Ensemble):
    """Teachers whose ballots name labels, shape (rows, teachers, labels).

    ``classes`` is the number of labels.
    """

    _: KW_ONLY
    cast: Cast

    @property
    def predict_ballots(self) -> PredictBallots:
        """Predicts 0 or 1 per row and label."""
        return partial(name_labels, labels=self.classes, cast=self.cast)

    def blank(self, *shape: int) -> Matrix:
        """Ballots that name no label."""
        return np.zeros((*shape, self.classes), dtype=np.uint8)


def name_labels(
    model: LabelModels, X: Matrix, labels: int, cast: Cast
) -> tuple[npt.NDArray[np.uint8], str | None]:
    """Return a teacher's ballots; if it fails, ballots that name no label."""
    ballots, problem = np.zeros((len(X), labels), dtype=np.uint8), None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ballots[:] = cast(model.probabilities(X))
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
    return ballots, problem


def train_labels(
    trainer: Trainer,
    X: Matrix,
    y: IntArray,
    partition: Partition,
    cast: Cast,
    advance: Callable[[int], None] = lambda _: None,
) -> LabelEnsemble:
    """Train one teacher of all labels per share.

    Args:
        trainer: estimator, engine and store.
        X: private rows.
        y: 0, 1, or negative if unknown, shape (records, labels).
        partition: which teacher learns from which records.
        cast: turns a teacher's probabilities into ballots.
        advance: called after each finished teacher.
    """
    teachers = trainer.teachers(SEVERAL_LABELS, X, y, partition, advance)
    identity = trainer.identity(len(teachers))
    problems = problems_of(teachers)
    return LabelEnsemble(teachers, trainer.classes, identity, problems, trainer.engine, cast=cast)


def fit_labels(estimator: Any, X: Matrix, y: IntArray, seed: int) -> LabelModels:
    """Fit models of all labels, each on the records for which it is known.

    Args:
        estimator: any scikit-learn classifier; it is cloned.
        X: rows, shape (records, features).
        y: 0, 1, or negative if unknown, shape (records, labels).
        seed: determines every ``random_state``.
    """
    constants = np.array([_constant(column) for column in y.T])
    learned = np.flatnonzero(constants == -1.0)
    if len(learned) > 1 and _takes_several(estimator, complete=bool(np.all(y[:, learned] >= 0))):
        known_or_not = np.maximum(y[:, learned], -1)
        return LabelModels(constants, together=seeded_clone(estimator, seed).fit(X, known_or_not))
    apart = []
    for label in learned.tolist():
        known = y[:, label] >= 0
        apart.append(seeded_clone(estimator, seed).fit(X[known], y[known, label]))
    return LabelModels(constants, apart=tuple(apart))


def _no_label(_X: Matrix, y: IntArray) -> LabelModels:
    return LabelModels(np.zeros(y.shape[1]))


SEVERAL_LABELS = TeacherKind(fit_labels, _no_label)
"""Several labels per record; a teacher whose training fails names none."""


def presence(model: Any, X: Matrix) -> FloatArray:
    """Return the probability of class 1, or the class if the model has no probabilities."""
    if not hasattr(model, "predict_proba"):
        return np.asarray(model.predict(X), dtype=np.float64)
    found = np.asarray(model.predict_proba(X), dtype=np.float64)
    return found[:, list(model.classes_).index(1)]


def _constant(column: IntArray) -> float:
    values = np.unique(column[column >= 0])
    if len(values) > 1:
        return -1.0
    return float(values[0]) if len(values) else float("nan")


def _takes_several(estimator: Any, complete: bool) -> bool:
    """Whether the estimator can learn several labels at once, complete or with unknown ones."""
    if not complete and not getattr(estimator, "masks_missing_labels", False):
        return False
    tags = get_tags(estimator).classifier_tags
    return bool(tags is not None and tags.multi_label and hasattr(estimator, "predict_proba"))


def _together(model: Any, X: Matrix) -> FloatArray:
    """Return probabilities as one matrix; some models return one array per label."""
    found = model.predict_proba(X)
    if not isinstance(found, np.ndarray):
        return np.column_stack([label[:, 1] for label in found]).astype(np.float64)
    if getattr(model, "thresholds", None) == "own":
        return centred(found, model.thresholds_)
    return found.astype(np.float64)


def centred(probabilities: FloatArray, thresholds: FloatArray) -> FloatArray:
    """Rescale probabilities so that each label's threshold, inside (0, 1), becomes 0.5."""
    below = probabilities / (2 * thresholds)
    above = 1 - (1 - probabilities) / (2 * (1 - thresholds))
    stretched: FloatArray = np.where(probabilities <= thresholds, below, above)
    return stretched

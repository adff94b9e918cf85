"""Teachers and students, of one class or of several labels: the same for estimator and run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ballotine.data.partition import Partition
from ballotine.noise import NoiseSource
from ballotine.pipeline.procedure import Procedure
from ballotine.pipeline.steps import Steps, Teaching, Thresholds
from ballotine.pipeline.together import Place, train_together
from ballotine.teachers import Engine, Ensemble, TeacherStore, Trainer
from ballotine.types import IntArray, Matrix


def train_ensemble(
    procedure: Procedure,
    estimator: Any,
    X: Matrix,
    y: IntArray,
    partition: Partition,
    *,
    secret: bytes,
    engine: Engine,
    thresholds: Thresholds | None = None,
    store: TeacherStore | None = None,
    place: Place | None = None,
    advance: Callable[[int], None] = lambda _: None,
) -> Ensemble:
    """One teacher per share.

    Args:
        procedure: with which mechanism they will vote, and on how many classes.
        estimator: any scikit-learn classifier.
        X: private rows.
        y: their class numbers, or 0, 1 and −1 (unknown) per label.
        partition: who teaches whom.
        secret: what seeds and the ensemble's name follow from.
        engine: where the work is done.
        thresholds: with several labels, when a teacher names one.
        store: where finished teachers are kept, or None.
        place: where rounds of learning together are paid and kept.
        advance: is told about each finished teacher, or round.
    """
    together = procedure.request.together
    if together is not None:
        assert place is not None
        return train_together(
            together,
            estimator,
            procedure.classes,
            X,
            y,
            partition,
            secret=secret,
            engine=engine,
            place=place,
            advance=advance,
        )
    trainer = Trainer(
        estimator=estimator,
        classes=procedure.classes,
        secret=secret,
        engine=engine,
        store=store,
    )
    how = Teaching(trainer, procedure.mechanism, thresholds, advance)
    return procedure.steps.train(how, X, y, partition)


def with_straight(
    procedure: Procedure, public: Matrix, labels: IntArray, X: Matrix, y: IntArray
) -> tuple[Matrix, IntArray]:
    """What a student learns from: answered public rows, and records that need no privacy."""
    straight = procedure.straight
    return np.concatenate([public, X[straight]]), np.concatenate([labels, y[straight]])


def train_student(
    steps: Steps, estimator: Any, X: Matrix, labels: IntArray, noise: NoiseSource
) -> Any:
    """A student of classes, or of several labels.

    Args:
        steps: of the task.
        estimator: any scikit-learn classifier.
        X: rows.
        labels: class numbers, or 0 and 1 per label; negative where there is no answer.
        noise: what its seed comes from.
    """
    seed = int.from_bytes(noise.words("student", b"", 1)[:3], "big")
    return steps.fit(estimator, X, labels, seed)

"""Teachers and students, of one class or of several labels: the same for estimator and run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ballotine.data.partition import Partition
from ballotine.noise import NoiseSource
from ballotine.pipeline.procedure import Procedure
from ballotine.pipeline.steps import Steps, TeacherTraining, Thresholds
from ballotine.teachers import Engine, Ensemble, TeacherStore, Trainer
from ballotine.teachers.together import RoundsAccount
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
    account: RoundsAccount | None = None,
    folder: Path | None = None,
    digest: str = "",
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
        account: what private rounds of learning together are paid from.
        folder: where teachers are kept, so that an interrupted training can resume; or None.
        digest: of what they follow from; rounds kept with another digest are refused.
        advance: is told about each finished teacher, or round.
    """
    together = procedure.request.together
    if together is not None:
        from ballotine.teachers.ttac import TtacTrainer  # teachers that learn alone need no torch

        rounds = TtacTrainer(
            estimator, together, procedure.classes, secret, engine, account, folder, digest
        )
        return rounds.train(X, y, partition, advance)
    trainer = Trainer(
        estimator=estimator,
        classes=procedure.classes,
        secret=secret,
        engine=engine,
        store=None if folder is None else TeacherStore(folder),
    )
    how = TeacherTraining(trainer, procedure.mechanism, thresholds, advance)
    return procedure.steps.train(how, X, y, partition)


def add_exempt_records(
    procedure: Procedure, public: Matrix, labels: IntArray, X: Matrix, y: IntArray
) -> tuple[Matrix, IntArray]:
    """What a student learns from: answered public rows, and records that need no privacy."""
    exempt = procedure.exempt_records
    return np.concatenate([public, X[exempt]]), np.concatenate([labels, y[exempt]])


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

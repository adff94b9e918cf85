"""Train teachers and students, for the estimator and for runs."""

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
    """Train one teacher per share.

    Args:
        procedure: task, mechanism and settings.
        estimator: any scikit-learn classifier.
        X: private rows.
        y: their class numbers, or 0, 1 and −1 (unknown) per label.
        partition: which teacher learns from which records.
        secret: determines the seeds and the ensemble's name.
        engine: runs the training.
        thresholds: with several labels, when a teacher names a label.
        account: pays for private rounds.
        folder: where teachers are stored, so that training can be resumed; or None.
        digest: of the training's inputs; stored rounds with another digest are refused.
        advance: called after each finished teacher, or round.
    """
    together = procedure.request.together
    if together is not None:
        from ballotine.teachers.ttac import TtacTrainer  # only this needs torch

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
    """Return what a student learns from: public rows, and records that need no privacy."""
    exempt = procedure.exempt_records
    return np.concatenate([public, X[exempt]]), np.concatenate([labels, y[exempt]])


def train_student(
    steps: Steps, estimator: Any, X: Matrix, labels: IntArray, noise: NoiseSource
) -> Any:
    """Train a student.

    Args:
        steps: the steps for the task.
        estimator: any scikit-learn classifier.
        X: rows.
        labels: class numbers, or 0 and 1 per label; negative where there is no answer.
        noise: the source of its seed.
    """
    seed = int.from_bytes(noise.words("student", b"", 1)[:3], "big")
    return steps.fit(estimator, X, labels, seed)

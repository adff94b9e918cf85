"""Teachers trained on their shares, and their votes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ballotine.teachers.engine import LocalEngine
from ballotine.teachers.train import ONE_CLASS, TeacherShare, predict_classes, train_teacher
from ballotine.types import IntArray, Matrix
from ballotine_reproduction.experiment import Setting

Ballots: TypeAlias = npt.NDArray[np.uint8]
"""Class numbers, shape (queries, teachers): thousands of teachers need the small type."""


def cast_ballots(
    setting: Setting,
    estimator: Any,
    X: Matrix,
    y: IntArray,
    shares: Sequence[TeacherShare],
    asked: Matrix,
    classes: int,
) -> Ballots:
    """Every teacher's class for every asked row, shape (asked, teachers).

    Args:
        setting: how many processes train.
        estimator: what a teacher is.
        X: private rows.
        y: their classes.
        shares: which rows each teacher learns from, in the order of the teachers.
        asked: the rows to vote on.
        classes: how many there are.
    """
    ballots = np.empty((len(asked), len(shares)), dtype=np.uint8)
    work = partial(_vote, estimator, X, y, asked, classes)
    with setting.progress.stage("teachers", len(shares)) as advance:
        for position, cast in LocalEngine(setting.jobs).map(work, shares):
            ballots[:, position] = cast
            advance(1)
    return ballots


def _vote(
    estimator: Any, X: Matrix, y: IntArray, asked: Matrix, classes: int, share: TeacherShare
) -> tuple[int, Ballots]:
    trained = train_teacher(ONE_CLASS, estimator, X, y, share)
    votes, _ = predict_classes(trained.model, asked, classes)
    return share.position, votes.astype(np.uint8)

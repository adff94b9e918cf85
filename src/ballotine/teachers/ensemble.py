"""An ensemble: one teacher per share of the private records, and their ballots."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ballotine.data.partition import Partition
from ballotine.models import load_own_model, save_model
from ballotine.teachers.engine import Engine, LocalEngine
from ballotine.teachers.train import (
    ONE_CLASS,
    Teacher,
    TeacherKind,
    TeacherShare,
    lost_teacher,
    predict_classes,
    train_teacher,
)
from ballotine.types import IntArray, Matrix

VOTE_CHUNK = 4096
PredictBallots = Callable[[Any, Matrix], tuple[Matrix, str | None]]
"""Returns a model's ballots on some rows, and the problem if there was one."""


@dataclass(frozen=True)
class StoredTeacher:
    """A trained teacher whose model stays on disk until it is used."""

    position: int
    path: Path
    problem: None = None

    @property
    def model(self) -> Any:
        """The model, read from disk."""
        return load_own_model(self.path)


@dataclass
class Ensemble:
    """Trained teachers in the order of their shares. Private: it never leaves the holder.

    Attributes:
        teachers: one per share, broken ones included.
        classes: how many classes they choose from.
        identity: the name of this ensemble in query ids.
        problems: why some teachers cast constant ballots, by position; for the holder only.
        engine: runs the voting.
    """

    teachers: Sequence[Teacher | StoredTeacher]
    classes: int
    identity: bytes
    problems: dict[int, str] = field(default_factory=dict)
    engine: Engine = field(default_factory=lambda: LocalEngine(1))

    def __len__(self) -> int:
        return len(self.teachers)

    def __repr__(self) -> str:
        return f"<Ensemble of {len(self)} teachers: private>"

    @property
    def predict_ballots(self) -> PredictBallots:
        """Predicts a class number per row."""
        return partial(predict_classes, classes=self.classes)

    def blank(self, *shape: int) -> Matrix:
        """Return the ballots of teachers that failed: the first class."""
        return np.zeros(shape, dtype=np.int64)

    def ballots(self, X: Matrix, advance: Callable[[int], None] = lambda _: None) -> Matrix:
        """Return every teacher's ballot on every row: class numbers, shape (rows, teachers)."""
        cast = self.blank(len(X), len(self))
        work = partial(_vote, X, self.predict_ballots, self.blank(0))
        lost = partial(_lost_vote, self.blank(len(X)))
        for column, found, problem in self.engine.map(work, self._voters(), lost):
            cast[:, column] = found
            if problem is not None:
                self.problems[self.teachers[column].position] = problem
            advance(1)
        return cast

    def _voters(self) -> Iterator[tuple[int, Teacher | StoredTeacher]]:
        """Yield teachers by column, with their models if workers cannot read this disk."""
        for column, teacher in enumerate(self.teachers):
            if isinstance(teacher, Teacher) or self.engine.same_disk:
                yield column, teacher
            else:
                yield column, Teacher(teacher.position, teacher.model)


def _vote(
    X: Matrix, predict: PredictBallots, none: Matrix, voter: tuple[int, Teacher | StoredTeacher]
) -> tuple[int, Matrix, str | None]:
    """Return one teacher's column of ballots, and the problem if there was one."""
    column, teacher = voter
    model, problem, cast = teacher.model, None, [none]
    for start in range(0, len(X), VOTE_CHUNK):
        found, wrong = predict(model, X[start : start + VOTE_CHUNK])
        cast.append(found)
        problem = wrong or problem
    return column, np.concatenate(cast), problem


def _lost_vote(blank: Matrix, voter: tuple[int, Any], reason: str) -> tuple[int, Matrix, str]:
    """Return the ballots of a teacher whose process died in every attempt."""
    return voter[0], blank, reason


class TeacherStore:
    """Teachers on disk, one file each, so that training can be resumed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def load(self, position: int) -> StoredTeacher | None:
        """Return the teacher of that share, if it is stored."""
        path = self._path(position)
        return StoredTeacher(position, path) if path.exists() else None

    def save(self, teacher: Teacher) -> Teacher | StoredTeacher:
        """Move a teacher to disk; a broken one is not stored, so that a resumed run tries again."""
        if teacher.problem is not None:
            return teacher
        path = self._path(teacher.position)
        save_model(path, teacher.model, private=True)
        return StoredTeacher(teacher.position, path)

    def _path(self, position: int) -> Path:
        return self._folder / f"teacher-{position:05d}.skops"


@dataclass(frozen=True)
class Trainer:
    """How an ensemble is trained.

    Attributes:
        estimator: any scikit-learn classifier; it is cloned, never fitted itself.
        classes: how many classes, or labels, there are.
        secret: determines the seeds and the ensemble's name.
        engine: runs the training.
        store: where finished teachers are stored, or None.
        variant: anything else that the ballots depend on; part of the ensemble's name.
    """

    estimator: Any
    classes: int
    secret: bytes
    engine: Engine = field(default_factory=LocalEngine)
    store: TeacherStore | None = None
    variant: str = ""

    def train(
        self,
        X: Matrix,
        y: IntArray,
        partition: Partition,
        advance: Callable[[int], None] = lambda _: None,
    ) -> Ensemble:
        """Train one teacher per share; stored ones are reused."""
        teachers = self.teachers(ONE_CLASS, X, y, partition, advance)
        identity, problems = self.identity(len(teachers)), problems_of(teachers)
        return Ensemble(teachers, self.classes, identity, problems, self.engine)

    def teachers(
        self,
        kind: TeacherKind,
        X: Matrix,
        y: IntArray,
        partition: Partition,
        advance: Callable[[int], None],
    ) -> list[Teacher | StoredTeacher]:
        """Train the teachers of all shares, and return them in order.

        With a store, models are on disk, and memory does not grow with their number.
        """
        found: dict[int, Teacher | StoredTeacher] = {}
        missing: list[TeacherShare] = []
        for position, rows in enumerate(partition.shares):
            if self.store and (stored := self.store.load(position)):
                found[position] = stored
                advance(1)
            else:
                missing.append(TeacherShare(position, rows, self._seed(position)))
        train = partial(train_teacher, kind, self.estimator, X, y)
        for teacher in self.engine.map(train, missing, partial(lost_teacher, kind, X, y)):
            found[teacher.position] = self.store.save(teacher) if self.store else teacher
            advance(1)
        return [found[position] for position in range(len(partition.shares))]

    def identity(self, n_teachers: int) -> bytes:
        """Return the ensemble's name, as hard to guess as the secret."""
        text = f"ballotine/ensemble/1\0{n_teachers}\0{self.estimator!r}\0{self.variant}"
        return hashlib.sha256(text.encode() + self.secret).digest()

    def _seed(self, position: int) -> int:
        label = b"ballotine/teacher/1\0" + position.to_bytes(8, "big") + self.secret
        return int.from_bytes(hashlib.sha256(label).digest()[:3], "big")


def problems_of(teachers: Sequence[Teacher | StoredTeacher]) -> dict[int, str]:
    """Return why some teachers cast constant ballots, by position."""
    return {t.position: t.problem for t in teachers if t.problem is not None}

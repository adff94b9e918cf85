"""An ensemble: one teacher per share of the private records, and their ballots."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ballotine.data.partition import Partition
from ballotine.models import load_own_model, save_model
from ballotine.teachers.engine import Engine, LocalEngine
from ballotine.teachers.train import Teacher, TeacherTask, predict_classes, train_teacher
from ballotine.types import IntArray, Table

VOTE_CHUNK = 4096


@dataclass
class Ensemble:
    """Trained teachers in the order of their shares. Private: it never leaves the holder.

    Attributes:
        teachers: one per share, broken ones included.
        classes: how many classes they choose from.
        identity: names this ensemble in query ids.
    """

    teachers: list[Teacher]
    classes: int
    identity: bytes
    problems: dict[int, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.teachers)

    def __repr__(self) -> str:
        return f"<Ensemble of {len(self)} teachers: private>"

    def ballots(self, X: Table, advance: Callable[[int], None] = lambda _: None) -> IntArray:
        """Every teacher's class number for every row, shape (rows, teachers)."""
        cast = np.empty((len(X), len(self)), dtype=np.int64)
        for column, teacher in enumerate(self.teachers):
            for start in range(0, len(X), VOTE_CHUNK):
                rows = slice(start, start + VOTE_CHUNK)
                cast[rows, column], problem = predict_classes(teacher.model, X[rows], self.classes)
                if problem is not None:
                    self.problems[teacher.position] = problem
            advance(1)
        return cast


class TeacherStore:
    """Teachers on disk, one file each, so that an interrupted training resumes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def load(self, position: int) -> Teacher | None:
        """The teacher of that share, if it was trained before."""
        path = self._path(position)
        return Teacher(position, load_own_model(path)) if path.exists() else None

    def save(self, teacher: Teacher) -> None:
        """Keep a good teacher; a broken one is tried again on the next resume."""
        if teacher.problem is None:
            save_model(self._path(teacher.position), teacher.model, private=True)

    def _path(self, position: int) -> Path:
        return self._folder / f"teacher-{position:05d}.skops"


@dataclass(frozen=True)
class Trainer:
    """How an ensemble is trained.

    Attributes:
        estimator: any scikit-learn classifier; it is cloned, never fitted itself.
        engine: where the work is done.
        store: where finished teachers are kept, or None.
    """

    estimator: Any
    classes: int
    secret: bytes
    engine: Engine = field(default_factory=LocalEngine)
    store: TeacherStore | None = None

    def train(
        self,
        X: Table,
        y: IntArray,
        partition: Partition,
        advance: Callable[[int], None] = lambda _: None,
    ) -> Ensemble:
        """One teacher per share; finished ones are taken from the store."""
        trained: dict[int, Teacher] = {}
        for teacher in self._teachers(X, y, partition):
            trained[teacher.position] = teacher
            advance(1)
        teachers = [trained[position] for position in range(len(partition.groups))]
        problems = {t.position: t.problem for t in teachers if t.problem is not None}
        return Ensemble(teachers, self.classes, self.identity(len(teachers)), problems)

    def identity(self, n_teachers: int) -> bytes:
        """A name for the ensemble: unguessable when the secret is."""
        text = f"ballotine/ensemble/1\0{n_teachers}\0{self.estimator!r}\0"
        return hashlib.sha256(text.encode() + self.secret).digest()

    def _teachers(self, X: Table, y: IntArray, partition: Partition) -> Iterator[Teacher]:
        missing: list[TeacherTask] = []
        for position, group in enumerate(partition.groups):
            kept = self.store.load(position) if self.store else None
            if kept is not None:
                yield kept
            else:
                seed = self._seed(position)
                missing.append(TeacherTask(position, self.estimator, X[group], y[group], seed))
        if not missing:
            return
        for teacher in self.engine.map(train_teacher, missing):
            if self.store:
                self.store.save(teacher)
            yield teacher

    def _seed(self, position: int) -> int:
        label = b"ballotine/teacher/1\0" + position.to_bytes(8, "big") + self.secret
        return int.from_bytes(hashlib.sha256(label).digest()[:3], "big")

"""From records and a partition to an ensemble of teachers that learnt together."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ballotine.data.partition import Partition
from ballotine.errors import DataError, ParameterError
from ballotine.teachers.engine import Engine, LocalEngine
from ballotine.teachers.ensemble import Ensemble, problems_of
from ballotine.teachers.train import Teacher, TeacherTask, constant_model
from ballotine.teachers.ttac.checkpoint import RoundsCheckpoint
from ballotine.teachers.ttac.local import LocalRecords
from ballotine.teachers.ttac.network import TrainedNetwork
from ballotine.teachers.ttac.private import PrivateRounds
from ballotine.teachers.ttac.rounds import State, Together, TogetherTrainer
from ballotine.types import IntArray, Matrix

BROKEN = "DivergedError: this teacher's weights are no numbers; use a smaller step_size"


@dataclass(frozen=True)
class TtacTrainer:
    """Trains an ensemble round by round; its teachers are those of the last round.

    Attributes:
        settings: how teachers learn together.
        classes: how many classes there are.
        secret: what everything random follows from.
        engine: where teachers train within a round.
        release: what everybody sees of the moves; None for their mean, without noise.
        checkpoint: where the state is kept, or None.
    """

    settings: Together
    classes: int
    secret: bytes
    engine: Engine = field(default_factory=lambda: LocalEngine(1))
    release: PrivateRounds | None = None
    checkpoint: RoundsCheckpoint | None = None

    def train(
        self,
        X: Matrix,
        y: IntArray,
        partition: Partition,
        advance: Callable[[int], None] = lambda _: None,
    ) -> Ensemble:
        """All rounds, from where the checkpoint stands; ``advance`` is told each."""
        y = np.asarray(y)
        if y.ndim != 1 or not (y.min() >= 0 and y.max() < self.classes):
            raise DataError(f"classes must be numbers from 0 to {self.classes - 1}")
        if self.release is not None:
            _require_one_teacher_each(partition)
        records = [LocalRecords(X[group], y[group]) for group in partition.shares]
        trainer = TogetherTrainer(
            self.settings, self.classes, self.secret, self.engine, self.release
        )
        checkpoint = self._own_checkpoint(len(records))
        state = checkpoint.load() if checkpoint else None
        state = trainer.start(len(records)) if state is None else state
        if self.release is not None:
            self.release.require_paid(min(state.done, self.settings.rounds - 1))
        advance(state.done)
        for after in trainer.train(records, state):
            if checkpoint:
                checkpoint.save(after, self.settings.rounds)
            state = after
            advance(1)
        return self._ensemble(state, X.shape[1])

    def identity(self, n_teachers: int) -> bytes:
        """A name for the training: unguessable when the secret is."""
        text = f"ballotine/ttac/1\0{n_teachers}\0{self.classes}\0{self.settings.describe()}\0"
        return hashlib.sha256(text.encode() + self.secret).digest()

    def _own_checkpoint(self, n_teachers: int) -> RoundsCheckpoint | None:
        """The checkpoint of this training alone.

        A state of rounds without noise must never be taken for one of private rounds.
        """
        if self.checkpoint is None:
            return None
        shown = "plain" if self.release is None else self.release.describe()
        return self.checkpoint.narrowed(self.identity(n_teachers) + shown.encode())

    def _ensemble(self, state: State, features: int) -> Ensemble:
        teachers = [self._teacher(place, state, features) for place in range(len(state.weights))]
        name = self.identity(len(teachers))
        if self.release is not None:
            # Other noise makes other teachers: answers and ballots of those are not theirs.
            noised = self.release.describe().encode() + state.theta.tobytes()
            name = hashlib.sha256(name + noised).digest()
        return Ensemble(teachers, self.classes, name, problems_of(teachers))

    def _teacher(self, place: int, state: State, features: int) -> Teacher:
        if state.broken[place]:
            nothing = TeacherTask(place, None, np.zeros((1, features)), np.zeros(1, np.int64), 0)
            return Teacher(place, constant_model(0, nothing), BROKEN)
        how = self.settings
        own, buffers = state.weights[place], state.buffers[place]
        model = TrainedNetwork(how.network, how.shape, self.classes, own, buffers)
        return Teacher(place, model)


def _require_one_teacher_each(partition: Partition) -> None:
    """A record in several teachers would move the sum more than rounds are charged for."""
    places = np.concatenate(partition.shares)
    if len(np.unique(places)) < len(places):
        raise ParameterError(
            "private rounds need every record in one teacher only; records that are taught "
            "several times (upsampling) would cost more than a round is charged"
        )

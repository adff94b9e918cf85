"""Train an ensemble of teachers that learn together."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ballotine.data.partition import Partition
from ballotine.errors import DataError, ParameterError
from ballotine.neural import TorchClassifier
from ballotine.teachers.engine import Engine, LocalEngine
from ballotine.teachers.ensemble import Ensemble, problems_of
from ballotine.teachers.together import LearnTogether, RoundsAccount, require_network
from ballotine.teachers.train import Teacher, constant_model
from ballotine.teachers.ttac.local import LocalRecords
from ballotine.teachers.ttac.network import Architecture, TrainedNetwork
from ballotine.teachers.ttac.private import PrivateRounds
from ballotine.teachers.ttac.rounds import Rounds
from ballotine.teachers.ttac.state import RoundsCheckpoint, State
from ballotine.types import IntArray, Matrix

BROKEN = "DivergedError: this teacher's weights are not finite; use a smaller step_size"


@dataclass(frozen=True)
class TtacTrainer:
    """Trains an ensemble round by round; its teachers are those of the last round.

    Attributes:
        network: unfitted; only its ``network``, ``shape`` and ``batch`` are used.
        settings: how teachers learn together.
        classes: how many classes there are.
        secret: determines everything random but the noise.
        engine: runs the teachers of a round.
        account: pays for private rounds; None if there are none.
        folder: where the state is stored, so that training can be resumed; or None. Private.
        digest: of the training's inputs besides settings and secret; a stored state with
            another digest is refused.
    """

    network: TorchClassifier
    settings: LearnTogether
    classes: int
    secret: bytes
    engine: Engine = field(default_factory=lambda: LocalEngine(1))
    account: RoundsAccount | None = None
    folder: Path | None = None
    digest: str = ""

    def __post_init__(self) -> None:
        require_network(self.network)
        if self.settings.private and self.account is None:
            raise ParameterError("private rounds (clip) need an account that pays for them")

    def train(
        self,
        X: Matrix,
        y: IntArray,
        partition: Partition,
        advance: Callable[[int], None] = lambda _: None,
    ) -> Ensemble:
        """Run all rounds that are left; call ``advance`` after each."""
        records = self._records(X, y, partition)
        name = self.identity(len(records), X.shape[1])
        release = self._release(name)
        architecture = self._architecture(X.shape[1])
        rounds = Rounds(
            architecture, self.settings, self.network.batch, self.secret, self.engine, release
        )
        checkpoint = self._checkpoint(name, release)
        state = checkpoint.load() if checkpoint else None
        state = rounds.start(len(records)) if state is None else state
        if release is not None:
            release.require_paid(min(state.done, self.settings.rounds - 1))
        advance(state.done)
        for after in rounds.train(records, state):
            if checkpoint:
                checkpoint.save(after)
            state = after
            advance(1)
        if release is not None:
            # Other noise makes other teachers, which must not reuse ballots or answers.
            noised = release.describe().encode() + state.theta.tobytes()
            name = hashlib.sha256(name + noised).digest()
        return _ensemble(state, architecture, name, X.shape[1])

    def identity(self, n_teachers: int, features: int) -> bytes:
        """Return a name for the training, as hard to guess as the secret.

        The names of ensembles and rounds in existing ledgers depend on this text.
        """
        how, network = self.settings, self._architecture(features)
        text = (
            f"ballotine/ttac/1\0{n_teachers}\0{self.classes}\0"
            f"Together(network={network.name!r}, shape={network.shape!r}, method={how.method!r}, "
            f"rounds={how.rounds!r}, steps={how.steps!r}, batch={self.network.batch!r}, "
            f"step_size={how.step_size!r}, decay={how.decay!r}, "
            f"averaging_step={how.averaging_step!r})\0"
        )
        return hashlib.sha256(text.encode() + self.secret).digest()

    def _records(self, X: Matrix, y: IntArray, partition: Partition) -> list[LocalRecords]:
        y = np.asarray(y)
        if y.ndim != 1 or not (y.min() >= 0 and y.max() < self.classes):
            raise DataError(f"classes must be numbers from 0 to {self.classes - 1}")
        if self.settings.private:
            _require_one_teacher_each(partition)
        return [LocalRecords(X[share], y[share]) for share in partition.shares]

    def _architecture(self, features: int) -> Architecture:
        shape = (features,) if self.network.shape is None else tuple(self.network.shape)
        return Architecture(self.network.network, shape, self.classes)

    def _release(self, name: bytes) -> PrivateRounds | None:
        """Return what adds noise to rounds and pays for them, or None."""
        account, clip = self.account, self.settings.clip
        if account is None or clip is None:
            return None
        return PrivateRounds(
            clip,
            self.settings.noise_for(account.ledger.terms.loosest),
            account.ledger,
            account.noise,
            name if account.name is None else account.name,
            None if self.folder is None else self.folder / "rounds",
            account.run,
        )

    def _checkpoint(self, name: bytes, release: PrivateRounds | None) -> RoundsCheckpoint | None:
        """Return the checkpoint of this training.

        Its name depends on the noise, so that a state without noise is never used for private
        rounds.
        """
        if self.folder is None:
            return None
        digest = self.digest.encode()
        noise = "plain" if release is None else release.describe()
        own = len(digest).to_bytes(4, "big") + digest + name + noise.encode()
        return RoundsCheckpoint(self.folder / "together.npz", own)


def _ensemble(state: State, architecture: Architecture, name: bytes, features: int) -> Ensemble:
    teachers = [
        _teacher(place, state, architecture, features) for place in range(len(state.weights))
    ]
    return Ensemble(teachers, architecture.outputs, name, problems_of(teachers))


def _teacher(place: int, state: State, architecture: Architecture, features: int) -> Teacher:
    if state.broken[place]:
        return Teacher(place, constant_model(0, features), BROKEN)
    network, shape, outputs = architecture.network, architecture.shape, architecture.outputs
    own, buffers = state.weights[place], state.buffers[place]
    return Teacher(place, TrainedNetwork(network, shape, outputs, own, buffers))


def _require_one_teacher_each(partition: Partition) -> None:
    """Refuse records in several shares: they change the sum by more than rounds are charged."""
    places = np.concatenate(partition.shares)
    if len(np.unique(places)) < len(places):
        raise ParameterError(
            "private rounds need every record in one share only; records in several shares "
            "(upsampling) would cost more than a round is charged"
        )

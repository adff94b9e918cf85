"""Rounds that are themselves private: clipped moves, noise on their sum, paid in the ledger.

Teachers see nothing of each other but the noised averaging model, from which each derives
the shared control variate; its own stays with it. A replaced record changes one teacher's
clipped move by at most 2C, so a round costs 2α/z². Given the noised models every teacher
depends on its own records alone, and the votes cost what votes of separate teachers cost.
Proof: docs/proofs/private-ttac.md.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ballotine.errors import LedgerMismatchError, ParameterError, RunFolderError
from ballotine.files import produce_atomic
from ballotine.ledger import Binding, Charge, GroupCharge, Ledger, Mode
from ballotine.noise import NoiseSource, QueryNoise
from ballotine.privacy.events import ClippedSum, Event
from ballotine.teachers.ttac.network import Weights
from ballotine.types import FloatArray, IntArray

DONE = 0
"""The answer to a round in the ledger: it was released."""


@dataclass(frozen=True)
class PrivateRounds:
    """Turns moves into a noised mean, and pays for it first.

    A round whose mean was kept is never paid for or drawn again. If the ledger knows a round as
    released but its mean is lost, drawing it anew is another release and is paid for again.
    Where groups of records have budgets of their own, each pays every round in full: a record
    is in one teacher, whichever group it belongs to, and moves the sum by as much.

    Attributes:
        clip: C, the largest norm of a teacher's move.
        noise_multiplier: z; the sum gets noise of deviation z·C on every weight.
        ledger: pays for rounds, and for the votes after them; in strict mode.
        noise: where the noise comes from.
        ensemble: names the rounds, so that a resumed training pays no round twice.
        folder: where released means are kept; None for a training that is never resumed.
        run: a label for ``ballotine ledger show``.
    """

    clip: float
    noise_multiplier: float
    ledger: Ledger
    noise: NoiseSource
    ensemble: bytes
    folder: Path | None = None
    run: str = ""

    def __post_init__(self) -> None:
        if not (np.isfinite(self.clip) and self.clip > 0):
            raise ParameterError(f"the clipping norm must be positive, got {self.clip}")
        ClippedSum(self.noise_multiplier)
        mode = self.ledger.terms.mode
        if mode is not Mode.STRICT:
            raise ParameterError(
                f"private rounds need a ledger in strict mode, and this one is in {mode} mode: "
                "data-dependent costs are not proven for teachers that learnt together"
            )

    def __call__(self, number: int, moves: Weights) -> Weights:
        """The noised mean of clipped moves, after its cost is on disk."""
        name = self._unreleased(number)
        kept = self._kept(name, moves.shape[1])
        grant = self.ledger.reserve([name], self.binding(), run=self.run, seeded=self.noise.seeded)
        if not grant.ids:
            raise self.ledger.refusal(self.binding())
        if kept is None:
            kept = self._drawn(name, moves)
            self._keep(name, kept)
        self.ledger.record(grant, np.array([DONE]), self._released, run=self.run)
        return kept

    def binding(self) -> Binding:
        """What one round costs each group, and what that rests on."""
        share = GroupCharge((ClippedSum(self.noise_multiplier),))
        charge = Charge(tuple((group, share) for group, _ in self.ledger.terms.budgets))
        return Binding(charge, self.ledger.keyed(self.ensemble).hex(), self.describe())

    def require_paid(self, rounds: int) -> None:
        """Refuse to resume after rounds that this ledger has not paid for.

        Args:
            rounds: how many were released before, according to the kept training.
        """
        names = [self._name(number, 0) for number in range(rounds)]
        if len(self.ledger.lookup(names)) < len(names):
            raise LedgerMismatchError(
                "the kept training has rounds that are not in this ledger; use the ledger that "
                "paid for them, or remove the kept training to start again"
            )

    def describe(self) -> str:
        """Canonical text: equal text means rounds of equal price."""
        return f"clip={self.clip!r} noise_multiplier={self.noise_multiplier!r}"

    def _released(self, answers: IntArray, _group: str) -> Counter[Event]:
        return Counter({ClippedSum(self.noise_multiplier): len(answers)})

    def _drawn(self, name: bytes, moves: Weights) -> Weights:
        total = clipped(moves, self.clip).sum(axis=0)
        scale = self.noise_multiplier * self.clip
        draw = QueryNoise(self.noise, [name]).gaussian(scale, total.size)[0]
        mean: Weights = ((total + draw) / len(moves)).astype(np.float32)
        return mean

    def _unreleased(self, number: int) -> bytes:
        """The name of this round: the first attempt that is kept, or not released yet."""
        attempt = 0
        while True:
            name = self._name(number, attempt)
            if name not in self.ledger.lookup([name]) or self._has(name):
                return name
            attempt += 1

    def _name(self, number: int, attempt: int) -> bytes:
        text = f"ballotine/ttac-round/1\0{number}\0{attempt}\0{self.describe()}\0"
        return hashlib.sha256(text.encode() + self.ensemble).digest()

    def _path(self, name: bytes) -> Path | None:
        return None if self.folder is None else self.folder / f"round-{name.hex()[:32]}.npy"

    def _has(self, name: bytes) -> bool:
        path = self._path(name)
        return path is not None and path.exists()

    def _kept(self, name: bytes, size: int) -> Weights | None:
        path = self._path(name)
        if path is None or not path.exists():
            return None
        try:
            mean = np.load(path, allow_pickle=False)
        except (OSError, ValueError, EOFError) as problem:
            raise RunFolderError(_damaged(path)) from problem
        if mean.shape != (size,) or mean.dtype != np.float32:
            raise RunFolderError(_damaged(path))
        return np.asarray(mean, dtype=np.float32)

    def _keep(self, name: bytes, mean: Weights) -> None:
        """Write it to disk before it is used: drawing it again would be another release."""
        path = self._path(name)
        if path is not None:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            produce_atomic(path, lambda stream: np.save(stream, mean), private=True)


def clipped(moves: Weights, clip: float) -> FloatArray:
    """Moves scaled down to norm C; one that is not finite counts as no move."""
    wide = np.asarray(moves, dtype=np.float64)
    good = np.where(np.all(np.isfinite(wide), axis=1, keepdims=True), wide, 0.0)
    norms = np.linalg.norm(good, axis=1, keepdims=True)
    # Rounding must not leave a norm above C: shrink by a touch more.
    scale = np.minimum(1.0, clip / np.maximum(norms, 1e-300)) * (1.0 - 1e-12)
    result: FloatArray = good * scale
    return result


def _damaged(path: Path) -> str:
    return f"{path.name} does not hold a round of this training; remove it to pay for it again"

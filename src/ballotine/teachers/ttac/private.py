"""Private rounds: updates are clipped, their sum gets noise, and the ledger pays.

Teachers see nothing of each other but the noisy averaging model, from which each derives the
shared control variate; its own control variate stays with it. A replaced record changes one
teacher's clipped update by at most 2C, so a round costs 2α/z². Given the noisy models, every
teacher depends on its own records only, and votes cost what votes of separate teachers cost.
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
"""The answer that the ledger stores for a released round."""


@dataclass(frozen=True)
class PrivateRounds:
    """Turns updates into a noisy mean, after paying for it.

    A round whose mean is stored is never paid for or drawn again. If the ledger lists a round as
    released but its mean is lost, drawing it again is another release and is paid for again.
    With individual budgets, every group pays for every round in full: a record has one teacher,
    whatever its group, and the same effect on the sum.

    Attributes:
        clip: C, the largest norm of a teacher's update.
        noise_multiplier: z; noise with standard deviation z·C is added to every weight of the
            sum.
        ledger: pays for the rounds and for the votes after them; in strict mode.
        noise: the source of the noise.
        ensemble: names the rounds, so that resumed training pays for no round twice.
        folder: where released means are stored; None if training is never resumed.
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
            raise ParameterError(f"clip must be positive, got {self.clip}")
        ClippedSum(self.noise_multiplier)
        mode = self.ledger.terms.mode
        if mode is not Mode.STRICT:
            raise ParameterError(
                f"private rounds need a ledger in strict mode, but this one is in {mode} mode: "
                "data-dependent costs are not proven for teachers that learn together"
            )

    def __call__(self, number: int, updates: Weights) -> Weights:
        """Return the noisy mean of clipped updates, after its cost is on disk."""
        name = self._unreleased(number)
        mean = self._load(name, updates.shape[1])
        grant = self.ledger.reserve([name], self.binding(), run=self.run, seeded=self.noise.seeded)
        if not grant.ids:
            raise self.ledger.refusal(self.binding())
        if mean is None:
            mean = self._draw(name, updates)
            self._save(name, mean)
        self.ledger.record(grant, np.array([DONE]), self._released, run=self.run)
        return mean

    def binding(self) -> Binding:
        """Return what one round costs each group, bound to these settings."""
        share = GroupCharge((ClippedSum(self.noise_multiplier),))
        charge = Charge(tuple((group, share) for group, _ in self.ledger.terms.budgets))
        return Binding(charge, self.ledger.keyed(self.ensemble).hex(), self.describe())

    def require_paid(self, rounds: int) -> None:
        """Refuse to resume training whose rounds this ledger has not paid for.

        Args:
            rounds: how many rounds the stored training has released.
        """
        names = [self._name(number, 0) for number in range(rounds)]
        if len(self.ledger.lookup(names)) < len(names):
            raise LedgerMismatchError(
                "the stored training has rounds that are not in this ledger; use the ledger that "
                "paid for them, or remove the stored training to start again"
            )

    def describe(self) -> str:
        """Return canonical text: equal text means equal cost."""
        return f"clip={self.clip!r} noise_multiplier={self.noise_multiplier!r}"

    def _released(self, answers: IntArray, _group: str) -> Counter[Event]:
        return Counter({ClippedSum(self.noise_multiplier): len(answers)})

    def _draw(self, name: bytes, updates: Weights) -> Weights:
        total = clipped(updates, self.clip).sum(axis=0)
        scale = self.noise_multiplier * self.clip
        draw = QueryNoise(self.noise, [name]).gaussian(scale, total.size)[0]
        mean: Weights = ((total + draw) / len(updates)).astype(np.float32)
        return mean

    def _unreleased(self, number: int) -> bytes:
        """Return the name of the round's first attempt that is stored or not released yet."""
        attempt = 0
        while True:
            name = self._name(number, attempt)
            if name not in self.ledger.lookup([name]) or self._is_stored(name):
                return name
            attempt += 1

    def _name(self, number: int, attempt: int) -> bytes:
        text = f"ballotine/ttac-round/1\0{number}\0{attempt}\0{self.describe()}\0"
        return hashlib.sha256(text.encode() + self.ensemble).digest()

    def _path(self, name: bytes) -> Path | None:
        return None if self.folder is None else self.folder / f"round-{name.hex()[:32]}.npy"

    def _is_stored(self, name: bytes) -> bool:
        path = self._path(name)
        return path is not None and path.exists()

    def _load(self, name: bytes, size: int) -> Weights | None:
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

    def _save(self, name: bytes, mean: Weights) -> None:
        """Write the mean before it is used: drawing it again would be another release."""
        path = self._path(name)
        if path is not None:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            produce_atomic(path, lambda stream: np.save(stream, mean), private=True)


def clipped(updates: Weights, clip: float) -> FloatArray:
    """Scale updates down to norm C; one that is not finite becomes zero."""
    wide = np.asarray(updates, dtype=np.float64)
    good = np.where(np.all(np.isfinite(wide), axis=1, keepdims=True), wide, 0.0)
    norms = np.linalg.norm(good, axis=1, keepdims=True)
    # Rounding must not leave a norm above C: shrink slightly more.
    scale = np.minimum(1.0, clip / np.maximum(norms, 1e-300)) * (1.0 - 1e-12)
    result: FloatArray = good * scale
    return result


def _damaged(path: Path) -> str:
    return f"{path.name} is not a round of this training; remove it to draw and pay for it again"

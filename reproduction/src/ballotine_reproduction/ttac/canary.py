"""A canary against teachers that learn together: is a vote still private, as the paper assumes?

One record of one teacher is marked by a feature that no other record has. It is in the data with
one label or with the other, and the mechanism answers one query: that record's own features. When
teachers learn alone, one vote of ten depends on the label. When they average their weights, the
label reaches them all, and the answer tells it far better than the ε of one vote allows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ballotine.audit import AuditResult, audit_release
from ballotine.data.partition import Partition
from ballotine.ledger import Ledger
from ballotine.neural import TorchClassifier
from ballotine.noise import QueryNoise, SeededNoise
from ballotine.privacy.events import ClippedSum, Event, LaplaceArgmax
from ballotine.privacy.guarantee import Budget
from ballotine.privacy.plan import epsilon_of
from ballotine.teachers.ttac import LearnTogether, Method, RoundsAccount, TtacTrainer
from ballotine.types import FloatArray, IntArray
from ballotine.voting import LNMax
from ballotine_reproduction.experiment import Setting
from ballotine_reproduction.table import Row, Table

TEACHERS, RECORDS, FEATURES = 10, 20, 6
GAMMA = 0.3
DELTA = 1e-5
ROUNDS, STEPS = 5, 2
CLIP, NOISE = 1.0, 7.0
TRIALS, QUICK_TRIALS = 300, 60
_SETTING = (
    f"{TEACHERS} teachers of {RECORDS} made-up records, logistic regression, {ROUNDS} rounds of "
    f"{STEPS} steps; one answer by LNMax with γ = {GAMMA}; every trial trains again"
)
_WORLDS = (
    "the worlds differ in the label of one record; claimed: the ε of everything released, for "
    "TTAC and averaging under the assumption that one record changes one ballot at most"
)
_SHOWN = "shown: a lower bound on ε with 99 % confidence; above the claim, the claim is false"
NOTES = (_SETTING, _WORLDS, _SHOWN)


@dataclass(frozen=True)
class World:
    """One way to learn, and the two data sets that differ in one record's label.

    Attributes:
        method: how teachers learn.
        private: whether rounds carry noise that is paid for.
    """

    method: Method
    private: bool = False

    @property
    def name(self) -> str:
        """For the table."""
        return f"{self.method}, private rounds" if self.private else str(self.method)

    @property
    def claimed(self) -> float:
        """The ε of one answer, and of the rounds where they are paid for."""
        paid: list[tuple[Event, float]] = [(LaplaceArgmax(GAMMA), 1)]
        if self.private:
            paid.append((ClippedSum(NOISE), ROUNDS - 1))
        return epsilon_of(paid, DELTA)

    def answer(self, canary: bool, seed: int) -> int:
        """Train, vote on the canary's features, and answer."""
        X, y, partition = _records(canary, seed)
        clip, multiplier = (CLIP, NOISE) if self.private else (None, None)
        settings = LearnTogether(
            self.method, ROUNDS, STEPS, 1.5, decay=1.0, clip=clip, noise_multiplier=multiplier
        )
        secret = seed.to_bytes(8, "big")
        network = TorchClassifier("linear", batch=RECORDS)
        trainer = TtacTrainer(network, settings, 2, secret, account=self._account(seed))
        ballots = trainer.train(X, y, partition).ballots(X[:1])
        mechanism = LNMax(GAMMA)
        noise = QueryNoise(SeededNoise(seed), [b"canary"])
        return int(mechanism.release(mechanism.tally(ballots, 2), noise)[0])

    def _account(self, seed: int) -> RoundsAccount | None:
        if not self.private:
            return None
        ledger = Ledger.open(None, Budget(1e3, DELTA))
        return RoundsAccount(ledger, SeededNoise(seed), name=seed.to_bytes(8, "big"))


WORLDS = (
    World("conventional"),
    World("averaging"),
    World("ttac"),
    World("ttac", private=True),
)


def canary(setting: Setting) -> Table:
    """A lower bound on ε for each way to learn, beside what is claimed."""
    trials = QUICK_TRIALS if setting.quick else TRIALS
    rows: list[Row] = []
    for world in WORLDS:
        found = audit(world, trials, setting)
        verdict = "refuted" if found.exceeded else "stands"
        rows.append((world.name, f"{world.claimed:.2f}", f"{max(found.lower, 0.0):.2f}", verdict))
    title = "A canary against teachers that learn together"
    columns = ("teachers learn by", "claimed ε ≤", "shown ε ≥", "the claim")
    trial_note = f"{trials} trials on either side, half of which choose the event"
    return Table(title, columns, rows, (*NOTES, trial_note))


def audit(world: World, trials: int, setting: Setting) -> AuditResult:
    """Run both worlds repeatedly; the answer itself is the score."""
    seeds = iter(range(2 * trials))
    return audit_release(
        lambda with_canary: float(world.answer(with_canary, next(seeds))),
        trials=trials,
        claimed=world.claimed,
        delta=DELTA,
        subject=world.name,
        progress=setting.progress,
    )


def _records(canary: bool, seed: int) -> tuple[FloatArray, IntArray, Partition]:
    """Two clouds of points, dealt in turn; record 0 alone uses the last feature."""
    draw = np.random.default_rng([seed, 11])
    number = TEACHERS * RECORDS
    y = draw.integers(0, 2, number)
    X = draw.normal(0, 1, (number, FEATURES)) + 2.0 * y[:, None] - 1.0
    X[:, -1] = 0.0
    X[0], y[0] = 0.0, int(canary)
    X[0, -1] = 10.0
    groups = tuple(np.arange(teacher, number, TEACHERS) for teacher in range(TEACHERS))
    return X.astype(np.float32), y.astype(np.int64), Partition(groups, data_dependent=False)

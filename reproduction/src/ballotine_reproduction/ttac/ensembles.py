"""Ensembles that learn together, and their votes on the public rows."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial

import numpy as np

from ballotine.data.partition import Partition, make_partition
from ballotine.teachers.engine import LocalEngine
from ballotine.teachers.ttac import Method, TtacTrainer
from ballotine.types import IntArray
from ballotine_reproduction.cache import cache_path, cached_arrays
from ballotine_reproduction.experiment import Setting
from ballotine_reproduction.pool import Pool
from ballotine_reproduction.ttac.effort import TrainingEffort, effort_of
from ballotine_reproduction.ttac.pools import CLASSES, HIDDEN, TEACHERS


@dataclass(frozen=True)
class EnsembleKey:
    """Which ensemble: everything its votes depend on, besides the rows and the training.

    Attributes:
        method: how its teachers learn.
        similarity: s in percent.
        seed: determines the split, the first weights and the batches.
        times: multiplies the usual number of steps.
    """

    method: Method
    similarity: float
    seed: int
    times: int = 1

    @property
    def secret(self) -> bytes:
        """Seeds the split and the training."""
        return f"ballotine/experiments/ttac/{self.seed}".encode()

    def partition(self, pool: Pool) -> Partition:
        """The paper's split: s % alike, the rest sorted by label."""
        return make_partition("similarity", pool.y, TEACHERS, self.secret, s=self.similarity)


def votes_by_seed(
    setting: Setting, pool: Pool, method: Method, similarity: float, times: int = 1
) -> list[IntArray]:
    """The votes of one ensemble per seed."""
    keys = [EnsembleKey(method, similarity, seed, times) for seed in setting.seed_range()]
    return [ballots(setting, pool, key) for key in keys]


def ballots(
    setting: Setting, pool: Pool, which: EnsembleKey, effort: TrainingEffort | None = None
) -> IntArray:
    """Every teacher's class for every public row, shape (rows, teachers).

    Args:
        setting: how the experiment is carried out.
        pool: the rows.
        which: the ensemble.
        effort: its training; that of the tables when absent.
    """
    if effort is None:
        effort = effort_of(setting, pool, which.method, which.times)
    train = partial(_train, setting, pool, which, effort)
    facts = (pool.digest, asdict(which), repr(effort), HIDDEN)
    path = cache_path(setting.cache, "ttac", ".npz", *facts)
    kinds = {"votes": (np.uint8, (len(pool.X_public), TEACHERS))}
    found = cached_arrays(path, kinds, lambda: {"votes": train()})
    return found["votes"].astype(np.int64)


def _train(setting: Setting, pool: Pool, which: EnsembleKey, effort: TrainingEffort) -> IntArray:
    engine = LocalEngine(setting.jobs)
    trainer = TtacTrainer(effort.network, effort.settings, CLASSES, which.secret, engine)
    stage = f"{which.method}, s = {which.similarity:g} %, seed {which.seed}"
    with setting.progress.stage(stage, effort.settings.rounds) as advance:
        ensemble = trainer.train(pool.X, pool.y, which.partition(pool), advance)
    return ensemble.ballots(pool.X_public)

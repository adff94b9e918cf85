"""Training ensembles and keeping their votes, so that tables on the same teachers share them."""

from __future__ import annotations

import hashlib
import zipfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from ballotine.data.partition import Partition, make_partition
from ballotine.files import produce_atomic
from ballotine.teachers.engine import LocalEngine
from ballotine.teachers.ttac import Method, Together, TtacTrainer
from ballotine.types import IntArray
from ballotine_reproduction.table import Setting
from ballotine_reproduction.ttac.effort import settings_of
from ballotine_reproduction.ttac.pools import TEACHERS, Pool

CLASSES = 10
FORMAT = b"ballotine/experiments/ttac/1\0"


@dataclass(frozen=True)
class EnsembleKey:
    """Which ensemble: everything that its votes depend on, besides the rows.

    Attributes:
        method: how its teachers learn.
        similarity: s in percent.
        seed: what the split, the first weights and the batches follow from.
        times: how many times the usual steps.
    """

    method: Method
    similarity: float
    seed: int
    times: int = 1

    @property
    def secret(self) -> bytes:
        """Of the split and of the training."""
        return f"ballotine/experiments/ttac/{self.seed}".encode()

    def partition(self, pool: Pool) -> Partition:
        """The paper's split: s % alike, the rest sorted by label."""
        return make_partition("similarity", pool.y, TEACHERS, self.secret, s=self.similarity)


def ballots(
    setting: Setting, pool: Pool, which: EnsembleKey, how: Together | None = None
) -> IntArray:
    """Every teacher's class for every public row, shape (rows, teachers).

    Args:
        setting: how the experiment is carried out.
        pool: the rows.
        which: the ensemble.
        how: its training; that of the tables when absent.
    """
    how = settings_of(setting, pool, which.method, which.times) if how is None else how
    kept = _place(setting, pool, which, how)
    shape = (len(pool.X_public), TEACHERS)
    found = load_votes(kept, shape)
    if found is None:
        found = _train(setting, pool, which, how)
        keep_votes(kept, found)
    return found


def _train(setting: Setting, pool: Pool, which: EnsembleKey, how: Together) -> IntArray:
    trainer = TtacTrainer(how, CLASSES, which.secret, LocalEngine(setting.jobs))
    stage = f"{which.method}, s = {which.similarity:g} %, seed {which.seed}"
    with setting.progress.stage(stage, how.rounds) as advance:
        ensemble = trainer.train(pool.X, pool.y, which.partition(pool), advance)
    return ensemble.ballots(pool.X_public)


def _place(setting: Setting, pool: Pool, which: EnsembleKey, how: Together) -> Path | None:
    """The file for these votes: its name follows from everything they depend on."""
    if setting.cache is None:
        return None
    name = hashlib.sha256(FORMAT + pool.digest + f"{which!r}{how.describe()}".encode())
    return setting.cache / f"ttac-{name.hexdigest()[:40]}.npz"


def load_votes(path: Path | None, shape: tuple[int, int]) -> IntArray | None:
    """Votes that were kept; a file that does not hold them is trained again."""
    if path is None or not path.is_file():
        return None
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            votes = archive["votes"]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None
    return votes.astype(np.int64) if votes.shape == shape else None


def keep_votes(path: Path | None, votes: IntArray) -> None:
    """Keep votes for the next table."""
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        produce_atomic(path, partial(np.savez_compressed, votes=votes.astype(np.uint8)))

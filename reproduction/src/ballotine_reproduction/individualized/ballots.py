"""Training teachers and keeping their votes, so that tables on the same teachers share them."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ballotine.files import produce_atomic
from ballotine.teachers.engine import LocalEngine
from ballotine.teachers.train import TeacherTask, predict_classes, train_teacher
from ballotine.types import IntArray, Matrix
from ballotine_reproduction.individualized.elections import Ballots
from ballotine_reproduction.individualized.sets import Pool
from ballotine_reproduction.table import Setting

BATCH = 10
FORMAT = b"ballotine/experiments/individualized/1\0"


@dataclass(frozen=True)
class TeacherBatch:
    """Teachers that one process trains in one go: their positions and their records."""

    first: int
    shares: tuple[IntArray, ...]


def cast_ballots(
    setting: Setting, pool: Pool, shares: Sequence[IntArray], asked: IntArray, seed: int
) -> Ballots:
    """Every teacher's class for every asked row, shape (asked, teachers).

    Args:
        setting: says how many processes train, and where votes are kept.
        pool: the rows.
        shares: the rows each teacher learns from.
        asked: the rows they vote on.
        seed: what the teachers' own randomness follows from.
    """
    kept = _place(setting, pool, shares, asked, seed)
    found = _load(kept, (len(asked), len(shares)))
    if found is None:
        found = _train(setting, pool, shares, asked, seed)
        if kept is not None:
            kept.parent.mkdir(parents=True, exist_ok=True)
            produce_atomic(kept, partial(np.savez_compressed, votes=found))
    return found


def _train(
    setting: Setting, pool: Pool, shares: Sequence[IntArray], asked: IntArray, seed: int
) -> Ballots:
    votes = np.empty((len(asked), len(shares)), dtype=np.uint8)
    batches = [
        TeacherBatch(start, tuple(shares[start : start + BATCH]))
        for start in range(0, len(shares), BATCH)
    ]
    work = partial(_teach, pool.estimator, pool.X, pool.y, pool.X[asked], pool.classes, seed)
    stage = f"{pool.name}: teachers, seed {seed}"
    with setting.progress.stage(stage, len(shares)) as advance:
        for first, cast in LocalEngine(setting.jobs).map(work, batches):
            votes[:, first : first + cast.shape[1]] = cast
            advance(cast.shape[1])
    return votes


def _teach(
    estimator: Any,
    X: Matrix,
    y: IntArray,
    asked: Matrix,
    classes: int,
    seed: int,
    batch: TeacherBatch,
) -> tuple[int, Ballots]:
    cast = np.empty((len(asked), len(batch.shares)), dtype=np.uint8)
    for column, share in enumerate(batch.shares):
        position = batch.first + column
        own = seed * 1_000_003 + position
        teacher = train_teacher(TeacherTask(position, estimator, X[share], y[share], own))
        cast[:, column], _ = predict_classes(teacher.model, asked, classes)
    return batch.first, cast


def _place(
    setting: Setting, pool: Pool, shares: Sequence[IntArray], asked: IntArray, seed: int
) -> Path | None:
    """The file for these votes: its name follows from everything they depend on."""
    if setting.cache is None:
        return None
    name = hashlib.sha256(FORMAT + pool.digest + seed.to_bytes(8, "big"))
    for rows in (asked, *shares):
        name.update(len(rows).to_bytes(8, "big") + np.asarray(rows, dtype="<i8").tobytes())
    return setting.cache / f"votes-{name.hexdigest()[:40]}.npz"


def _load(path: Path | None, shape: tuple[int, int]) -> Ballots | None:
    """Votes that were kept; a file that does not hold them is trained again."""
    if path is None or not path.is_file():
        return None
    try:
        with np.load(path, allow_pickle=False) as archive:
            votes: Ballots = archive["votes"]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None
    return votes if votes.shape == shape and votes.dtype == np.uint8 else None

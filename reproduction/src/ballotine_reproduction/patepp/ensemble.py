"""The teachers: 250 of 240 records each, on patches of public images."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.svm import SVC

from ballotine.data.partition import make_partition
from ballotine.features import PatchFeatures
from ballotine.teachers.train import TeacherShare
from ballotine.types import IntArray, Matrix
from ballotine_reproduction.cache import Array, cache_path, cached_arrays, digest
from ballotine_reproduction.experiment import Setting
from ballotine_reproduction.pool import Pool
from ballotine_reproduction.teaching import cast_ballots

CLASSES = 10
TEACHERS = 250
SECRET = b"ballotine/experiments/patepp"


@dataclass(frozen=True, eq=False)
class VotedPool:
    """Rows, and what the teachers say about the public ones.

    Attributes:
        rows: the rows themselves; y_public and y_test serve evaluation only.
        ballots: class numbers, shape (public rows, teachers).
        patches: features of the public rows, learnt from these.
        patches_test: the same of the test rows.
    """

    rows: Pool
    ballots: IntArray
    patches: Matrix
    patches_test: Matrix

    @property
    def name(self) -> str:
        """What titles call the set."""
        return self.rows.name

    @property
    def notes(self) -> tuple[str, ...]:
        """What readers of a table should know about the rows."""
        return self.rows.notes

    @cached_property
    def digest(self) -> bytes:
        """Changes with any row, ballot or feature."""
        return digest(self.rows.digest, self.ballots, self.patches, self.patches_test)

    def held_out(self, asked: IntArray, held_out: IntArray) -> VotedPool:
        """Some public rows stay public, others take the place of the test rows."""
        return replace(
            self,
            rows=self.rows.held_out(asked, held_out),
            ballots=self.ballots[asked],
            patches=self.patches[asked],
            patches_test=self.patches[held_out],
        )


def teacher() -> Any:
    """What each of the 250 is."""
    return SVC(C=10.0)


def features(pool: Pool) -> PatchFeatures:
    """What teachers and students see of an image: learnt from public ones alone."""
    return _unfitted_features(pool).fit(pool.X_public)


def _unfitted_features(pool: Pool) -> PatchFeatures:
    return PatchFeatures(pool.image_shape, random_state=0)


def with_votes(setting: Setting, pool: Pool) -> VotedPool:
    """Train all teachers, or take their votes from the cache."""
    facts = (pool.digest, TEACHERS, repr(teacher()), repr(_unfitted_features(pool)))
    path = cache_path(setting.cache, "patepp-teachers", ".npz", *facts)
    found = cached_arrays(
        path,
        {
            "ballots": (np.uint8, (len(pool.X_public), TEACHERS)),
            "patches": (np.float32, (len(pool.X_public), None)),
            "patches_test": (np.float32, (len(pool.X_test), None)),
        },
        lambda: _train(setting, pool),
    )
    ballots = found["ballots"].astype(np.int64)
    return VotedPool(pool, ballots, found["patches"], found["patches_test"])


def _train(setting: Setting, pool: Pool) -> dict[str, Array]:
    with setting.progress.stage(f"{pool.name}: patches", 1) as advance:
        seen = features(pool)
        X, public, test = map(seen.transform, (pool.X, pool.X_public, pool.X_test))
        advance(1)
    shares = shares_of(pool.y, TEACHERS)
    ballots = cast_ballots(setting, teacher(), X, pool.y, shares, public, CLASSES)
    return {"ballots": ballots, "patches": public, "patches_test": test}


def shares_of(y: IntArray, number: int) -> list[TeacherShare]:
    """Records dealt at random to so many teachers."""
    partition = make_partition("random", y, number, SECRET)
    return [TeacherShare(i, rows, i) for i, rows in enumerate(partition.shares)]

"""The votes of teachers on shares of a set."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ballotine.teachers.train import TeacherShare
from ballotine.types import IntArray
from ballotine_reproduction import teaching
from ballotine_reproduction.cache import cache_path, cached_arrays
from ballotine_reproduction.experiment import Setting
from ballotine_reproduction.individualized.sets import SplitSet
from ballotine_reproduction.teaching import Ballots


def cast_ballots(
    setting: Setting, rows: SplitSet, shares: Sequence[IntArray], asked: IntArray, seed: int
) -> Ballots:
    """Every teacher's class for every asked row, shape (asked, teachers).

    Args:
        setting: how many processes train, and where the cache is.
        rows: the set.
        shares: positions of the rows that each teacher learns from.
        asked: positions of the rows they vote on.
        seed: determines the teachers' own randomness.
    """
    path = cache_path(setting.cache, "individualized", ".npz", rows.digest, seed, asked, *shares)
    own = [TeacherShare(i, share, seed * 1_000_003 + i) for i, share in enumerate(shares)]
    kinds = {"votes": (np.uint8, (len(asked), len(shares)))}

    def train() -> dict[str, Ballots]:
        data = (rows.X, rows.y, own, rows.X[asked], rows.classes)
        return {"votes": teaching.cast_ballots(setting, rows.estimator, *data)}

    return cached_arrays(path, kinds, train)["votes"]

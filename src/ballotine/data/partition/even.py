"""Even shares: at random, or with similar class proportions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ballotine.data.partition.base import (
    Partition,
    by_label,
    check_classes,
    check_sizes,
    secret_permutation,
)
from ballotine.types import Labels


@dataclass(frozen=True)
class Random:
    """Equal shares of a secret permutation: independent of every value in the data."""

    data_dependent: ClassVar[bool] = False

    def deal(self, labels: Labels, n_teachers: int, secret: bytes) -> Partition:
        """Assign records by their number only, not by their labels."""
        check_sizes(len(labels), n_teachers)
        shares = np.array_split(secret_permutation(len(labels), secret), n_teachers)
        return Partition(tuple(np.sort(share) for share in shares), self.data_dependent)


@dataclass(frozen=True)
class Stratified:
    """Shares with similar class proportions: data-dependent, because it reads the labels."""

    data_dependent: ClassVar[bool] = True

    def deal(self, labels: Labels, n_teachers: int, secret: bytes) -> Partition:
        """Deal the records of each class in turn."""
        check_classes(labels)
        check_sizes(len(labels), n_teachers)
        order = by_label(labels, secret)
        shares = [order[start::n_teachers] for start in range(n_teachers)]
        return Partition(tuple(np.sort(share) for share in shares), self.data_dependent)

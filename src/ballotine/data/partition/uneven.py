"""Shares that differ from teacher to teacher, for experiments on heterogeneous data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ballotine.data.partition.base import (
    FROM_LABELS,
    Partition,
    by_label,
    check_classes,
    check_sizes,
    secret_generator,
    secret_permutation,
)
from ballotine.errors import ParameterError
from ballotine.types import IntArray, Labels


@dataclass(frozen=True)
class Similarity:
    """s % of the records dealt at random, the rest sorted by label and cut (TTAC).

    Attributes:
        s: from 0 (every teacher sees few classes) to 100 (all see the same mixture).
    """

    s: float = 0.0

    @property
    def data_dependent(self) -> bool:
        """Whether labels matter, which they do unless s is 100 %."""
        return self.s < 100

    def __post_init__(self) -> None:
        if not 0 <= self.s <= 100:
            raise ParameterError(f"similarity must be a percentage from 0 to 100, got {self.s}")

    def deal(self, labels: Labels, n_teachers: int, secret: bytes) -> Partition:
        """Assign records in shares whose sizes differ by at most one."""
        check_classes(labels)
        check_sizes(len(labels), n_teachers)
        order = secret_permutation(len(labels), secret)
        alike = round(len(labels) * self.s / 100)
        mixed, rest = order[:alike], order[alike:]
        rest = rest[np.argsort(np.asarray(labels)[rest], kind="stable")]
        own = _sizes(alike, n_teachers)
        others = _sizes(len(labels), n_teachers) - own
        groups = zip(_cut(mixed, own), _cut(rest, others), strict=True)
        return Partition(
            tuple(np.sort(np.concatenate(pair)) for pair in groups),
            self.data_dependent,
            FROM_LABELS.format(f"similarity of {self.s:g} %"),
        )


@dataclass(frozen=True)
class Dirichlet:
    """Each class is spread over the teachers by proportions drawn from Dirichlet(α).

    Attributes:
        alpha: small for teachers that see few classes, large for even shares.
    """

    alpha: float = 1.0
    data_dependent: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 0 < self.alpha < float("inf"):
            raise ParameterError(f"alpha must be positive and finite, got {self.alpha}")

    def deal(self, labels: Labels, n_teachers: int, secret: bytes) -> Partition:
        """Assign every teacher at least one record, from the largest share if necessary."""
        check_classes(labels)
        check_sizes(len(labels), n_teachers)
        draw = secret_generator(secret)
        order = by_label(labels, secret)
        _, starts = np.unique(np.asarray(labels)[order], return_index=True)
        shares: list[list[IntArray]] = [[] for _ in range(n_teachers)]
        for members in np.split(order, starts[1:]):
            portions = draw.dirichlet(np.full(n_teachers, self.alpha))
            ends = np.round(np.cumsum(portions)[:-1] * len(members)).astype(np.int64)
            for share, part in zip(shares, np.split(members, ends), strict=True):
                share.append(part)
        groups = _filled([np.concatenate(share) for share in shares])
        return Partition(
            tuple(np.sort(group) for group in groups),
            self.data_dependent,
            FROM_LABELS.format(f"Dirichlet({self.alpha:g}) per class"),
        )


def _sizes(records: int, n_teachers: int) -> IntArray:
    """Return even sizes, larger ones first."""
    return records // n_teachers + (np.arange(n_teachers) < records % n_teachers).astype(np.int64)


def _cut(order: IntArray, sizes: IntArray) -> list[IntArray]:
    return np.split(order, np.cumsum(sizes)[:-1])


def _filled(groups: list[IntArray]) -> list[IntArray]:
    """Fill empty shares: the number of teachers is public and must not depend on the draw."""
    for place, group in enumerate(groups):
        if group.size == 0:
            largest = int(np.argmax([len(other) for other in groups]))
            groups[place], groups[largest] = groups[largest][:1], groups[largest][1:]
    return groups

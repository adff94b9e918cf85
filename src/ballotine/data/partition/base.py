"""Partitions, the protocol of strategies, and their secret randomness."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ballotine.errors import DataError, ParameterError
from ballotine.types import IntArray, Labels

FROM_LABELS = (
    "the record-to-teacher map was computed from the labels ({}); the cost "
    "of a replaced record holds only if that record leaves all others in place"
)


@dataclass(frozen=True)
class Partition:
    """Shares of record positions, one per teacher; disjoint unless records are upsampled.

    Attributes:
        shares: the positions of each teacher's records.
        data_dependent: True when the map was computed from the records' values.
        condition: what a guarantee must assume in that case.
    """

    shares: tuple[IntArray, ...]
    data_dependent: bool
    condition: str = FROM_LABELS.format("stratified")

    @property
    def assumption(self) -> str | None:
        """The assumption that a guarantee must state because of this map, if any."""
        return self.condition if self.data_dependent else None

    def to_bytes(self) -> bytes:
        """Return which records each teacher has, as bytes: equal for equal partitions."""
        return b"".join(
            len(share).to_bytes(8, "big") + share.astype("<i8").tobytes() for share in self.shares
        )


class Strategy(Protocol):
    """A way to assign records to teachers."""

    @property
    def data_dependent(self) -> bool:
        """Whether the map is computed from the records' values."""

    def deal(self, labels: Labels, n_teachers: int, secret: bytes) -> Partition:
        """Return shares of positions; the same for the same labels and secret."""


def secret_permutation(n: int, secret: bytes) -> IntArray:
    """Return a permutation that only the holder of the secret can predict."""
    words = np.frombuffer(
        hashlib.shake_256(b"ballotine/partition/1\0" + secret).digest(8 * n), dtype="<u8"
    )
    return np.argsort(words, kind="stable").astype(np.int64)


def secret_generator(secret: bytes) -> np.random.Generator:
    """Return a random generator that is determined by the secret."""
    digest = hashlib.sha256(b"ballotine/partition/draws/1\0" + secret).digest()
    return np.random.default_rng(int.from_bytes(digest, "big"))


def by_label(labels: Labels, secret: bytes) -> IntArray:
    """Return positions sorted by label, in secret order within each label."""
    shuffled = secret_permutation(len(labels), secret)
    return shuffled[np.argsort(np.asarray(labels)[shuffled], kind="stable")]


def check_sizes(n_records: int, n_teachers: int) -> None:
    """Raise unless every teacher can get a record."""
    if n_teachers < 1:
        raise ParameterError(f"an ensemble needs at least one teacher, got {n_teachers}")
    if n_records < n_teachers:
        raise DataError(
            f"{n_records} private records cannot fill {n_teachers} teachers; "
            "use fewer teachers or more records"
        )


def check_classes(labels: Labels) -> None:
    """Raise if rows have several labels, where one class per row is needed."""
    if np.ndim(labels) != 1:
        raise ParameterError(
            "records with several labels have no class to sort by: use the random partition"
        )

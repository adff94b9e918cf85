"""Who teaches whom: the map from records to teachers.

A map that does not depend on the records' values keeps PATE's premise, that replacing
one record touches one teacher, without further assumptions. A map that looks at labels
does not, and says so.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from ballotine.errors import DataError, ParameterError
from ballotine.types import IntArray, Labels


@dataclass(frozen=True)
class Partition:
    """Groups of record positions, one per teacher; disjoint unless records are upsampled.

    Attributes:
        groups: positions of each teacher's records.
        data_dependent: True when the map was computed from the records' values.
    """

    groups: tuple[IntArray, ...]
    data_dependent: bool

    @property
    def assumption(self) -> str | None:
        """What a guarantee must add because of this map, if anything."""
        if not self.data_dependent:
            return None
        return (
            "the record-to-teacher map was computed from the labels (stratified); the cost "
            "of a replaced record holds only if that record leaves all others in place"
        )


def secret_permutation(n: int, secret: bytes) -> IntArray:
    """A permutation that only the holder of the secret can predict."""
    words = np.frombuffer(
        hashlib.shake_256(b"ballotine/partition/1\0" + secret).digest(8 * n), dtype="<u8"
    )
    return np.argsort(words, kind="stable").astype(np.int64)


def random_partition(n_records: int, n_teachers: int, secret: bytes) -> Partition:
    """Equal shares of a secret permutation: independent of every value in the data."""
    _check_sizes(n_records, n_teachers)
    shares = np.array_split(secret_permutation(n_records, secret), n_teachers)
    return Partition(tuple(np.sort(share) for share in shares), data_dependent=False)


def stratified_partition(labels: Labels, n_teachers: int, secret: bytes) -> Partition:
    """Shares with similar class proportions: it reads the labels, and says so."""
    _check_sizes(len(labels), n_teachers)
    shuffled = secret_permutation(len(labels), secret)
    order = shuffled[np.argsort(np.asarray(labels)[shuffled], kind="stable")]
    shares = [order[start::n_teachers] for start in range(n_teachers)]
    return Partition(tuple(np.sort(share) for share in shares), data_dependent=True)


def make_partition(kind: str, labels: Labels, n_teachers: int, secret: bytes) -> Partition:
    """The partition of that name."""
    if kind == "random":
        return random_partition(len(labels), n_teachers, secret)
    if kind == "stratified":
        return stratified_partition(labels, n_teachers, secret)
    raise ParameterError(f"unknown partition {kind!r}; choose random or stratified")


def _check_sizes(n_records: int, n_teachers: int) -> None:
    if n_teachers < 1:
        raise ParameterError(f"an ensemble needs at least one teacher, got {n_teachers}")
    if n_records < n_teachers:
        raise DataError(
            f"{n_records} private records cannot fill {n_teachers} teachers; "
            "use fewer teachers or more records"
        )

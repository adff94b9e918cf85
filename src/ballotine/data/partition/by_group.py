"""Partitions of records with groups: separate teachers per group, or several copies.

The shares depend on the groups and a secret, never on the records' values.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np

from ballotine.data.partition.base import Partition, check_sizes, secret_permutation
from ballotine.types import IntArray

Teachers = tuple[int, ...]


def deal_apart(
    groups: IntArray, numbers: Mapping[Teachers, Sequence[int]], secret: bytes
) -> Partition:
    """Split the records of each set of teachers into equal shares of a secret permutation.

    With a single set of teachers for all groups this is the random partition of standard PATE.

    Args:
        groups: the group of each record.
        numbers: the groups of each set of teachers.
        secret: determines the permutation.
    """
    order = secret_permutation(len(groups), secret)
    shares: dict[int, IntArray] = {}
    for teachers, held in numbers.items():
        own = order[np.isin(groups[order], held)]
        check_sizes(len(own), len(teachers))
        parts = np.array_split(own, len(teachers))
        shares.update({t: np.sort(part) for t, part in zip(teachers, parts, strict=True)})
    return Partition(tuple(shares[t] for t in sorted(shares)), data_dependent=False)


def deal_copies(copies: IntArray, teachers: int, secret: bytes) -> Partition:
    """Assign every record to as many different teachers as it has copies, in shares of equal size.

    Records take consecutive seats in a secret order. A round of seats is a secret permutation of
    all teachers, so the seats of one round are different teachers. If a record's copies span two
    rounds, the second round is reordered to avoid a repeated teacher.

    Args:
        copies: the number of teachers of each record, at most ``teachers``.
        teachers: the number of teachers.
        secret: determines the order and the rounds.
    """
    order = secret_permutation(len(copies), secret)
    ends = np.cumsum(copies[order])
    total = int(ends[-1])
    seats = _rounds(-(-total // teachers), teachers, secret)
    for place in range(1, len(seats)):
        edge = place * teachers
        record = int(np.searchsorted(ends, edge, side="right"))
        if record == len(ends):
            break
        begun = edge - (int(ends[record]) - int(copies[order[record]]))
        if begun > 0:
            needed = int(ends[record]) - edge
            seats[place] = _reordered(seats[place], seats[place - 1, teachers - begun :], needed)
    taken = seats.ravel()[:total]
    held = np.repeat(order, copies[order])[np.argsort(taken, kind="stable")]
    shares = np.split(held, np.cumsum(np.bincount(taken, minlength=teachers))[:-1])
    return Partition(tuple(np.sort(share) for share in shares), data_dependent=False)


def _rounds(number: int, teachers: int, secret: bytes) -> IntArray:
    """Return secret permutations of the teachers, shape (number, teachers)."""
    digest = hashlib.shake_256(b"ballotine/copies/1\0" + secret).digest(8 * number * teachers)
    words = np.frombuffer(digest, dtype="<u8").reshape(number, teachers)
    return np.argsort(words, axis=1, kind="stable").astype(np.int64)


def _reordered(seats: IntArray, taken: IntArray, needed: int) -> IntArray:
    """Return the round reordered so that its first seats are teachers without this record."""
    first = seats[~np.isin(seats, taken)][:needed]
    return np.concatenate((first, seats[~np.isin(seats, first)]))

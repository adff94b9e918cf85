"""Dealing records that have groups of their own: to separate teachers, or in several copies.

The shares follow from groups and a secret, never from the records' values.
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
    """Equal shares of a secret permutation, for each set of teachers among its own records.

    With one set of teachers and one of groups it is the random partition of standard PATE.

    Args:
        groups: the group of each record.
        numbers: which groups each set of teachers holds.
        secret: what the permutation follows from.
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
    """Give every record to so many different teachers, and all teachers equally much.

    Records come in a secret order and take the next seats; a round of seats is one secret
    permutation of all teachers, so that seats of one round are different teachers. Where a
    record's copies end one round and begin the next, the next round is rearranged.

    Args:
        copies: how many teachers learn each record, at most ``teachers``.
        teachers: how many there are.
        secret: what order and rounds follow from.
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
            seats[place] = _rearranged(seats[place], seats[place - 1, teachers - begun :], needed)
    taken = seats.ravel()[:total]
    held = np.repeat(order, copies[order])[np.argsort(taken, kind="stable")]
    shares = np.split(held, np.cumsum(np.bincount(taken, minlength=teachers))[:-1])
    return Partition(tuple(np.sort(share) for share in shares), data_dependent=False)


def _rounds(number: int, teachers: int, secret: bytes) -> IntArray:
    """Secret permutations of the teachers, shape (number, teachers)."""
    digest = hashlib.shake_256(b"ballotine/copies/1\0" + secret).digest(8 * number * teachers)
    words = np.frombuffer(digest, dtype="<u8").reshape(number, teachers)
    return np.argsort(words, axis=1, kind="stable").astype(np.int64)


def _rearranged(seats: IntArray, taken: IntArray, needed: int) -> IntArray:
    """The round with its first seats different from those a record has taken already."""
    first = seats[~np.isin(seats, taken)][:needed]
    return np.concatenate((first, seats[~np.isin(seats, first)]))

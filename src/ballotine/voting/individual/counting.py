"""Counting the votes of those whose turn it is, each with its weight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ballotine.data.partition.by_group import Teachers
from ballotine.types import BoolArray, FloatArray, IntArray
from ballotine.voting.tally import cells_of


@dataclass(frozen=True)
class VotingBlock:
    """Teachers whose votes count alike: so many of them vote, each with this weight."""

    teachers: Teachers
    voters: int
    weight: float


def count(
    ballots: IntArray,
    classes: int,
    blocks: Sequence[VotingBlock],
    votes: Mapping[Teachers, BoolArray],
) -> FloatArray:
    """Count the ballots of each block, whole votes first: weights enter once per class.

    Args:
        ballots: class numbers, shape (queries, teachers).
        classes: how many classes there are.
        blocks: who is counted, and with which weight.
        votes: which teachers of a block vote on which query, where they take turns.

    Returns:
        Weighted counts, shape (queries, classes).
    """
    cells, queries = cells_of(ballots, classes), len(ballots)
    totals = np.zeros(queries * classes)
    for block in blocks:
        own = cells[:, list(block.teachers)]
        cast = own[votes[block.teachers]] if block.teachers in votes else own.ravel()
        totals += block.weight * np.bincount(cast, minlength=queries * classes)
    return totals.reshape(queries, classes)

"""Which teachers vote on a query, and how much each ballot counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ballotine.data.partition.by_group import Teachers
from ballotine.types import BoolArray, FloatArray, IntArray
from ballotine.voting.tally import cells_of


@dataclass(frozen=True)
class VotingBlock:
    """Teachers whose votes count equally.

    Attributes:
        teachers: their positions.
        voters: how many of them vote on each query.
        weight: the weight of each vote.
    """

    teachers: Teachers
    voters: int
    weight: float


@dataclass(frozen=True, eq=False)
class Electorate:
    """All teachers and the weights of their votes.

    Attributes:
        blocks: the teachers by weight.
        turns: which teachers of a block vote on which query, for blocks that take turns.
    """

    blocks: tuple[VotingBlock, ...]
    turns: Mapping[Teachers, BoolArray]

    @property
    def votes(self) -> float:
        """The total weight of all ballots on one query: public, and the same for every query."""
        return sum(block.voters * block.weight for block in self.blocks)

    def count(self, ballots: IntArray, classes: int) -> FloatArray:
        """Count votes for classes: whole votes per block, then weighted once per class.

        Args:
            ballots: class numbers, shape (queries, teachers).
            classes: the number of classes.

        Returns:
            Weighted counts, shape (queries, classes).
        """
        cells, queries = cells_of(ballots, classes), len(ballots)
        totals = np.zeros(queries * classes)
        for block in self.blocks:
            own = cells[:, list(block.teachers)]
            cast = own[self.turns[block.teachers]] if block.teachers in self.turns else own.ravel()
            totals += block.weight * np.bincount(cast, minlength=queries * classes)
        return totals.reshape(queries, classes)

    def weights(self, queries: int) -> FloatArray:
        """Return the weight of each ballot, shape (queries, teachers); 0 if it is not its turn."""
        teachers = sum(len(block.teachers) for block in self.blocks)
        weights = np.zeros((queries, teachers))
        for block in self.blocks:
            weights[:, list(block.teachers)] = block.weight * self.turns.get(block.teachers, 1.0)
        return weights

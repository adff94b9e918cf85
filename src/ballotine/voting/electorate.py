"""Who votes on a query, and what each ballot counts."""

from __future__ import annotations

from collections.abc import Mapping
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


@dataclass(frozen=True, eq=False)
class Electorate:
    """All teachers, by what their votes count.

    Attributes:
        blocks: who is counted, and with which weight.
        turns: which teachers of a block vote on which query, where they take turns.
    """

    blocks: tuple[VotingBlock, ...]
    turns: Mapping[Teachers, BoolArray]

    @property
    def votes(self) -> float:
        """What all ballots on one query weigh together: public, the same for every query."""
        return sum(block.voters * block.weight for block in self.blocks)

    def count(self, ballots: IntArray, classes: int) -> FloatArray:
        """Count votes for classes, whole votes first: weights enter once per class.

        Args:
            ballots: class numbers, shape (queries, teachers).
            classes: how many classes there are.

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
        """What each ballot counts, shape (queries, teachers): 0 for those whose turn it is not."""
        teachers = sum(len(block.teachers) for block in self.blocks)
        weights = np.zeros((queries, teachers))
        for block in self.blocks:
            weights[:, list(block.teachers)] = block.weight * self.turns.get(block.teachers, 1.0)
        return weights

"""How many queries a pool of public rows makes: rows that are equal are one query.

The ledger charges a query once, however often its row occurs; cards and reports count as the
ledger does and tell repeated rows apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ballotine.types import IntArray
from ballotine.voting import Answers


@dataclass(frozen=True)
class Counts:
    """What became of the public rows; the parts but ``answered`` and ``abstained`` add up.

    Attributes:
        pool: public rows.
        asked: queries that were asked: different rows.
        answered: those among them that were answered.
        abstained: those among them that were not.
        repeated: rows that repeat an asked one and got its answer.
        unasked: rows about which nothing was asked.
    """

    pool: int
    asked: int
    answered: int
    abstained: int
    repeated: int
    unasked: int

    @classmethod
    def of(cls, answers: Answers, first: IntArray, pool: int) -> Counts:
        """Count.

        Args:
            answers: in the order of the rows.
            first: the first row that equals each of them, from `first_occurrences`.
            pool: how many public rows there are; those without a place in ``answers`` were
                not asked.
        """
        once = first == np.arange(len(first))
        asked, rows = int(np.sum(answers.asked & once)), int(np.sum(answers.asked))
        return cls(
            pool=pool,
            asked=asked,
            answered=int(np.sum(answers.answered & once)),
            abstained=int(np.sum(answers.abstained & once)),
            repeated=rows - asked,
            unasked=pool - rows,
        )


def first_occurrences(names: Sequence[bytes]) -> IntArray:
    """For each row, the place of the first one with the same name; its own if it is the first."""
    first: dict[bytes, int] = {}
    places = [first.setdefault(name, place) for place, name in enumerate(names)]
    return np.array(places, dtype=np.int64)

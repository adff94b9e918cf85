"""Count the queries of a pool; equal public rows are one query.

The ledger charges a query once, however often its row occurs. Cards and reports count queries in
the same way and list repeated rows separately.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ballotine.types import IntArray
from ballotine.voting import Answers


@dataclass(frozen=True)
class Counts:
    """Counts of public rows: ``asked``, ``repeated`` and ``unasked`` add up to ``pool``.

    Attributes:
        pool: public rows.
        asked: different rows that were asked: queries.
        answered: queries that were answered.
        abstained: queries on which the mechanism abstained.
        repeated: rows that repeat a query and got its answer.
        unasked: rows that were not asked.
    """

    pool: int
    asked: int
    answered: int
    abstained: int
    repeated: int
    unasked: int

    @classmethod
    def of(cls, answers: Answers, first: IntArray, pool: int) -> Counts:
        """Count answers.

        Args:
            answers: in the order of the rows.
            first: the first row that equals each of them, from `first_occurrences`.
            pool: how many public rows there are; rows beyond ``answers`` were not asked.
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
    """Return, for each row, the position of the first row with the same name."""
    first: dict[bytes, int] = {}
    places = [first.setdefault(name, place) for place, name in enumerate(names)]
    return np.array(places, dtype=np.int64)

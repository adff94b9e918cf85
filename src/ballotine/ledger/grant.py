"""Grants: queries whose worst-case cost is paid for, so that they may be answered."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ballotine.ledger.binding import Binding
from ballotine.ledger.store import Query
from ballotine.types import IntArray


@dataclass(frozen=True)
class Grant:
    """Queries that may be answered now: their worst case is paid for.

    Attributes:
        ids: their names, in the order they were asked.
        turns: their numbers among the queries of their account, which say who votes.
        refused: how many others the budget did not allow.
        seeded: whether their noise comes from a seed.
    """

    binding: Binding
    queries: tuple[Query, ...]
    fresh: tuple[Query, ...]
    refused: int
    seeded: bool = False

    @property
    def ids(self) -> list[bytes]:
        """The names of the queries."""
        return [query.id for query in self.queries]

    @property
    def turns(self) -> IntArray:
        """Which turn each query is."""
        return np.array([query.turn for query in self.queries], dtype=np.int64)

"""Grants: queries whose worst-case cost is paid for, so that they may be answered."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ballotine.ledger.binding import Binding
from ballotine.ledger.store import Query
from ballotine.types import IntArray


@dataclass(frozen=True)
class Grant:
    """Queries that may be answered now: their worst-case cost is paid for.

    Attributes:
        binding: the account they are charged to.
        queries: in the order in which they were asked.
        fresh: those among them that this grant reserved; the others were pending before.
        refused: how many other queries the budget did not allow.
        seeded: whether their noise comes from a seed.
    """

    binding: Binding
    queries: tuple[Query, ...]
    fresh: tuple[Query, ...]
    refused: int
    seeded: bool = False

    @property
    def ids(self) -> list[bytes]:
        """The ids of the queries."""
        return [query.id for query in self.queries]

    @property
    def turns(self) -> IntArray:
        """The turn of each query, which decides who votes on it."""
        return np.array([query.turn for query in self.queries], dtype=np.int64)

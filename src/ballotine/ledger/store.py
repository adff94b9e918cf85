"""Where a ledger's entries live: what every store must do, whichever database it is.

A store keeps bytes in order and durably; it knows nothing of privacy. What entries mean is
the business of `spending`, and what may be written that of `book`. A store passes the
contract suite in tests/ledger/contract.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

from ballotine.ledger.entries import Row


class Query(NamedTuple):
    """One reservation of one query.

    Attributes:
        id: names the query.
        reserved: the entry that reserved it.
        account: the entry that says for whom and what.
        turn: its number among the queries of that account.
        answer: as stored; None while it is pending.
        idle: whether its session ended in order before any noise was drawn for it.
    """

    id: bytes
    reserved: int
    account: int
    turn: int
    answer: bytes | None = None
    idle: bool = False


class View(Protocol):
    """One snapshot of a store: what others write meanwhile is not in it."""

    @property
    def empty(self) -> bool:
        """Whether no ledger was founded here yet."""

    @property
    def current(self) -> bool:
        """Whether the layout is this version's; an older one can be read, not written."""

    def rows(self, after: int = 0) -> Iterator[Row]:
        """Entries after that one, in order."""

    def row(self, seq: int) -> Row | None:
        """The entry with that number."""

    def newest(self, kind: str) -> Row | None:
        """The last entry of a kind."""

    def of_kind(self, kind: str) -> Iterator[Row]:
        """All entries of a kind, in order."""

    def queries(self, ids: Sequence[bytes]) -> dict[bytes, Query]:
        """Reservations that stand, of those queries that have one."""

    def idle(self) -> Iterator[Query]:
        """Reservations that stand, were never answered, and for which nothing was drawn."""

    def grouped(self, by: Literal["reserved", "recorded", "fenced", "idle"]) -> Iterator[Stored]:
        """All queries that carry that mark, in its order and then by name."""

    def meta(self, key: str) -> bytes | None:
        """A fact that is not part of the chain."""


Stored = tuple[int, bytes, int, int, bytes | None]
"""A mark, and the name, account, turn and answer of the query that carries it."""


class Pen(View, Protocol):
    """The only writer; what it writes is durable when its block ends, else undone."""

    def append(self, row: Row) -> None:
        """Add an entry."""

    def upgrade(self, seq: int) -> None:
        """Bring the layout up to date; pending queries are fenced by that entry."""

    def reserve(self, queries: Iterable[Query]) -> None:
        """Add reservations."""

    def answer(self, answers: Iterable[tuple[bytes, Query]], seq: int) -> None:
        """Store answers to pending reservations, for good."""

    def fence(self, queries: Iterable[Query], seq: int) -> None:
        """No answer to these reservations is accepted from now on."""

    def mark_idle(self, queries: Iterable[Query], seq: int) -> None:
        """Note that nothing was drawn for these reservations."""

    def set_meta(self, key: str, value: bytes) -> None:
        """Keep a fact."""


class Store(Protocol):
    """A ledger's home."""

    @property
    def path(self) -> Path | None:
        """The file, where there is one."""

    def reading(self) -> AbstractContextManager[View]:
        """One snapshot; it changes nothing and waits for nobody."""

    def writing(self) -> AbstractContextManager[Pen]:
        """One writer at a time; durable when the block ends, undone when it fails."""

    def check(self) -> None:
        """Look at the whole medium for damage that reading might miss."""

    def image(self) -> bytes | None:
        """A copy of a store that lives in memory; None for one that can be opened again."""

    def close(self) -> None:
        """Let go of it."""

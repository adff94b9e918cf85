"""The interface of ledger stores, whatever the database.

A store keeps entries and reservations durably and in order; it knows nothing about privacy. What
entries mean is defined in `spending`, and what may be written in `ledger`. Every store must pass
the contract tests in tests/ledger/contract.py.
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
        id: identifies the query.
        reserved: the number of the entry that reserved it.
        account: the number of the entry that holds its binding.
        turn: its position among the queries of that account.
        answer: the encoded answer; None while it is pending.
        idle: whether its session ended normally before any noise was drawn for it.
    """

    id: bytes
    reserved: int
    account: int
    turn: int
    answer: bytes | None = None
    idle: bool = False


class View(Protocol):
    """A snapshot of a store; concurrent writes are not visible in it."""

    @property
    def empty(self) -> bool:
        """Whether the store contains no ledger yet."""

    @property
    def current(self) -> bool:
        """Whether the layout is current; an older one can be read but not written."""

    def rows(self, after: int = 0) -> Iterator[Row]:
        """Entries with a higher number, in order."""

    def row(self, seq: int) -> Row | None:
        """The entry with that number."""

    def newest(self, kind: str) -> Row | None:
        """The latest entry of a kind."""

    def of_kind(self, kind: str) -> Iterator[Row]:
        """All entries of a kind, in order."""

    def queries(self, ids: Sequence[bytes]) -> dict[bytes, Query]:
        """The unfenced reservations of these queries, by id."""

    def idle(self) -> Iterator[Query]:
        """Unfenced, unanswered reservations that are marked as undrawn."""

    def marked(self, by: Literal["reserved", "recorded", "fenced", "idle"]) -> Iterator[Stored]:
        """All queries that carry a mark, ordered by the mark and then by id."""

    def meta(self, key: str) -> bytes | None:
        """A value stored outside the chain."""


Stored = tuple[int, bytes, int, int, bytes | None]
"""A mark (an entry's number), and the id, account, turn and answer of the query with it."""


class Transaction(View, Protocol):
    """The only writer; its changes are durable when its block ends, or undone if it fails."""

    def append(self, row: Row) -> None:
        """Append an entry."""

    def upgrade(self, seq: int) -> None:
        """Migrate the layout; the entry with this number fences all pending queries."""

    def reserve(self, queries: Iterable[Query]) -> None:
        """Add reservations."""

    def answer(self, answers: Iterable[tuple[bytes, Query]], seq: int) -> None:
        """Store answers to pending reservations; they can never be changed."""

    def fence(self, queries: Iterable[Query], seq: int) -> None:
        """Accept no answer to these reservations from now on."""

    def mark_idle(self, queries: Iterable[Query], seq: int) -> None:
        """Mark these reservations as undrawn."""

    def set_meta(self, key: str, value: bytes) -> None:
        """Store a value outside the chain."""


class Store(Protocol):
    """Keeps the entries and reservations of one ledger."""

    @property
    def path(self) -> Path | None:
        """The file, if there is one."""

    def reading(self) -> AbstractContextManager[View]:
        """Open a snapshot; this changes nothing and never waits."""

    def writing(self) -> AbstractContextManager[Transaction]:
        """Open the only write transaction; durable when the block ends, undone if it fails."""

    def check(self) -> None:
        """Check the whole store for damage that reading might miss."""

    def image(self) -> bytes | None:
        """A copy of an in-memory store; None for one that can be opened again."""

    def close(self) -> None:
        """Release the database."""

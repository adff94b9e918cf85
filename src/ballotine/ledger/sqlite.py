"""Ledgers in SQLite files.

A writer locks the file for one transaction, which is on disk when it ends. Readers open the file
read-only: they change no byte of it and never wait.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ballotine.errors import LedgerBusyError, LedgerError, LedgerTamperedError
from ballotine.ledger.entries import Row
from ballotine.ledger.sqlite_file import (
    VERSION,
    WITH_ACCOUNTS,
    checked_version,
    companion,
    connect,
    create_private,
    has_unwritten,
    has_wrong_type,
    migrate,
    read_query,
    read_stored,
    remove_companions,
    translated_errors,
    wrong_type,
)
from ballotine.ledger.store import Query, Stored

IDS_PER_STATEMENT = 500  # old versions of SQLite allow at most 999 parameters


class SqliteStore:
    """A ledger in a SQLite file, or in memory."""

    def __init__(
        self, connection: sqlite3.Connection, path: Path | None, *, tidy: bool = False
    ) -> None:
        self._connection = connection
        self._path = path
        self._tidy = tidy
        self._process = os.getpid()

    @staticmethod
    def exists(path: Path | None) -> bool:
        """Whether there is a non-empty file at this path."""
        return path is not None and path.is_file() and path.stat().st_size > 0

    @classmethod
    def open(cls, path: Path | None, wait: float) -> SqliteStore:
        """Open for writing; a missing file is created, readable by its owner only."""
        if path is not None:
            create_private(path)
        with translated_errors(path):
            connection = sqlite3.connect(
                ":memory:" if path is None else path,
                timeout=wait,
                isolation_level=None,
                check_same_thread=False,
            )
        return _opened(connection, path, ("journal_mode = WAL", "synchronous = FULL"))

    @classmethod
    def read_only(cls, path: Path) -> SqliteStore:
        """Open for reading; if no lock can be written, the file is opened as immutable."""
        if not cls.exists(path):
            raise LedgerError(f"there is no ledger at {path}")
        alone = not companion(path, "-wal").exists() and not companion(path, "-shm").exists()
        pragmas = ("query_only = ON",)
        try:
            return _opened(connect(path, "mode=ro"), path, pragmas, tidy=alone)
        except LedgerBusyError:
            raise
        except LedgerError as problem:
            if not isinstance(problem.__cause__, sqlite3.OperationalError):
                raise
            if has_unwritten(path):
                raise LedgerError(
                    f"the ledger {path} was not closed properly, and part of it is still in the "
                    "files next to it: copy all of them to a folder that you may write to"
                ) from problem
            return _opened(connect(path, "immutable=1"), path, pragmas)

    @classmethod
    def from_image(cls, image: bytes) -> SqliteStore:
        """Open a copy of an in-memory ledger."""
        connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        connection.deserialize(image)
        return cls(connection, None)

    @property
    def path(self) -> Path | None:
        """The file, or None for a ledger in memory."""
        return self._path

    @contextmanager
    def reading(self) -> Iterator[SqliteView]:
        """Open a snapshot; inside another block, that block's snapshot is used."""
        self._require_own_process()
        if self._connection.in_transaction:
            with translated_errors(self._path):
                yield SqliteView(self._connection, self._version())
            return
        with self._transaction("BEGIN"):
            yield SqliteView(self._connection, self._version())

    @contextmanager
    def writing(self) -> Iterator[SqliteTransaction]:
        """Open the only write transaction; on disk when the block ends, undone if it fails."""
        self._require_own_process()
        with self._transaction("BEGIN IMMEDIATE"):
            yield SqliteTransaction(self._connection, self._version())

    def check(self) -> None:
        """Check every page, every index and the type of every value."""
        with self.reading():
            found = self._connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
            damaged = found != "ok" or has_wrong_type(self._connection)
        if damaged:
            raise LedgerTamperedError(
                f"the ledger {self._path} is damaged; restore an undamaged copy, and do not answer "
                "from this one"
            )

    def image(self) -> bytes | None:
        """A copy of an in-memory ledger; None for a file, which can be opened again."""
        return None if self._path is not None else self._connection.serialize()

    def close(self) -> None:
        """Release the file."""
        self._connection.close()
        if self._tidy and self._path is not None:
            remove_companions(self._path)
            self._tidy = False

    def _version(self) -> int:
        return checked_version(self._connection, self._path)

    def _require_own_process(self) -> None:
        """SQLite connections must not be used in a forked process: locks are not inherited."""
        if self._path is not None and os.getpid() != self._process:
            raise LedgerError(
                f"the ledger {self._path} was opened before this process was forked; open it "
                "again in this process"
            )

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[None]:
        with translated_errors(self._path):
            self._connection.execute(begin)
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise


@dataclass(frozen=True)
class SqliteView:
    """A snapshot of the tables, inside one transaction."""

    connection: sqlite3.Connection
    version: int

    @property
    def empty(self) -> bool:
        """Whether the file contains no ledger yet."""
        return self.version == 0

    @property
    def current(self) -> bool:
        """Whether the layout is current."""
        return self.version == VERSION

    def rows(self, after: int = 0) -> Iterator[Row]:
        """Entries with a higher number, in order."""
        if self.empty:
            return iter(())
        found: Iterator[Row] = self.connection.execute(
            "SELECT * FROM entries WHERE seq > ? ORDER BY seq", (after,)
        )
        return found

    def row(self, seq: int) -> Row | None:
        """The entry with that number."""
        return next(
            iter(self.connection.execute("SELECT * FROM entries WHERE seq = ?", (seq,))), None
        )

    def newest(self, kind: str) -> Row | None:
        """The latest entry of a kind."""
        if self.empty:
            return None
        text = "SELECT * FROM entries WHERE kind = ? ORDER BY seq DESC LIMIT 1"
        return next(iter(self.connection.execute(text, (kind,))), None)

    def of_kind(self, kind: str) -> Iterator[Row]:
        """All entries of a kind, in order."""
        text = "SELECT * FROM entries WHERE kind = ? ORDER BY seq"
        found: Iterator[Row] = self.connection.execute(text, (kind,))
        return found

    def queries(self, ids: Sequence[bytes]) -> dict[bytes, Query]:
        """The unfenced reservations of these queries, by id."""
        found: dict[bytes, Query] = {}
        for start in range(0, len(ids), IDS_PER_STATEMENT):
            some = ids[start : start + IDS_PER_STATEMENT]
            wanted = f"id IN ({','.join('?' * len(some))})"
            found.update((query.id, query) for query in self._standing(wanted, some))
        return found

    def idle(self) -> Iterator[Query]:
        """Unfenced, unanswered reservations that are marked as undrawn."""
        if self.version < WITH_ACCOUNTS:
            return iter(())
        return self._standing("idle IS NOT NULL AND answer IS NULL ORDER BY reserved, id", ())

    def marked(self, by: Literal["reserved", "recorded", "fenced", "idle"]) -> Iterator[Stored]:
        """All queries that carry a mark, ordered by the mark and then by id."""
        known = {"reserved", "recorded"} | (
            {"fenced", "idle"} if self.version >= WITH_ACCOUNTS else set()
        )
        if by not in known:
            return iter(())
        turn = "turn" if self.version > 1 else "0"
        account = "account" if self.version >= WITH_ACCOUNTS else "0"
        found = self.connection.execute(
            f"SELECT {by}, id, {account}, {turn}, answer FROM {self._table} "
            f"WHERE {by} IS NOT NULL ORDER BY {by}, id"
        )
        return map(read_stored, found)

    def meta(self, key: str) -> bytes | None:
        """A value stored outside the chain."""
        row = self.connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        if row is None:
            return None
        if not isinstance(row[0], bytes):
            raise wrong_type()
        return row[0]

    @property
    def _table(self) -> str:
        return "reservations" if self.version >= WITH_ACCOUNTS else "queries"

    def _standing(self, wanted: str, values: Sequence[bytes]) -> Iterator[Query]:
        if self.version >= WITH_ACCOUNTS:
            columns = "id, reserved, account, turn, answer, idle IS NOT NULL"
            stands = "fenced IS NULL AND"
        else:
            turn = "turn" if self.version > 1 else "0"
            columns, stands = f"id, reserved, 0, {turn}, answer, 0", ""
        text = f"SELECT {columns} FROM {self._table} WHERE {stands} {wanted}"
        return map(read_query, self.connection.execute(text, values))


class SqliteTransaction(SqliteView):
    """Writes inside one transaction."""

    def append(self, row: Row) -> None:
        """Append an entry."""
        self.connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?)", row)

    def upgrade(self, seq: int) -> None:
        """Migrate the layout; queries that older versions left pending are fenced."""
        migrate(self.connection, self.version)
        if self.version:
            self.connection.execute(
                "UPDATE reservations SET fenced = ? WHERE answer IS NULL", (seq,)
            )
        object.__setattr__(self, "version", VERSION)

    def reserve(self, queries: Iterable[Query]) -> None:
        """Add reservations."""
        self.connection.executemany(
            "INSERT INTO reservations (id, reserved, account, turn) VALUES (?, ?, ?, ?)",
            (query[:4] for query in queries),
        )

    def answer(self, answers: Iterable[tuple[bytes, Query]], seq: int) -> None:
        """Store answers to pending reservations."""
        self._update(
            "answer = ?, recorded = ?", [(answer, seq, q.id, q.reserved) for answer, q in answers]
        )

    def fence(self, queries: Iterable[Query], seq: int) -> None:
        """Accept no answer to these reservations from now on."""
        self._update("fenced = ?", [(seq, query.id, query.reserved) for query in queries])

    def mark_idle(self, queries: Iterable[Query], seq: int) -> None:
        """Mark these reservations as undrawn."""
        self._update("idle = ?", [(seq, query.id, query.reserved) for query in queries])

    def set_meta(self, key: str, value: bytes) -> None:
        """Store a value outside the chain."""
        self.connection.execute("INSERT INTO meta VALUES (?, ?)", (key, value))

    def _update(self, change: str, values: list[tuple[object, ...]]) -> None:
        text = (
            f"UPDATE reservations SET {change} "
            "WHERE id = ? AND reserved = ? AND answer IS NULL AND fenced IS NULL"
        )
        if self.connection.executemany(text, values).rowcount != len(values):
            raise LedgerError("a reservation that was answered or given up cannot be changed")


def _opened(
    connection: sqlite3.Connection,
    path: Path | None,
    pragmas: Sequence[str],
    *,
    tidy: bool = False,
) -> SqliteStore:
    """A store, if its file is empty or a ledger; otherwise it is closed and an error raised."""
    store = SqliteStore(connection, path, tidy=tidy)
    try:
        with translated_errors(path):
            # Do not let the file's own schema call functions with side effects.
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA foreign_keys = ON")
            # First, so that a file that is not a ledger is left unchanged; and in one transaction,
            # because another process may be creating the ledger.
            with store.reading():
                pass
            for pragma in pragmas:
                connection.execute(f"PRAGMA {pragma}")
    except BaseException:
        store.close()
        raise
    return store

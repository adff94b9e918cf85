"""Ledgers in SQLite files: creating and opening them, their layout and its migrations.

Writers take the file's lock for one transaction and are on disk when it ends. Readers open
the file read-only: they change no byte of it and wait for nobody.
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
    migrate,
    misfit,
    read_query,
    read_stored,
    remove_companions,
    translated,
    wrong_type,
)
from ballotine.ledger.store import Query, Stored

LOOKED_UP = 500  # queries per statement: the oldest SQLite takes 999 parameters


class SqliteStore:
    """A ledger's file, or a ledger in memory."""

    def __init__(
        self, connection: sqlite3.Connection, path: Path | None, *, tidy: bool = False
    ) -> None:
        self._connection = connection
        self._path = path
        self._tidy = tidy
        self._process = os.getpid()

    @staticmethod
    def present(path: Path | None) -> bool:
        """Whether there is anything at that place already."""
        return path is not None and path.is_file() and path.stat().st_size > 0

    @classmethod
    def open(cls, path: Path | None, wait: float) -> SqliteStore:
        """For writing; the file is created, readable by its owner alone, if it is missing."""
        if path is not None:
            create_private(path)
        with translated(path):
            connection = sqlite3.connect(
                ":memory:" if path is None else path,
                timeout=wait,
                isolation_level=None,
                check_same_thread=False,
            )
        return _guarded(connection, path, ("journal_mode = WAL", "synchronous = FULL"))

    @classmethod
    def read_only(cls, path: Path) -> SqliteStore:
        """For reading; where not even a lock can be written, as a file that never changes."""
        if not cls.present(path):
            raise LedgerError(f"there is no ledger at {path}")
        alone = not companion(path, "-wal").exists() and not companion(path, "-shm").exists()
        pragmas = ("query_only = ON",)
        try:
            return _guarded(connect(path, "mode=ro"), path, pragmas, tidy=alone)
        except LedgerBusyError:
            raise
        except LedgerError as problem:
            if not isinstance(problem.__cause__, sqlite3.OperationalError):
                raise
            if has_unwritten(path):
                raise LedgerError(
                    f"the ledger {path} was not closed in order, and what belongs into it lies "
                    "beside it: copy all of its files to a folder that you may write to"
                ) from problem
            return _guarded(connect(path, "immutable=1"), path, pragmas)

    @classmethod
    def of_image(cls, image: bytes) -> SqliteStore:
        """A copy of a ledger in memory."""
        connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        connection.deserialize(image)
        return cls(connection, None)

    @property
    def path(self) -> Path | None:
        """The file, or None for a ledger in memory."""
        return self._path

    @contextmanager
    def reading(self) -> Iterator[SqliteView]:
        """One snapshot; inside another block it is that block's."""
        self._require_own_process()
        if self._connection.in_transaction:
            with translated(self._path):
                yield SqliteView(self._connection, self._version())
            return
        with self._transaction("BEGIN"):
            yield SqliteView(self._connection, self._version())

    @contextmanager
    def writing(self) -> Iterator[SqlitePen]:
        """One writer at a time; committed to disk when the block ends, else undone."""
        self._require_own_process()
        with self._transaction("BEGIN IMMEDIATE"):
            yield SqlitePen(self._connection, self._version())

    def check(self) -> None:
        """Read every page and index, and look at the kind of every value."""
        with self.reading():
            found = self._connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
            damaged = found != "ok" or misfit(self._connection)
        if damaged:
            raise LedgerTamperedError(
                f"the ledger {self._path} is damaged; restore an undamaged copy, and answer "
                "nothing from this one"
            )

    def image(self) -> bytes | None:
        """A copy of a ledger in memory; None for a file, which can be opened again."""
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
        """SQLite's locks do not follow a connection into a process that was forked off."""
        if self._path is not None and os.getpid() != self._process:
            raise LedgerError(
                f"the ledger {self._path} was opened by another process, which this one was "
                "forked from; open it again in this process"
            )

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[None]:
        with translated(self._path):
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
    """What one transaction sees."""

    connection: sqlite3.Connection
    version: int

    @property
    def empty(self) -> bool:
        """Whether no ledger was founded here yet."""
        return self.version == 0

    @property
    def current(self) -> bool:
        """Whether the layout is this version's."""
        return self.version == VERSION

    def rows(self, after: int = 0) -> Iterator[Row]:
        """Entries after that one, in order."""
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
        """The last entry of a kind."""
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
        """Reservations that stand, of those queries that have one."""
        found: dict[bytes, Query] = {}
        for start in range(0, len(ids), LOOKED_UP):
            some = ids[start : start + LOOKED_UP]
            wanted = f"id IN ({','.join('?' * len(some))})"
            found.update((query.id, query) for query in self._standing(wanted, some))
        return found

    def idle(self) -> Iterator[Query]:
        """Reservations that stand and for which nothing was drawn."""
        if self.version < WITH_ACCOUNTS:
            return iter(())
        return self._standing("idle IS NOT NULL AND answer IS NULL ORDER BY reserved, id", ())

    def grouped(self, by: Literal["reserved", "recorded", "fenced", "idle"]) -> Iterator[Stored]:
        """All queries that carry that mark, in its order and then by name."""
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
        """A fact that is not part of the chain."""
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


class SqlitePen(SqliteView):
    """Writes inside one transaction."""

    def append(self, row: Row) -> None:
        """Add an entry."""
        self.connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?)", row)

    def upgrade(self, seq: int) -> None:
        """Bring the layout up to date; what older versions left pending is fenced."""
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
        """No answer to these reservations is accepted from now on."""
        self._update("fenced = ?", [(seq, query.id, query.reserved) for query in queries])

    def mark_idle(self, queries: Iterable[Query], seq: int) -> None:
        """Note that nothing was drawn for these reservations."""
        self._update("idle = ?", [(seq, query.id, query.reserved) for query in queries])

    def set_meta(self, key: str, value: bytes) -> None:
        """Keep a fact."""
        self.connection.execute("INSERT INTO meta VALUES (?, ?)", (key, value))

    def _update(self, change: str, values: list[tuple[object, ...]]) -> None:
        text = (
            f"UPDATE reservations SET {change} "
            "WHERE id = ? AND reserved = ? AND answer IS NULL AND fenced IS NULL"
        )
        if self.connection.executemany(text, values).rowcount != len(values):
            raise LedgerError("a change to a reservation that does not stand was refused")


def _guarded(
    connection: sqlite3.Connection,
    path: Path | None,
    pragmas: Sequence[str],
    *,
    tidy: bool = False,
) -> SqliteStore:
    """A store whose file is one of ours, or empty; else it is closed again."""
    store = SqliteStore(connection, path, tidy=tidy)
    try:
        with translated(path):
            # Functions of the file's own schema may not call anything with side effects.
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA foreign_keys = ON")
            store._version()  # before anything is set: a stranger's file is not ours to change
            for pragma in pragmas:
                connection.execute(f"PRAGMA {pragma}")
    except BaseException:
        store.close()
        raise
    return store

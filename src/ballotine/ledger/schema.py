"""The ledger's file: creating it, opening it, its tables and their migrations."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ballotine.errors import LedgerBusyError, LedgerError

Migration = Callable[[sqlite3.Connection], None]

_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE entries (
    seq INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    time TEXT NOT NULL,
    payload TEXT NOT NULL,
    previous TEXT NOT NULL,
    hash TEXT NOT NULL
);
CREATE TABLE queries (
    id BLOB PRIMARY KEY,
    reserved INTEGER NOT NULL REFERENCES entries (seq),
    recorded INTEGER REFERENCES entries (seq),
    answer BLOB
) WITHOUT ROWID;
CREATE TRIGGER entries_stay BEFORE UPDATE ON entries
    BEGIN SELECT RAISE (ABORT, 'ledger entries are append-only'); END;
CREATE TRIGGER entries_remain BEFORE DELETE ON entries
    BEGIN SELECT RAISE (ABORT, 'ledger entries are append-only'); END;
CREATE TRIGGER queries_remain BEFORE DELETE ON queries
    BEGIN SELECT RAISE (ABORT, 'reserved queries are never forgotten'); END;
CREATE TRIGGER answers_stay BEFORE UPDATE ON queries WHEN OLD.answer IS NOT NULL
    BEGIN SELECT RAISE (ABORT, 'an answer is given once'); END;
"""


def _first_tables(connection: sqlite3.Connection) -> None:
    for statement in _split(_TABLES):
        connection.execute(statement)


def _split(script: str) -> Iterator[str]:
    """Statements one by one: executescript would commit behind our back."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def _turns(connection: sqlite3.Connection) -> None:
    connection.execute("ALTER TABLE queries ADD COLUMN turn INTEGER NOT NULL DEFAULT 0")


MIGRATIONS: tuple[Migration, ...] = (_first_tables, _turns)
"""Step i brings the file from version i to i + 1; steps are added, never edited."""


@contextmanager
def translated(path: Path | None) -> Iterator[None]:
    """Turn SQLite's errors into sentences that say what to do."""
    where = "the in-memory ledger" if path is None else f"the ledger {path}"
    try:
        yield
    except sqlite3.OperationalError as problem:
        text = str(problem)
        if "locked" in text or "busy" in text:
            raise LedgerBusyError(
                f"{where} is held by another process; wait for it to finish and try again"
            ) from problem
        if "full" in text:
            raise LedgerError(
                f"the disk that holds {where} is full; nothing was answered, "
                "free some space and resume"
            ) from problem
        raise LedgerError(f"{where} cannot be used: {text}") from problem
    except sqlite3.DatabaseError as problem:
        raise LedgerError(f"{where} is damaged or not a ledger: {problem}") from problem


def connect(path: Path | None, wait: float) -> sqlite3.Connection:
    """Open (or create, readable by its owner alone) the file and bring it up to date."""
    if path is not None:
        _create_private(path)
    with translated(path):
        connection = sqlite3.connect(
            ":memory:" if path is None else path,
            timeout=wait,
            isolation_level=None,
            check_same_thread=False,
        )
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        _migrate(connection, path)
    return connection


def _create_private(path: Path) -> None:
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    except OSError as problem:
        raise LedgerError(
            f"the ledger {path} cannot be written ({problem.strerror}); "
            "choose a folder that exists and that you may write to"
        ) from problem
    os.close(descriptor)


def _migrate(connection: sqlite3.Connection, path: Path | None) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version > len(MIGRATIONS):
            raise LedgerError(
                f"the ledger {path} was written by a newer Ballotine (schema {version}, "
                f"this one knows {len(MIGRATIONS)}); upgrade Ballotine"
            )
        for step in MIGRATIONS[version:]:
            step(connection)
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


@contextmanager
def transaction(connection: sqlite3.Connection, path: Path | None) -> Iterator[None]:
    """One writer at a time; committed to disk when the block ends, else undone."""
    with translated(path):
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

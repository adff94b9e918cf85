"""The SQLite file of a ledger: its tables and their migrations, checks, and how it is opened."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from ballotine.errors import LedgerBusyError, LedgerError, LedgerTamperedError
from ballotine.ledger.store import Query, Stored

_FIRST = """
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

_TURNS = "ALTER TABLE queries ADD COLUMN turn INTEGER NOT NULL DEFAULT 0;"

_ACCOUNTS = """
CREATE TABLE reservations (
    id BLOB NOT NULL,
    reserved INTEGER NOT NULL REFERENCES entries (seq),
    account INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    recorded INTEGER REFERENCES entries (seq),
    answer BLOB,
    idle INTEGER REFERENCES entries (seq),
    fenced INTEGER REFERENCES entries (seq),
    PRIMARY KEY (id, reserved)
) WITHOUT ROWID;
INSERT INTO reservations (id, reserved, account, turn, recorded, answer)
    SELECT id, reserved, 0, turn, recorded, answer FROM queries;
DROP TABLE queries;
CREATE TRIGGER reservations_remain BEFORE DELETE ON reservations
    BEGIN SELECT RAISE (ABORT, 'reserved queries are never forgotten'); END;
CREATE TRIGGER reservations_stay BEFORE UPDATE ON reservations
    WHEN OLD.answer IS NOT NULL OR OLD.fenced IS NOT NULL OR NEW.id != OLD.id
    OR NEW.reserved != OLD.reserved OR NEW.account != OLD.account OR NEW.turn != OLD.turn
    BEGIN SELECT RAISE (ABORT, 'a reservation is answered or fenced once'); END;
"""

MIGRATIONS = (_FIRST, _TURNS, _ACCOUNTS)
"""Step i migrates a file from version i to i + 1; steps are added, never edited."""
VERSION = len(MIGRATIONS)
WITH_ACCOUNTS = 3
"""The first version in which reservations name their account."""


def statements(script: str) -> Iterator[str]:
    """Split a script into statements, because executescript would commit."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def layout(connection: sqlite3.Connection) -> list[tuple[object, ...]]:
    """Every table, index, trigger and view, as declared."""
    text = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name"
    return connection.execute(text).fetchall()


def has_wrong_type(connection: sqlite3.Connection) -> bool:
    """Whether any value has another type than its column declares.

    SQLite accepts text in a BLOB column, and its integrity check does not report it.
    """
    tables = [name for kind, name, *_ in layout(connection) if kind == "table"]
    return any(_table_has_wrong_type(connection, str(table)) for table in tables)


def _table_has_wrong_type(connection: sqlite3.Connection, table: str) -> bool:
    columns = connection.execute("SELECT name, lower(type) FROM pragma_table_info(?)", (table,))
    # NULL is allowed here: the integrity check covers NOT NULL constraints.
    wrong = " OR ".join(f"typeof({name}) NOT IN ('{kind}', 'null')" for name, kind in columns)
    found = connection.execute(f"SELECT EXISTS (SELECT 1 FROM {table} WHERE {wrong})")
    return bool(found.fetchone()[0])


@cache
def expected(version: int) -> list[tuple[object, ...]]:
    """The layout of a file of this version, made by applying the migrations in order."""
    scratch = sqlite3.connect(":memory:", isolation_level=None)
    try:
        for step in MIGRATIONS[:version]:
            for statement in statements(step):
                scratch.execute(statement)
        return layout(scratch)
    finally:
        scratch.close()


def checked_version(connection: sqlite3.Connection, path: Path | None) -> int:
    """The version of the layout, after comparing every table and trigger with what we expect.

    An unknown trigger or view could delete entries, or never terminate.
    """
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if version > VERSION:
        raise LedgerError(
            f"the ledger {path} was written by a newer Ballotine (its schema version is "
            f"{version}, the latest known here is {VERSION}); upgrade Ballotine"
        )
    if version < 0 or layout(connection) != expected(version):
        raise LedgerTamperedError(
            f"{path or 'the ledger in memory'} is not a ledger, or its tables were "
            "changed by hand; restore the original file, and do not answer from this one"
        )
    return version


def migrate(connection: sqlite3.Connection, version: int) -> None:
    """Migrate the layout from this version to the newest."""
    for step in MIGRATIONS[version:]:
        for statement in statements(step):
            connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {VERSION}")


def read_query(row: tuple[Any, ...]) -> Query:
    """Read an unfenced reservation, checking the types of its values."""
    name, reserved, account, turn, answer, idle = row
    read_stored((reserved, name, account, turn, answer))
    return Query(name, reserved, account, turn, answer, bool(idle))


def read_stored(row: Stored) -> Stored:
    """Return a row of a marked query, after checking the types of its values."""
    mark, name, account, turn, answer = row
    numbers = isinstance(mark, int) and isinstance(account, int) and isinstance(turn, int)
    if not (numbers and isinstance(name, bytes) and (answer is None or isinstance(answer, bytes))):
        raise wrong_type()
    return row


def wrong_type() -> LedgerTamperedError:
    """The error for a value of a type that is never written."""
    return LedgerTamperedError(
        "the ledger was changed by hand: it contains a value of another type than Ballotine "
        "writes; restore the original file, and do not answer from this one"
    )


@contextmanager
def translated_errors(path: Path | None) -> Iterator[None]:
    """Turn SQLite's errors into ones that say what to do."""
    where = "the in-memory ledger" if path is None else f"the ledger {path}"
    try:
        yield
    except sqlite3.OperationalError as problem:
        text = str(problem)
        if "locked" in text or "busy" in text:
            raise LedgerBusyError(
                f"{where} is locked by another process; wait for it to finish and try again"
            ) from problem
        if "full" in text:
            raise LedgerError(
                f"the disk that holds {where} is full; nothing was answered: "
                "free some space and resume"
            ) from problem
        raise LedgerError(f"{where} cannot be used: {text}") from problem
    except (sqlite3.DatabaseError, OverflowError, UnicodeDecodeError) as problem:
        raise LedgerError(f"{where} is damaged or not a ledger: {problem}") from problem


def companion(path: Path, suffix: str) -> Path:
    """The file with this suffix that SQLite keeps next to a ledger."""
    real = path.resolve()
    return real.with_name(real.name + suffix)


def has_unwritten(path: Path) -> bool:
    """Whether a writer left data in a companion file that is not in the ledger yet."""
    found = [companion(path, suffix) for suffix in ("-wal", "-journal")]
    return any(file.exists() and file.stat().st_size for file in found)


def remove_companions(path: Path) -> None:
    """Remove the empty companion files that SQLite created for a reader.

    A read-only connection cannot remove them, so a writable one is opened and closed: SQLite then
    removes them if no other process uses the ledger. Nothing is written to the ledger itself.
    """
    if has_unwritten(path) or not companion(path, "-wal").exists():
        return
    with suppress(sqlite3.Error):
        connection = sqlite3.connect(
            f"{path.resolve().as_uri()}?mode=rw", uri=True, timeout=0, isolation_level=None
        )
        with closing(connection):
            connection.execute("PRAGMA schema_version").fetchone()


def connect(path: Path, how: str) -> sqlite3.Connection:
    """Connect to an existing file with these URI parameters."""
    with translated_errors(path):
        return sqlite3.connect(
            f"{path.resolve().as_uri()}?{how}",
            uri=True,
            timeout=1.0,
            isolation_level=None,
            check_same_thread=False,
        )


def create_private(path: Path) -> None:
    """Create the file if it is missing, readable by its owner only."""
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    except OSError as problem:
        raise LedgerError(
            f"the ledger {path} cannot be written ({problem.strerror}); "
            "choose a folder that exists and that you may write to"
        ) from problem
    os.close(descriptor)

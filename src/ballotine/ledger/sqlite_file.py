"""The tables of a ledger's SQLite file, and the steps by which older files come to them."""

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
"""Step i brings a file from version i to i + 1; steps are added, never edited."""
VERSION = len(MIGRATIONS)
WITH_ACCOUNTS = 3
"""The first version in which a reservation says for whom it was made."""


def statements(script: str) -> Iterator[str]:
    """Statements one by one: executescript would commit behind our back."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def layout(connection: sqlite3.Connection) -> list[tuple[object, ...]]:
    """Every table, index, trigger and view, as it was declared."""
    text = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name"
    return connection.execute(text).fetchall()


def misfit(connection: sqlite3.Connection) -> bool:
    """Whether a value is of another kind than its column declares.

    SQLite takes a text for a BLOB, and its integrity check does not mind.
    """
    tables = [name for kind, name, *_ in layout(connection) if kind == "table"]
    return any(_holds_misfit(connection, str(table)) for table in tables)


def _holds_misfit(connection: sqlite3.Connection, table: str) -> bool:
    columns = connection.execute("SELECT name, lower(type) FROM pragma_table_info(?)", (table,))
    # Which columns may be empty is a constraint, and those the integrity check knows.
    odd = " OR ".join(f"typeof({name}) NOT IN ('{kind}', 'null')" for name, kind in columns)
    found = connection.execute(f"SELECT EXISTS (SELECT 1 FROM {table} WHERE {odd})")
    return bool(found.fetchone()[0])


@cache
def expected(version: int) -> list[tuple[object, ...]]:
    """The layout of a file that was brought to that version step by step, as all were."""
    scratch = sqlite3.connect(":memory:", isolation_level=None)
    try:
        for step in MIGRATIONS[:version]:
            for statement in statements(step):
                scratch.execute(statement)
        return layout(scratch)
    finally:
        scratch.close()


def checked_version(connection: sqlite3.Connection, path: Path | None) -> int:
    """The layout's version, after a look at every table and trigger.

    A trigger or view that is not ours could make the ledger forget, or never end.
    """
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if version > VERSION:
        raise LedgerError(
            f"the ledger {path} was written by a newer Ballotine (schema {version}, "
            f"this one knows {VERSION}); upgrade Ballotine"
        )
    if version < 0 or layout(connection) != expected(version):
        raise LedgerTamperedError(
            f"{path or 'the ledger in memory'} is not a ledger, or its tables were "
            "changed by hand; restore the untouched file, and answer nothing from this one"
        )
    return version


def migrate(connection: sqlite3.Connection, version: int) -> None:
    """Bring the layout from that version to the newest."""
    for step in MIGRATIONS[version:]:
        for statement in statements(step):
            connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {VERSION}")


def read_query(row: tuple[Any, ...]) -> Query:
    """A reservation that stands."""
    name, reserved, account, turn, answer, idle = row
    read_stored((reserved, name, account, turn, answer))
    return Query(name, reserved, account, turn, answer, bool(idle))


def read_stored(row: Stored) -> Stored:
    """A reservation, as long as its values are of the kinds that a ledger writes."""
    mark, name, account, turn, answer = row
    numbers = isinstance(mark, int) and isinstance(account, int) and isinstance(turn, int)
    if not (numbers and isinstance(name, bytes) and (answer is None or isinstance(answer, bytes))):
        raise wrong_type()
    return row


def wrong_type() -> LedgerTamperedError:
    """The error for a value whose type no ledger writes."""
    return LedgerTamperedError(
        "the ledger holds a value of another kind than is ever written to it: it was changed by "
        "hand; restore the untouched file, and answer nothing from this one"
    )


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
    except (sqlite3.DatabaseError, OverflowError, UnicodeDecodeError) as problem:
        raise LedgerError(f"{where} is damaged or not a ledger: {problem}") from problem


def companion(path: Path, suffix: str) -> Path:
    """The file that SQLite keeps beside a ledger under this suffix."""
    real = path.resolve()
    return real.with_name(real.name + suffix)


def has_unwritten(path: Path) -> bool:
    """Whether a writer left something beside the file that belongs into it."""
    found = [companion(path, suffix) for suffix in ("-wal", "-journal")]
    return any(file.exists() and file.stat().st_size for file in found)


def remove_companions(path: Path) -> None:
    """Remove the empty companions that SQLite made for a reader, who may not do so itself.

    The last connection that may write removes them when it ends, unless somebody else has
    come: only SQLite can tell. It has nothing to write into the ledger.
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
    with translated(path):
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

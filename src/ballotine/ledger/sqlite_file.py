"""The tables of a ledger's SQLite file, and the steps by which older files come to them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from functools import cache

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

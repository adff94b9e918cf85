"""Ledgers changed by hand, by somebody who knows SQLite and puts its safeguards back."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path


def edit_ledger(path: Path, *statements: str) -> None:
    """Carry out statements that the ledger's triggers forbid; afterwards they stand again."""
    with closing(sqlite3.connect(path)) as file, file:
        found = file.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
        triggers = found.fetchall()
        for name, _ in triggers:
            file.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            file.execute(statement)
        for _, sql in triggers:
            file.execute(sql)


def copy_ledger(path: Path, name: str) -> Path:
    """A copy beside it, of all that is committed."""
    copy = path.with_name(name)
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)
    return copy

"""Verification detects every kind of tampering with a ledger."""

from __future__ import annotations

import itertools
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from ballotine.errors import LedgerError, LedgerTamperedError
from ballotine.ledger import Anchor, Ledger, verify
from tests.ledger.conftest import BUDGET, edit, labels, opened, queries


def spend(path: Path, number: int, start: int = 0) -> Anchor:
    with Ledger.open(path, BUDGET, lambda salt: "data" + salt.hex()) as ledger:
        labels(opened(ledger, chunk=4), queries(number, start))
        return ledger.head()


def check(path: Path, anchor: Anchor | None = None) -> None:
    with Ledger.existing(path) as ledger:
        verify(ledger, anchor)


def test_an_untouched_ledger_passes(path: Path) -> None:
    anchor = spend(path, 22)
    with Ledger.existing(path) as ledger:
        found = verify(ledger, anchor)
    assert (found.queries, found.anchored) == (22, True)
    spend(path, 10, start=100)
    check(path, anchor)


EDITS: dict[str, str] = {
    "fewer queries": """UPDATE entries SET payload = replace(payload, '"queries":4', '"queries":1')
        WHERE seq = 3""",
    "a larger budget": "UPDATE entries SET payload = replace(payload, '4.0', '40.0') WHERE seq = 1",
    "other teachers": "UPDATE entries SET payload = replace(payload, 'a', 'b') WHERE seq = 2",
    "a later time": "UPDATE entries SET time = '2031-01-01T00:00:00+00:00' WHERE seq = 4",
    "a missing entry": "DELETE FROM entries WHERE seq = 5",
    "another answer": "UPDATE reservations SET answer = x'0000000000000007' WHERE recorded = 4",
    "a forgotten query": "DELETE FROM reservations WHERE reserved = 3",
    "an invented query": """INSERT INTO reservations
        VALUES (x'00', 3, 2, 0, 4, x'0000000000000001', NULL, NULL)""",
    "an unpaid query": """INSERT INTO reservations
        VALUES (x'00', 99, 2, 0, NULL, NULL, NULL, NULL)""",
    "another account": "UPDATE reservations SET account = 1 WHERE reserved = 3",
    "a fence": "UPDATE reservations SET fenced = 5 WHERE reserved = 3",
    "an idle mark": "UPDATE reservations SET idle = 5 WHERE reserved = 3",
    "an unmarked answer": "UPDATE reservations SET recorded = NULL WHERE reserved = 3",
    "another data set": "UPDATE meta SET value = x'00' WHERE key = 'fingerprint'",
    "another salt": "UPDATE meta SET value = x'00' WHERE key = 'salt'",
    "a lost salt": "DELETE FROM meta WHERE key = 'salt'",
    "another turn": "UPDATE reservations SET turn = turn + 7 WHERE reserved = 3",
}


@pytest.mark.parametrize("statement", EDITS.values(), ids=EDITS.keys())
def test_an_edit_is_found(path: Path, statement: str) -> None:
    spend(path, 22)
    edit(path, "PRAGMA foreign_keys = OFF", statement)
    with pytest.raises(LedgerTamperedError):
        check(path)


COLUMNS = {
    "meta": ("key", "value"),
    "entries": ("kind", "time", "payload", "previous", "hash"),
    "reservations": ("id", "account", "turn", "recorded", "answer", "idle", "fenced"),
}
ODD = ("'text'", "CAST(x'80ff' AS TEXT)", "x'80ff'", "1.5", "-1", "99999999999", "1e400")


@pytest.mark.parametrize("table", COLUMNS)
def test_a_value_of_another_kind_is_found(path: Path, table: str) -> None:
    """SQLite accepts any value in any column; wrong types raise and are never used."""
    spend(path, 22)
    whole = path.read_bytes()
    for column, odd in itertools.product(COLUMNS[table], ODD):
        path.write_bytes(whole)
        one = {"meta": "key = 'salt'", "entries": "seq = 3"}.get(table, "turn = 0")
        edit(path, "PRAGMA foreign_keys = OFF", f"UPDATE {table} SET {column} = {odd} WHERE {one}")
        with pytest.raises(LedgerError):
            check(path)


ODD_IN_USE = {
    "a salt": "UPDATE meta SET value = 99999999999 WHERE key = 'salt'",
    "an answer": "UPDATE reservations SET answer = 'text'",
    "a number as an answer": "UPDATE reservations SET answer = 99999999999",
    "a turn": "UPDATE reservations SET turn = 'text'",
}


@pytest.mark.parametrize("statement", ODD_IN_USE.values(), ids=ODD_IN_USE.keys())
def test_nothing_is_answered_by_a_value_of_another_kind(path: Path, statement: str) -> None:
    spend(path, 8)
    edit(path, statement)
    with pytest.raises(LedgerTamperedError, match="another type"):
        spend(path, 9)


def _truncate(path: Path) -> None:
    edit(
        path,
        "PRAGMA foreign_keys = OFF",
        "DELETE FROM reservations WHERE reserved >= 7",
        "DELETE FROM entries WHERE seq >= 7",
    )


def _restore(path: Path) -> None:
    shutil.copy(path.with_suffix(".old"), path)


@pytest.mark.parametrize("damage", [_truncate, _restore])
def test_an_older_ledger_is_found_by_the_card(path: Path, damage: Callable[[Path], None]) -> None:
    spend(path, 8)
    shutil.copy(path, path.with_suffix(".old"))
    anchor = spend(path, 22)
    damage(path)
    check(path)  # consistent in itself: only the card knows that there was more
    with pytest.raises(LedgerTamperedError, match="older than its card"):
        check(path, anchor)


def test_another_history_is_found_by_the_card(path: Path, tmp_path: Path) -> None:
    anchor = spend(path, 8)
    with pytest.raises(LedgerTamperedError, match="another ledger"):
        check(path, Anchor("somebody else", anchor.seq, anchor.hash))
    with pytest.raises(LedgerTamperedError, match="history differs"):
        check(path, Anchor(anchor.ledger, anchor.seq, "0" * 64))


def test_triggers_refuse_careless_edits(path: Path) -> None:
    spend(path, 8)
    connection = sqlite3.connect(path)
    for statement in (
        "UPDATE entries SET kind = 'x'",
        "DELETE FROM entries",
        "DELETE FROM reservations",
        "UPDATE reservations SET answer = x'00'",
        "UPDATE reservations SET turn = 7",
    ):
        with pytest.raises(sqlite3.IntegrityError):
            connection.execute(statement)
    connection.close()


def test_an_edited_ledger_answers_nothing(path: Path) -> None:
    spend(path, 8)
    edit(path, "UPDATE entries SET payload = replace(payload, '4', '1') WHERE seq = 3")
    with pytest.raises(LedgerTamperedError, match="changed by hand"):
        spend(path, 9)

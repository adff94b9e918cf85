"""Foreign triggers and damage in a ledger's file are detected before they have any effect."""

from __future__ import annotations

import random
import shutil
import sqlite3
from pathlib import Path

import pytest

from ballotine.errors import LedgerError, LedgerTamperedError
from ballotine.ledger import Ledger, verify
from tests.conftest import Command
from tests.ledger.conftest import BUDGET, answer, labels, opened, queries
from tests.ledger.test_migration import OLD

FOREVER = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n"
PLANTS: dict[str, tuple[str, ...]] = {
    "a trigger that forgets": (
        """CREATE TRIGGER t AFTER INSERT ON reservations BEGIN
            UPDATE reservations SET fenced = 1 WHERE id = NEW.id; END""",
    ),
    "a trigger that never ends": (
        f"CREATE TRIGGER t AFTER INSERT ON entries BEGIN SELECT count(*) FROM ({FOREVER}); END",
    ),
    "a missing trigger": ("DROP TRIGGER reservations_remain",),
    "a weaker trigger": (
        "DROP TRIGGER entries_stay",
        "CREATE TRIGGER entries_stay BEFORE UPDATE ON entries BEGIN SELECT 1; END",
    ),
    "a view": ("CREATE VIEW v AS SELECT * FROM entries",),
    "a view instead of a table": (
        "ALTER TABLE reservations RENAME TO kept",
        f"CREATE VIEW reservations AS SELECT x AS id, 1 AS reserved FROM ({FOREVER})",
    ),
    "a table": ("CREATE TABLE more (a)",),
    "an index": ("CREATE INDEX i ON entries (kind)",),
    "another column": ("ALTER TABLE reservations ADD COLUMN remark TEXT",),
    "a changed column": (
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_schema SET sql = replace(sql, 'answer BLOB', 'answer TEXT')",
    ),
    "statistics": ("ANALYZE",),
    "no tables": ("PRAGMA writable_schema = ON", "DELETE FROM sqlite_schema"),
    "an older version": ("PRAGMA user_version = 2",),
    "no version": ("PRAGMA user_version = 0",),
    "a version below zero": ("PRAGMA user_version = -1",),
}


def plant(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


@pytest.fixture
def used(path: Path) -> Path:
    with Ledger.open(path, BUDGET) as ledger:
        labels(opened(ledger, chunk=4), queries(160))
    return path


@pytest.mark.parametrize("statements", PLANTS.values(), ids=PLANTS.keys())
def test_a_planted_schema_is_refused_at_once(
    used: Path, statements: tuple[str, ...], ballotine: Command
) -> None:
    """Readers, writers and verify detect it: nothing of it runs, and nothing is written."""
    plant(used, *statements)
    before = used.read_bytes()
    for open_ in (
        lambda: Ledger.existing(used),
        lambda: Ledger.existing(used, write=True),
        lambda: Ledger.open(used, BUDGET),
    ):
        with pytest.raises(LedgerTamperedError, match="changed by hand"):
            open_()
    for command in ("show", "verify", "export"):
        ended = ballotine("ledger", command, used)
        assert (ended.returncode, "changed by hand" in ended.stderr) == (5, True)
    assert used.read_bytes() == before


def test_what_is_planted_into_an_open_ledger_is_refused_too(used: Path) -> None:
    with Ledger.open(used, BUDGET) as writer, Ledger.existing(used) as reader:
        plant(used, *PLANTS["a trigger that forgets"])
        for act in (
            lambda: writer.reserve(queries(1, 900), opened(writer).binding),
            writer.spending,
            reader.spending,
            lambda: verify(reader),
        ):
            with pytest.raises(LedgerTamperedError, match="changed by hand"):
                act()


@pytest.mark.parametrize("name", ["strict", "first"])
def test_what_is_planted_into_an_old_ledger_does_not_come_along(tmp_path: Path, name: str) -> None:
    path = tmp_path / "old.sqlite"
    shutil.copy(OLD / f"{name}.sqlite", path)
    plant(path, "CREATE TRIGGER t AFTER INSERT ON queries BEGIN DELETE FROM meta; END")
    for write in (False, True):
        with pytest.raises(LedgerTamperedError, match="changed by hand"):
            Ledger.existing(path, write=write)


def test_a_newer_schema_is_refused(used: Path) -> None:
    plant(used, "PRAGMA user_version = 99")
    for write in (False, True):
        with pytest.raises(LedgerError, match="newer Ballotine"):
            Ledger.existing(used, write=write)
    with pytest.raises(LedgerError, match="newer Ballotine"):
        Ledger.open(used, BUDGET)


def test_a_file_that_is_no_ledger_is_refused_and_left_alone(path: Path) -> None:
    path.write_bytes(b"this is not a database, and long enough to be looked at" * 20)
    with pytest.raises(LedgerError, match="not a ledger"):
        Ledger.open(path, BUDGET)
    path.unlink()
    plant(path, "CREATE TABLE bookmarks (url TEXT)")
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="not a ledger"):
        Ledger.open(path, BUDGET)
    with pytest.raises(LedgerError, match="not a ledger"):
        Ledger.existing(path)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def found(path: Path) -> bool:
    """Whether verifying a ledger detects damage."""
    try:
        with Ledger.existing(path) as ledger:
            verify(ledger)
    except LedgerError:
        return True
    return False


def dump(path: Path) -> list[str]:
    connection = sqlite3.connect(f"file:{path}?immutable=1", uri=True)
    try:
        return list(connection.iterdump())
    finally:
        connection.close()


def test_a_lost_page_is_found_wherever_it_is(used: Path) -> None:
    whole = used.read_bytes()
    pages = len(whole) // 4096
    assert pages >= 8
    for page in range(pages):
        for filler in (bytes(4096), whole[4096 * (pages - 1 - page) :][:4096]):
            start = 4096 * page
            if whole[start : start + 4096] == filler:
                continue
            used.write_bytes(whole[:start] + filler + whole[start + 4096 :])
            assert found(used), f"page {page}"
    used.write_bytes(whole[: 4096 * (pages - 1)])
    assert found(used), "a missing end"
    used.write_bytes(whole)
    assert not found(used)


def test_flipped_bits_are_found_or_mean_nothing(used: Path) -> None:
    whole, draw = used.read_bytes(), random.Random(7)
    content, passed = dump(used), 0
    for _ in range(400):
        place, bit = draw.randrange(100, len(whole)), 1 << draw.randrange(8)
        used.write_bytes(whole[:place] + bytes([whole[place] ^ bit]) + whole[place + 1 :])
        if not found(used):
            passed += 1
            assert dump(used) == content, f"byte {place}"
    assert passed < 200, "most of the file means something"


def test_queries_out_of_order_are_found(used: Path) -> None:
    """Every row is still there, but a lookup by id would miss it."""
    connection = sqlite3.connect(used)
    root = connection.execute(
        "SELECT rootpage FROM sqlite_schema WHERE name = 'reservations'"
    ).fetchone()[0]
    connection.close()
    content = bytearray(used.read_bytes())
    start = 4096 * (root - 1)
    assert content[start] in (2, 10), "a page of an index"
    head = start + (12 if content[start] == 2 else 8)
    content[head : head + 2], content[head + 2 : head + 4] = (
        content[head + 2 : head + 4],
        content[head : head + 2],
    )
    used.write_bytes(content)
    assert found(used)
    with Ledger.existing(used) as ledger, pytest.raises(LedgerTamperedError, match="damaged"):
        verify(ledger)


def test_damage_is_one_sentence_and_an_exit_code(used: Path, ballotine: Command) -> None:
    whole = used.read_bytes()
    used.write_bytes(whole[:4096] + bytes(len(whole) - 4096))
    ended = ballotine("ledger", "verify", used)
    assert (ended.returncode, "Traceback" in ended.stderr) == (5, False)


def test_nothing_is_answered_from_a_planted_ledger(used: Path) -> None:
    with Ledger.open(used, BUDGET) as ledger:
        plant(used, *PLANTS["a view"])
        with pytest.raises(LedgerTamperedError):
            answer(ledger, 3, start=500)
    connection = sqlite3.connect(used)
    assert connection.execute("SELECT count(*) FROM reservations").fetchone() == (160,)
    connection.close()

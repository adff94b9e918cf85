"""The contract tests, for each store."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from ballotine.ledger.sqlite import SqliteStore
from ballotine.ledger.store import Store
from tests.ledger.contract import StoreContract, content, reserved
from tests.ledger.contract_shared import SharedContract


class TestSqliteFile(SharedContract):
    @pytest.fixture(autouse=True)
    def _place(self, tmp_path: Path) -> None:
        self.path = tmp_path / "store.sqlite"

    def new(self, wait: float = 5.0) -> Store:
        return SqliteStore.open(self.path, wait)

    def test_a_file_is_durable_when_a_block_ends(self, store: Store) -> None:
        connection: sqlite3.Connection = store._connection  # type: ignore[attr-defined]
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA trusted_schema").fetchone() == (0,)
        assert connection.execute("PRAGMA foreign_keys").fetchone() == (1,)

    def test_a_reader_reads_the_same_and_cannot_write(self, store: Store) -> None:
        with store.writing() as pen:
            reserved(pen, 1, 2)
            before = content(pen)
        reader = SqliteStore.read_only(self.path)
        with reader.reading() as view:
            assert content(view) == before
        connection = reader._connection
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            connection.execute("INSERT INTO meta VALUES ('a', x'00')")
        reader.close()


class TestSqliteMemory(StoreContract):
    def new(self, wait: float = 5.0) -> Store:
        return SqliteStore.open(None, wait)

    def test_an_image_is_a_copy_of_its_own(self, store: Store) -> None:
        with store.writing() as pen:
            reserved(pen, 1, 2)
            before = content(pen)
        image = store.image()
        assert image is not None
        with store.writing() as pen:
            reserved(pen, 3)
        with SqliteStore.from_image(image).reading() as view:
            assert content(view) == before
        assert store.path is None

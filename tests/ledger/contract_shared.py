"""The contract of stores that several processes may open at once."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time

import pytest

from ballotine.errors import LedgerBusyError
from ballotine.ledger import entries
from ballotine.ledger.store import Store
from tests.ledger.contract import StoreContract, appended, content, reserved


class SharedContract(StoreContract):
    """For stores that several processes may open."""

    def test_what_was_written_outlives_its_writer(self, store: Store) -> None:
        with store.writing() as tx:
            reserved(tx, 1, 2)
            tx.set_meta("salt", b"fact")
            before = content(tx)
        store.close()
        again = self.new()
        with again.reading() as view:
            assert content(view) == before
            assert view.current
        again.close()

    def test_a_killed_writer_leaves_whole_blocks(self, store: Store) -> None:
        with store.writing() as tx:
            appended(tx, "open")
        store.close()
        told, tell = os.pipe()
        child = os.fork()
        if child == 0:
            own = self.new()
            with own.writing() as tx:
                appended(tx, "done")
            with own.writing() as tx:
                appended(tx, "half")
                os.write(tell, b"!")
                time.sleep(60)
            os._exit(0)
        assert os.read(told, 1) == b"!"
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        again = self.new()
        with again.writing() as tx:
            assert [row[1] for row in tx.rows()] == ["open", "done"]
            appended(tx, "after")
        again.close()

    def test_there_is_one_writer_at_a_time(self, store: Store) -> None:
        other = self.new(wait=0.05)
        with store.writing() as tx:
            appended(tx)
            with pytest.raises(LedgerBusyError, match="another process"), other.writing():
                pass
        with other.writing() as tx:
            assert len(list(tx.rows())) == 1
        other.close()

    def test_a_patient_writer_gets_its_turn(self, store: Store) -> None:
        entered = threading.Event()

        def hold() -> None:
            with store.writing() as tx:
                appended(tx, "first")
                entered.set()
                time.sleep(0.3)

        holder = threading.Thread(target=hold)
        holder.start()
        assert entered.wait(10)
        other = self.new(wait=30.0)
        with other.writing() as tx:
            appended(tx, "second")
            assert [row[1] for row in tx.rows()] == ["first", "second"]
        holder.join()
        other.close()

    def test_many_writers_lose_nothing(self, store: Store) -> None:
        store.close()
        fork = multiprocessing.get_context("fork")
        workers = [fork.Process(target=self._append_many, args=(25,)) for _ in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
            assert worker.exitcode == 0
        again = self.new()
        with again.reading() as view:
            found = list(entries.read_chain(view.rows(), 0, entries.GENESIS))
        assert len(found) == 100
        again.close()

    def _append_many(self, times: int) -> None:
        store = self.new(wait=60.0)
        for _ in range(times):
            with store.writing() as tx:
                appended(tx)
        store.close()

    def test_a_reading_block_is_one_snapshot(self, store: Store) -> None:
        with store.writing() as tx:
            (query,) = reserved(tx, 1)
        other = self.new()
        with store.reading() as view:
            before, lazy = content(view), view.rows()
            next(iter(lazy))
            with other.writing() as tx:
                reserved(tx, 2)
                tx.answer([(b"yes", query)], appended(tx, "record")[0])
            assert content(view) == before
            assert list(lazy) == []
            with store.reading() as inner:
                assert content(inner) == before
        with store.reading() as view:
            assert len(content(view)[0]) == len(before[0]) + 2
        other.close()

    def test_readers_do_not_wait_for_a_writer(self, store: Store) -> None:
        with store.writing() as tx:
            appended(tx)
        other = self.new(wait=0.05)
        with store.writing() as tx:
            appended(tx)
            with other.reading() as view:  # whoever waited would give up, and say so
                assert len(list(view.rows())) == 1
        other.close()

    def test_what_can_be_opened_again_has_no_image(self, store: Store) -> None:
        assert store.image() is None

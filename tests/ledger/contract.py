"""What every store must do: a class that the tests of each store inherit.

`StoreContract` is for all stores, `SharedContract` (in contract_shared.py) for those that several
processes may open at once. A store's tests say how it is opened, and inherit the rest.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import pytest

from ballotine.errors import LedgerError
from ballotine.ledger import Anchor, entries
from ballotine.ledger.entries import Row
from ballotine.ledger.store import Query, Store, Transaction, View

MARKS = ("reserved", "recorded", "fenced", "idle")


def named(number: int) -> bytes:
    return number.to_bytes(32, "big")


def appended(tx: Transaction, kind: str = "note", **payload: Any) -> Row:
    """One more entry at the end of the chain."""
    last = list(tx.rows())[-1:]
    head = Anchor("", last[0][0], last[0][5]) if last else Anchor("", 0, entries.GENESIS)
    row = entries.next_row(head, kind, payload)
    tx.append(row)
    return row


def reserved(tx: Transaction, *numbers: int, account: int = 1) -> list[Query]:
    """An entry that reserves these queries."""
    seq = appended(tx, "reserve")[0]
    queries = [Query(named(n), seq, account, place) for place, n in enumerate(numbers)]
    tx.reserve(queries)
    return queries


def content(view: View) -> tuple[Any, ...]:
    """All contents of a view."""
    return (
        list(view.rows()),
        {mark: list(view.marked(mark)) for mark in MARKS},  # type: ignore[arg-type]
        list(view.idle()),
        view.meta("salt"),
    )


class StoreContract:
    """The contract of every store."""

    @abstractmethod
    def new(self, wait: float = 5.0) -> Store:
        """The store of this test, opened for writing; empty the first time."""

    @pytest.fixture
    def store(self) -> Iterator[Store]:
        store = self.new()
        with store.writing() as tx:
            tx.upgrade(1)
        yield store
        store.close()

    def test_a_new_store_is_empty_until_it_is_founded(self) -> None:
        store = self.new()
        with store.reading() as view:
            assert view.empty
            assert (list(view.rows()), view.newest("open")) == ([], None)
        with store.writing() as tx:
            assert tx.empty
            tx.upgrade(1)
            assert (tx.empty, tx.current) == (False, True)
            appended(tx, "open")
        with store.reading() as view:
            assert (view.empty, view.current) == (False, True)
            assert len(list(view.rows())) == 1
        store.close()

    def test_founding_that_fails_founds_nothing(self) -> None:
        store = self.new()

        def fail() -> None:
            with store.writing() as tx:
                tx.upgrade(1)
                appended(tx, "open")
                raise RuntimeError

        with pytest.raises(RuntimeError):
            fail()
        with store.reading() as view:
            assert view.empty
        store.close()

    def test_entries_come_back_as_they_were_and_in_order(self, store: Store) -> None:
        with store.writing() as tx:
            kinds = ("open", "note", "reserve", "note", "record")
            written = [appended(tx, kind, text="ε\0\"'\n", n=1e-300) for kind in kinds]
            assert list(tx.rows()) == written, "a writer sees what it wrote"
        with store.reading() as view:
            assert list(view.rows()) == written
            assert list(view.rows(3)) == written[3:]
            assert list(view.rows(5)) == []
            assert [view.row(seq) for seq in (1, 4, 6)] == [written[0], written[3], None]
            assert view.newest("note") == written[3]
            assert view.newest("missing") is None
            assert list(view.of_kind("note")) == [written[1], written[3]]
            assert list(view.of_kind("missing")) == []
            assert [entries.read(row).payload["n"] for row in view.rows()] == [1e-300] * 5

    def test_a_number_is_taken_once(self, store: Store) -> None:
        with store.writing() as tx:
            row = appended(tx)
        with pytest.raises(LedgerError), store.writing() as tx:
            tx.append(row)
        with store.reading() as view:
            assert list(view.rows()) == [row]

    def test_queries_are_found_by_name_however_many(self, store: Store) -> None:
        with store.writing() as tx:
            queries = reserved(tx, *range(2500), account=7)
        wanted = [named(number) for number in range(1200, 3700)]
        with store.reading() as view:
            found = view.queries(wanted)
            assert view.queries([]) == {}
        assert found == {query.id: query for query in queries[1200:]}
        assert (found[named(2000)].account, found[named(2000)].turn) == (7, 2000)

    def test_an_answer_is_given_once(self, store: Store) -> None:
        with store.writing() as tx:
            first, second = reserved(tx, 1, 2)
            seq = appended(tx, "record")[0]
            tx.answer([(b"yes\0", first)], seq)
        with pytest.raises(LedgerError), store.writing() as tx:
            tx.answer([(b"late", second), (b"other", first)], seq)
        with store.reading() as view:
            found = view.queries([first.id, second.id])
        assert (found[first.id].answer, found[second.id].answer) == (b"yes\0", None)

    def test_what_was_never_reserved_is_never_answered(self, store: Store) -> None:
        with store.writing() as tx:
            (real,) = reserved(tx, 1)
        for unreal in (Query(named(9), 1, 1, 0), Query(real.id, 99, 1, 0)):
            for act in ("answer", "fence", "mark_idle"):
                changes = [(b"no", unreal)] if act == "answer" else [unreal]
                with pytest.raises(LedgerError), store.writing() as tx:
                    getattr(tx, act)(changes, 1)
        with store.reading() as view:
            assert view.queries([real.id, named(9)]) == {real.id: real}

    def test_a_fenced_reservation_is_gone_for_good_and_its_name_is_free(self, store: Store) -> None:
        with store.writing() as tx:
            (old,) = reserved(tx, 1)
            tx.fence([old], appended(tx, "void")[0])
        for act in ("answer", "fence", "mark_idle"):
            with pytest.raises(LedgerError), store.writing() as tx:
                getattr(tx, act)([(b"no", old)] if act == "answer" else [old], 2)
        with store.writing() as tx:
            assert tx.queries([old.id]) == {}
            (new,) = reserved(tx, 1)
            tx.answer([(b"new", new)], appended(tx, "record")[0])
        with store.reading() as view:
            found = view.queries([old.id])[old.id]
            assert (found.reserved, found.answer) == (new.reserved, b"new")
            assert [(row[0], row[1]) for row in view.marked("fenced")] == [(2, old.id)]

    def test_an_answered_query_is_never_fenced(self, store: Store) -> None:
        with store.writing() as tx:
            (query,) = reserved(tx, 1)
            tx.answer([(b"yes", query)], appended(tx, "record")[0])
        for act in ("fence", "mark_idle"):
            with pytest.raises(LedgerError), store.writing() as tx:
                getattr(tx, act)([query], 2)

    def test_idle_are_those_that_stand_unanswered(self, store: Store) -> None:
        with store.writing() as tx:
            late = reserved(tx, 9, 4, 5, 3, account=2)
            early = reserved(tx, 8, 1)
            seq = appended(tx, "undrawn")[0]
            tx.mark_idle([early[0], *late[:3]], seq)
            tx.answer([(b"yes", late[0])], appended(tx, "record")[0])
            tx.fence([late[1]], appended(tx, "void")[0])
        with store.reading() as view:
            idle = list(view.idle())
            found = view.queries([query.id for query in late])
        assert [(q.id, q.account, q.idle) for q in idle] == [
            (named(5), 2, True),
            (named(8), 1, True),
        ]
        assert not found[named(3)].idle

    def test_groups_come_by_mark_and_then_by_name(self, store: Store) -> None:
        with store.writing() as tx:
            one, two = reserved(tx, 5, 300, 2, account=3), reserved(tx, 4, 1, account=8)
            seq = appended(tx, "record")[0]
            tx.answer([(b"b", two[0]), (b"a", one[1])], seq)
            again = appended(tx, "record")[0]
            tx.answer([(b"c", one[0])], again)
            tx.mark_idle([two[1]], again)
            tx.fence([two[1], one[2]], again)
        with store.reading() as view:
            found = {mark: list(view.marked(mark)) for mark in MARKS}  # type: ignore[arg-type]
        assert found["reserved"] == [
            (1, named(2), 3, 2, None),
            (1, named(5), 3, 0, b"c"),
            (1, named(300), 3, 1, b"a"),
            (2, named(1), 8, 1, None),
            (2, named(4), 8, 0, b"b"),
        ]
        assert found["recorded"] == [
            (seq, named(4), 8, 0, b"b"),
            (seq, named(300), 3, 1, b"a"),
            (again, named(5), 3, 0, b"c"),
        ]
        assert [row[:2] for row in found["fenced"]] == [(again, named(1)), (again, named(2))]
        assert found["idle"] == [(again, named(1), 8, 1, None)]

    def test_facts_are_kept_once(self, store: Store) -> None:
        with store.writing() as tx:
            tx.set_meta("salt", b"\0\xff")
        with pytest.raises(LedgerError), store.writing() as tx:
            tx.set_meta("salt", b"other")
        with store.reading() as view:
            assert (view.meta("salt"), view.meta("missing")) == (b"\0\xff", None)

    @pytest.mark.parametrize("failure", [RuntimeError, KeyboardInterrupt])
    def test_what_fails_leaves_no_trace(self, store: Store, failure: type[BaseException]) -> None:
        with store.writing() as tx:
            one, two = reserved(tx, 1, 2)
            before = content(tx)

        def fail() -> None:
            with store.writing() as tx:
                reserved(tx, 3)
                tx.answer([(b"yes", one)], appended(tx, "record")[0])
                tx.mark_idle([two], 2)
                tx.fence([two], 2)
                tx.set_meta("salt", b"fact")
                raise failure

        with pytest.raises(failure):
            fail()
        with store.reading() as view:
            assert content(view) == before
        with store.writing() as tx:
            reserved(tx, 4)

    def test_a_block_inside_another_is_part_of_it(self, store: Store) -> None:
        with store.writing() as tx:
            appended(tx)
            with store.reading() as inner:
                assert len(list(inner.rows())) == 1
        with store.reading() as outer, store.reading() as inner:
            assert content(inner) == content(outer)

    def test_a_reading_block_that_fails_lets_go(self, store: Store) -> None:
        with pytest.raises(RuntimeError), store.reading():
            raise RuntimeError
        with store.writing() as tx:
            appended(tx)

    def test_a_sound_store_passes_its_check(self, store: Store) -> None:
        with store.writing() as tx:
            reserved(tx, *range(500))
        store.check()

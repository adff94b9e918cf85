"""Long ledgers are opened from the newest checkpoint, and verified entry by entry."""

from __future__ import annotations

import json
import sqlite3
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ballotine.errors import LedgerTamperedError
from ballotine.ledger import Ledger, Spending, entries, pool_digest, verify
from ballotine.ledger.sqlite import SqliteStore
from ballotine.ledger.store import Store
from ballotine.ledger.writer import CHECKPOINT_INTERVAL
from ballotine.noise import SeededNoise
from ballotine.privacy.guarantee import Budget
from ballotine.privacy.orders import DEFAULT_ORDERS
from ballotine.voting import ConfidentGNMax
from ballotine.voting.promise import stated
from tests.conftest import Command
from tests.ledger.conftest import (
    FixedVoters,
    all_of,
    bound,
    edit,
    fixed,
    labels,
    opened,
    queries,
)
from tests.ledger.test_groups import CHECK, LIGHT, ORDERS, TURNS, realise

LENGTH = 20_000
PLENTY = Budget(1e5, 1e-5)


def grown(length: int) -> bytes:
    """A ledger that paid for queries one by one, by two ensembles; made in memory."""
    ledger = Ledger.open(None, PLENTY)
    sessions = [
        opened(ledger, ConfidentGNMax(40.0, 6.0, 150.0), voters, SeededNoise(1), chunk=1, run=run)
        for voters, run in ((FixedVoters(), "one"), (FixedVoters(b"others"), "two"))
    ]
    number = 0
    while ledger.head().seq < length:
        labels(sessions[number // 500 % 2], queries(100, number))
        number += 100
    image = ledger.store.image()
    assert image is not None
    return image


@pytest.fixture(scope="module")
def image() -> bytes:
    return grown(LENGTH)


@pytest.fixture
def long(image: bytes, path: Path) -> Path:
    path.write_bytes(image)
    return path


class Spy:
    """A store that counts the entries that are read from it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.read = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    @contextmanager
    def reading(self) -> Iterator[Any]:
        with self._store.reading() as view:
            yield SpyView(view, self)


class SpyView:
    def __init__(self, view: Any, spy: Spy) -> None:
        self._view = view
        self._spy = spy

    def __getattr__(self, name: str) -> Any:
        return getattr(self._view, name)

    def rows(self, after: int = 0) -> Iterator[Any]:
        return self._counted(self._view.rows(after))

    def of_kind(self, kind: str) -> Iterator[Any]:
        return self._counted(self._view.of_kind(kind))

    def _counted(self, rows: Iterator[Any]) -> Iterator[Any]:
        for row in rows:
            self._spy.read += 1
            yield row


def replayed(ledger: Ledger) -> Iterator[tuple[entries.Entry, Spending]]:
    """Every entry, with the totals of those before it."""
    found = ledger.entries()
    spending = Spending.begin(next(found))
    for entry in found:
        yield entry, spending
        spending.apply(entry)


def test_opening_a_long_ledger_replays_its_end_alone(long: Path) -> None:
    spy = Spy(SqliteStore.read_only(long))
    ledger = Ledger(spy)  # type: ignore[arg-type]
    assert ledger.head().seq >= LENGTH
    assert spy.read <= CHECKPOINT_INTERVAL + 2
    spy.read = 0
    ledger.spending()
    assert spy.read == 0, "and nothing is read twice"
    ledger.close()


def test_a_checkpoint_says_what_a_full_replay_says(long: Path) -> None:
    with Ledger.existing(long) as ledger:
        checked = 0
        for entry, spending in replayed(ledger):
            if entry.kind == "checkpoint":
                assert entry.payload == json.loads(entries.canonical(spending.to_state()))
                checked += 1
        assert LENGTH // CHECKPOINT_INTERVAL - 1 <= checked <= LENGTH // CHECKPOINT_INTERVAL + 1
        assert len(list(ledger.checkpoints())) == checked
        opened_ = ledger.spending()
        assert opened_.to_state() == spending.to_state()
        assert opened_.guaranteed() == spending.guaranteed()
        assert np.array_equal(opened_.cost(DEFAULT_ORDERS), spending.cost(DEFAULT_ORDERS))


def test_turns_groups_voids_and_refusals_survive_a_checkpoint(
    monkeypatch: pytest.MonkeyPatch, path: Path
) -> None:
    monkeypatch.setattr("ballotine.ledger.writer.CHECKPOINT_INTERVAL", 7)
    budgets = {"low": Budget(5.0, 1e-5), "high": Budget(6.0, 1e-5)}
    with Ledger.open(path, budgets) as ledger:
        for part in range(40):
            grant = ledger.reserve(queries(2, 2 * part), bound(TURNS, groups=f"g{part > 30}"))
            if part % 5 == 0:
                ledger.mark_undrawn(grant)
                ledger.void("broken")
            elif part % 3:
                ledger.record(grant, np.array([1, -1]), lambda a, g: realise(a, g, TURNS))
        ledger.reserve(queries(9, 5000), bound(TURNS, groups="gTrue", ensemble="others"))
        assert ledger.reserve(queries(10**4, 10**6), bound(TURNS, groups="gTrue")).refused
    with Ledger.existing(path) as again:
        *_, (_, whole) = replayed(again)
        assert len(list(again.checkpoints())) > 5
        assert whole.refused
        assert whole.doubted
        assert whole.void
        assert Spending.from_state(json.loads(json.dumps(whole.to_state()))).to_state() == (
            whole.to_state()
        )
        assert again.spending().to_state() == whole.to_state()
        assert again.spending().guaranteed() == whole.guaranteed()
        for name, account in again.spending().accounts.items():
            assert np.array_equal(
                account.cost(DEFAULT_ORDERS), whole.accounts[name].cost(DEFAULT_ORDERS)
            )
        verify(again)


def facts(spending: Spending) -> dict[str, Any]:
    """Everything that is reported or decided upon, without using `to_state`."""
    return {
        "counts": [getattr(spending, name) for name in (*Spending.COUNTS, "pending")],
        "stated": stated(spending),
        "refused": (spending.refused, spending.doubted),
        "guaranteed": spending.guaranteed(),
        "left": [spending.affordable(spending.bindings[number]) for number in spending.turns],
        "costs": [
            [float(cost) for cost in (*account.cost(ORDERS), *account.worst_cost(ORDERS))]
            for account in spending.accounts.values()
        ],
    }


def gone_on(spending: Spending) -> Spending:
    """The same totals, restored from a checkpoint's text."""
    return Spending.from_state(json.loads(entries.canonical(spending.to_state())))


@pytest.mark.parametrize("moved", [False, True], ids=["groups stay", "groups change"])
def test_whoever_goes_on_from_a_checkpoint_knows_all_that_was_spent(moved: bool) -> None:
    """Wherever it is: after turns, pending queries, voids, a refusal, regrouping."""
    budgets = {"low": Budget(5.0, 1e-5), "high": Budget(6.0, 1e-5)}
    ledger = Ledger.open(None, budgets)
    for part in range(12):
        groups = "others" if moved and part > 8 else "some"
        grant = ledger.reserve(queries(2, 2 * part), bound(TURNS, groups=groups))
        if part % 3 == 0:
            ledger.mark_undrawn(grant)
            ledger.void("broken")
        elif part % 3 == 1:
            ledger.record(grant, np.array([1, -1]), lambda a, g: realise(a, g, TURNS))
    assert ledger.reserve(queries(10**4, 10**6), bound(TURNS, groups=groups)).refused
    for _, spending in replayed(ledger):
        assert facts(gone_on(spending)) == facts(spending)
    last = gone_on(ledger.spending())
    assert facts(last) == facts(ledger.spending())
    assert (last.void, last.refused, bool(last.doubted)) == (8, True, moved)


def test_a_publication_is_known_from_a_checkpoint() -> None:
    ledger = Ledger.open(None, fixed(3))
    binding = bound((LIGHT,), pool=pool_digest(queries(3)))
    ledger.record(ledger.reserve(queries(3), binding), np.array([0, 1, 2]), all_of(LIGHT))
    before = ledger.spending().cost(ORDERS)
    ledger.publish({"epsilon": 1.5, "failure": 1e-6}, (CHECK,), binding)
    last = gone_on(ledger.spending())
    assert facts(last) == facts(ledger.spending())
    assert last.statement == {"epsilon": 1.5, "failure": 1e-6}
    assert np.all(last.cost(ORDERS) > before)


def rewritten(path: Path, seq: int, old: str, new: str) -> None:
    """Edit an entry and recompute the chain after it, as an attacker would."""
    connection = sqlite3.connect(path)
    rows = connection.execute("SELECT * FROM entries WHERE seq >= ? ORDER BY seq", (seq,))
    changes, previous = [], ""
    for number, kind, time, payload, link, _ in rows.fetchall():
        text = payload.replace(old, new, 1) if number == seq else payload
        assert number != seq or text != payload
        link = previous or link  # noqa: PLW2901
        previous = entries.entry_hash(link, number, kind, time, text)
        changes.append(
            f"UPDATE entries SET payload = '{text}', previous = '{link}', "
            f"hash = '{previous}' WHERE seq = {number}"
        )
    connection.close()
    edit(path, *changes)


def last_checkpoint(path: Path) -> entries.Entry:
    with Ledger.existing(path) as ledger:
        return [entry for entry in ledger.entries() if entry.kind == "checkpoint"][-1]


def test_an_edited_checkpoint_is_found(long: Path, ballotine: Command) -> None:
    checkpoint = last_checkpoint(long)
    asked = checkpoint.payload["asked"]
    edit(
        long,
        f"UPDATE entries SET payload = replace(payload, '\"asked\":{asked}', '\"asked\":1') "
        f"WHERE seq = {checkpoint.seq}",
    )
    with pytest.raises(LedgerTamperedError, match="changed by hand"):
        Ledger.existing(long)
    assert ballotine("ledger", "verify", long).returncode == 5


@pytest.mark.parametrize("what", ["released", "terms", "refused"])
def test_an_edited_checkpoint_is_found_though_the_chain_was_made_to_fit(
    long: Path, what: str
) -> None:
    checkpoint = last_checkpoint(long)
    tab = next(iter(checkpoint.payload["accounts"]["everyone"]["tabs"].values()))
    times = tab["released"][-1][1]
    old, new = {
        "released": (f',{times}]],"settled"', ',1]],"settled"'),
        "terms": ('"epsilon":100000.0', '"epsilon":900000.0'),
        "refused": ('"refused":false', '"refused":true'),
    }[what]
    rewritten(long, checkpoint.seq, old, new)
    with Ledger.existing(long) as ledger, pytest.raises(LedgerTamperedError, match="checkpoint"):
        verify(ledger)


def peak(act: Callable[[], object]) -> int:
    """The peak memory use."""
    tracemalloc.start()
    act()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most


def test_verifying_takes_no_more_memory_when_a_ledger_is_longer(long: Path) -> None:
    with Ledger.existing(long) as ledger:
        needed = peak(lambda: verify(ledger))
        everything = peak(lambda: list(ledger.entries()))
    assert needed < 2**20
    assert everything > 20 * needed, "this is what holding all entries takes"


def test_what_is_written_after_opening_from_a_checkpoint_fits(long: Path) -> None:
    with Ledger.open(long, PLENTY) as ledger:
        before = ledger.spending().asked
        labels(opened(ledger, chunk=1), queries(5, 10**7))
        assert ledger.spending().asked == before + 5
        verify(ledger)

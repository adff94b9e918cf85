"""The ledger's promises, one by one."""

from __future__ import annotations

import copy
import pickle
import sqlite3
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from ballotine.errors import (
    InsufficientBudgetError,
    LedgerBusyError,
    LedgerError,
    LedgerMismatchError,
    LedgerTamperedError,
    UnknownEventError,
)
from ballotine.ledger import EVERYONE, Charge, Ledger, schema
from ballotine.ledger.account import filter_order
from ballotine.noise import SecureNoise
from ballotine.privacy import conversion
from ballotine.privacy.events import GaussianArgmax, GaussianCheck, from_json
from ballotine.privacy.guarantee import Budget
from ballotine.privacy.orders import DEFAULT_ORDERS
from ballotine.types import ABSTAIN
from ballotine.voting import Answerer, ConfidentGNMax, GNMax
from tests.ledger.conftest import BUDGET, CLASSES, count, queries

ARGMAX = GaussianArgmax(20.0, 3)
CHECK = GaussianCheck(30.0)


def answer(ledger: Ledger, number: int, start: int = 0, sigma: float = 20.0) -> np.ndarray:
    answerer = Answerer(GNMax(sigma), ledger, SecureNoise(), CLASSES)
    return answerer.answer(queries(number, start), count).labels


def test_stops_exactly_where_the_renyi_filter_says() -> None:
    """Independent arithmetic: the best order's allowance divided by the cost of a query."""
    cost = ARGMAX.cost(DEFAULT_ORDERS)
    a = DEFAULT_ORDERS
    allowance = BUDGET.epsilon - np.log1p(-1 / a) + np.log(BUDGET.delta * a) / (a - 1)
    most = int(np.max(np.floor(allowance / cost)))
    ledger = Ledger.open(None, BUDGET)
    labels = answer(ledger, most + 50)
    assert np.count_nonzero(labels != -2) == most
    assert np.all(labels[most:] == -2)
    one_more = conversion.epsilon(DEFAULT_ORDERS, cost * (most + 1), BUDGET.delta)[0]
    assert ledger.spending().epsilon() <= BUDGET.epsilon < one_more


def test_the_filter_order_is_fixed_by_the_first_reservation() -> None:
    ledger = Ledger.open(None, BUDGET)
    answer(ledger, 3)
    first = ledger.spending().accounts[EVERYONE].order
    assert first == filter_order((ARGMAX,), BUDGET)
    answer(ledger, 3, start=10, sigma=400.0)
    assert ledger.spending().accounts[EVERYONE].order == first
    assert filter_order((GaussianArgmax(400.0, 3),), BUDGET) == pytest.approx(first, rel=0.5)


def test_asking_again_returns_the_same_answers_and_spends_nothing(path: Path) -> None:
    with Ledger.open(path, BUDGET) as ledger:
        first = answer(ledger, 40)
        before = ledger.spending().cost(np.array([3.0]))
        head = ledger.head()
        assert np.array_equal(answer(ledger, 40), first)
    with Ledger.open(path, BUDGET) as again:
        assert np.array_equal(answer(again, 40), first)
        assert again.spending().cost(np.array([3.0])) == before
        assert again.head() == head


def test_abstentions_pay_for_the_check_alone() -> None:
    ledger = Ledger.open(None, BUDGET)
    mechanism = ConfidentGNMax(20.0, 6.0, 30.0)
    labels = Answerer(mechanism, ledger, SecureNoise(), CLASSES).answer(queries(60), count).labels
    answered = np.count_nonzero(labels >= 0)
    assert 0 < answered < 60
    orders = np.array([2.0, 9.0])
    expected = 60 * CHECK.cost(orders) + answered * ARGMAX.cost(orders)
    assert ledger.spending().cost(orders) == pytest.approx(expected, rel=1e-12)
    worst = 60 * (CHECK.cost(orders) + ARGMAX.cost(orders))
    account = ledger.spending().accounts[EVERYONE]
    assert account.worst_cost(orders) == pytest.approx(worst, rel=1e-12)


def test_what_holds_is_the_worst_case_or_the_ceiling() -> None:
    ledger = Ledger.open(None, BUDGET)
    answer(ledger, 10)
    cost = 10 * ARGMAX.cost(DEFAULT_ORDERS)
    expected = conversion.epsilon(DEFAULT_ORDERS, cost, BUDGET.delta)[0]
    assert ledger.spending().guaranteed_epsilon() == pytest.approx(expected)
    mechanism = ConfidentGNMax(20.0, 6.0, 30.0)
    Answerer(mechanism, ledger, SecureNoise(), CLASSES).answer(queries(5000), count)
    assert ledger.spending().guaranteed_epsilon() == BUDGET.epsilon


def test_a_reservation_counts_in_full_until_it_is_recorded(path: Path) -> None:
    with Ledger.open(path, BUDGET) as ledger:
        assert ledger.reserve(queries(7), (CHECK, ARGMAX)).all()
    with Ledger.open(path, BUDGET) as later:
        orders = np.array([4.0])
        assert later.spending().cost(orders) == pytest.approx(
            7 * (CHECK.cost(orders) + ARGMAX.cost(orders))
        )
        assert later.pending(queries(9)) == set(queries(7))
        assert later.lookup(queries(9)) == {}


def test_paid_queries_of_an_interrupted_run_are_answered_first_and_free() -> None:
    ledger = Ledger.open(None, BUDGET)
    events = (ARGMAX,)
    everything = ledger.spending().affordable(Charge.of(events))
    ledger.reserve(queries(everything), events)
    assert ledger.spending().affordable(Charge.of(events)) == 0
    labels = answer(ledger, everything + 5, start=-5)
    assert np.all(labels[:5] == -2)
    assert np.all(labels[5:] >= 0)


def test_a_budget_too_small_for_one_answer_says_what_one_costs() -> None:
    ledger = Ledger.open(None, Budget(0.05, 1e-6))
    assert np.all(answer(ledger, 4) == -2)
    assert list(ledger.entries())[-1].kind == "open", "a refusal writes nothing"
    refusal = ledger.refusal((ARGMAX,))
    assert isinstance(refusal, InsufficientBudgetError)
    assert refusal.requested > refusal.remaining
    alone = conversion.epsilon(DEFAULT_ORDERS, ARGMAX.cost(DEFAULT_ORDERS), 1e-6)[0]
    stated = float(str(refusal).split("one costs ε = ")[1].split(" ")[0])
    assert alone <= stated <= alone + 0.001


def test_recording_more_than_was_reserved_is_refused() -> None:
    ledger = Ledger.open(None, BUDGET)
    ledger.reserve(queries(2), (CHECK,))
    with pytest.raises(LedgerTamperedError):
        ledger.record(
            queries(2), np.array([0, 1]), (CHECK,), lambda a, _: Counter({ARGMAX: len(a)})
        )
    with pytest.raises(LedgerError, match="never reserved"):
        ledger.record(
            queries(1, 90), np.array([0]), (CHECK,), lambda a, _: Counter({CHECK: len(a)})
        )
    assert ledger.lookup(queries(100)) == {}


def test_files_are_for_their_owner_alone(path: Path) -> None:
    with Ledger.open(path, BUDGET) as ledger:
        answer(ledger, 2)
        for file in path.parent.iterdir():
            assert file.stat().st_mode & 0o077 == 0, file.name


def test_a_ledger_knows_its_data_and_its_budget(path: Path) -> None:
    Ledger.open(path, BUDGET, lambda salt: "a" + salt.hex()).close()
    Ledger.open(path, BUDGET, lambda salt: "a" + salt.hex()).close()
    with pytest.raises(LedgerMismatchError, match="another data set"):
        Ledger.open(path, BUDGET, lambda salt: "b" + salt.hex())
    with pytest.raises(LedgerMismatchError, match="cannot be opened with"):
        Ledger.open(path, Budget(9.0, 1e-5), lambda salt: "a" + salt.hex())


def test_a_second_writer_waits_or_is_refused(path: Path) -> None:
    with Ledger.open(path, BUDGET) as ledger, Ledger.open(path, BUDGET, wait=0.05) as second:
        ledger._connection.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerBusyError, match="another process"):
            second.reserve(queries(1), (ARGMAX,))
        ledger._connection.execute("ROLLBACK")
        assert second.reserve(queries(1), (ARGMAX,)).all()


def test_a_full_disk_answers_nothing_and_loses_nothing(path: Path) -> None:
    with Ledger.open(path, BUDGET) as ledger:
        first = answer(ledger, 20)
        pages = ledger._connection.execute("PRAGMA page_count").fetchone()[0]
        ledger._connection.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(LedgerError, match="full"):
            ledger.reserve(queries(400, 1000), (ARGMAX,))
        assert ledger.spending().recorded == 20
    with Ledger.open(path, BUDGET) as again:
        assert np.array_equal(answer(again, 20), first)
        assert again.spending().asked == 20


def test_an_unwritable_place_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="cannot be written"):
        Ledger.open(tmp_path / "no" / "such" / "folder.sqlite", BUDGET)
    with pytest.raises(LedgerError, match="no ledger"):
        Ledger.existing(tmp_path / "missing.sqlite")


def test_a_file_that_is_no_ledger_is_refused(path: Path) -> None:
    path.write_bytes(b"this is not a database, and long enough to be looked at" * 20)
    with pytest.raises(LedgerError, match="not a ledger"):
        Ledger.open(path, BUDGET)


def test_a_newer_schema_is_refused_and_an_older_one_migrates(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Ledger.open(path, BUDGET) as ledger:
        first = answer(ledger, 5)

    def add_a_column(connection: sqlite3.Connection) -> None:
        connection.execute("ALTER TABLE queries ADD COLUMN remark TEXT")

    with monkeypatch.context() as patch:
        patch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, add_a_column))
        with Ledger.open(path, BUDGET) as migrated:
            assert np.array_equal(answer(migrated, 5), first)
            columns = migrated._connection.execute("PRAGMA table_info(queries)").fetchall()
            assert "remark" in {column[1] for column in columns}
    with pytest.raises(LedgerError, match="newer Ballotine"):
        Ledger.open(path, BUDGET)


def test_a_copy_of_an_in_memory_ledger_cannot_spend() -> None:
    ledger = Ledger.open(None, BUDGET)
    first = answer(ledger, 5)
    for twin in (copy.deepcopy(ledger), pickle.loads(pickle.dumps(ledger))):
        assert twin.lookup(queries(5)) == dict(zip(queries(5), first.tolist(), strict=True))
        with pytest.raises(LedgerError, match="copy"):
            twin.reserve(queries(1, 50), (ARGMAX,))


def test_a_pickled_file_ledger_shares_its_file(path: Path) -> None:
    with Ledger.open(path, BUDGET) as ledger, pickle.loads(pickle.dumps(ledger)) as twin:
        answer(twin, 6)
        assert ledger.spending().recorded == 6


def test_events_survive_their_text_and_strangers_are_refused() -> None:
    for event in (ARGMAX, CHECK):
        assert from_json(event.to_json()) == event
    for text in (
        "",
        "[]",
        '{"event": "free-lunch"}',
        '{"event": "gaussian-check", "sigma": 3.0}',
        '{"event": "gaussian-check", "sigma": -3.0, "sensitivity": 1.0}',
        CHECK.to_json().replace("}", ', "discount": 0.5}'),
    ):
        with pytest.raises(UnknownEventError):
            from_json(text)


def test_abstain_survives_storage() -> None:
    ledger = Ledger.open(None, BUDGET)
    ledger.reserve(queries(1), (CHECK,))
    ledger.record(queries(1), np.array([ABSTAIN]), (CHECK,), lambda a, _: Counter({CHECK: len(a)}))
    assert ledger.lookup(queries(1)) == {queries(1)[0]: ABSTAIN}

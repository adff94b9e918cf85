"""The guarantees of the ledger, one by one."""

from __future__ import annotations

import copy
import pickle
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
from ballotine.ledger import EVERYONE, Ledger, verify
from ballotine.privacy import conversion
from ballotine.privacy.events import GaussianArgmax, GaussianCheck, from_json
from ballotine.privacy.guarantee import Budget
from ballotine.privacy.orders import DEFAULT_ORDERS
from ballotine.types import ABSTAIN
from ballotine.voting import UNASKED, ConfidentGNMax, GNMax
from tests.ledger.conftest import (
    BUDGET,
    VOTERS,
    FixedVoters,
    all_of,
    answer,
    bound,
    labels,
    names,
    opened,
    queries,
)

ARGMAX = GaussianArgmax(20.0, 3)
CHECK = GaussianCheck(30.0)
CONFIDENT = ConfidentGNMax(20.0, 6.0, 30.0)


def test_stops_exactly_where_the_renyi_filter_says() -> None:
    """Independent arithmetic: the best order's allowance divided by the cost of a query."""
    cost = ARGMAX.cost(DEFAULT_ORDERS)
    a = DEFAULT_ORDERS
    allowance = BUDGET.epsilon - np.log1p(-1 / a) + np.log(BUDGET.delta * a) / (a - 1)
    most = int(np.max(np.floor(allowance / cost)))
    ledger = Ledger.open(None, BUDGET)
    given = answer(ledger, most + 50)
    assert np.count_nonzero(given != UNASKED) == most
    assert np.all(given[most:] == UNASKED)
    one_more = conversion.epsilon(DEFAULT_ORDERS, cost * (most + 1), BUDGET.delta)[0]
    assert ledger.spending().epsilon() <= BUDGET.epsilon < one_more


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
    given = answer(ledger, 60, mechanism=CONFIDENT)
    answered = np.count_nonzero(given >= 0)
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
    answer(ledger, 5000, mechanism=CONFIDENT)
    assert ledger.spending().guaranteed_epsilon() == BUDGET.epsilon


def test_a_reservation_counts_in_full_until_it_is_recorded(path: Path) -> None:
    with Ledger.open(path, BUDGET) as ledger:
        grant = ledger.reserve(queries(7), bound((CHECK, ARGMAX)))
        assert (grant.ids, grant.refused) == (queries(7), 0)
    with Ledger.open(path, BUDGET) as later:
        orders = np.array([4.0])
        assert later.spending().cost(orders) == pytest.approx(
            7 * (CHECK.cost(orders) + ARGMAX.cost(orders))
        )
        assert later.spending().pending == 7
        assert later.pending(queries(9)) == set(queries(7))
        assert later.lookup(queries(9)) == {}


def test_paid_queries_of_an_interrupted_run_are_answered_first_and_free() -> None:
    ledger = Ledger.open(None, BUDGET)
    session = opened(ledger)
    everything = ledger.spending().affordable(session.binding)
    ledger.reserve(names(session, queries(everything)), session.binding)
    assert ledger.spending().affordable(session.binding) == 0
    given = labels(session, queries(everything + 5, start=-5))
    assert np.all(given[:5] == UNASKED)
    assert np.all(given[5:] >= 0)


def test_a_budget_too_small_for_one_answer_says_what_one_costs() -> None:
    ledger = Ledger.open(None, Budget(0.05, 1e-6))
    assert np.all(answer(ledger, 4) == UNASKED)
    assert [entry.kind for entry in ledger.entries()] == ["open", "refuse"]
    assert ledger.spending().asked == 0
    refusal = ledger.refusal(bound((ARGMAX,)))
    assert isinstance(refusal, InsufficientBudgetError)
    assert refusal.requested > refusal.remaining
    alone = conversion.epsilon(DEFAULT_ORDERS, ARGMAX.cost(DEFAULT_ORDERS), 1e-6)[0]
    stated = float(str(refusal).split("one costs ε = ")[1].split(" ")[0])
    assert alone <= stated <= alone + 0.001


def test_recording_more_than_was_reserved_is_refused() -> None:
    ledger = Ledger.open(None, BUDGET)
    grant = ledger.reserve(queries(2), bound((CHECK,)))
    with pytest.raises(LedgerTamperedError):
        ledger.record(grant, np.array([0, 1]), all_of(ARGMAX))
    twice = Counter({CHECK: 3})
    with pytest.raises(LedgerTamperedError):
        ledger.record(grant, np.array([0, 1]), lambda *_: twice)
    other = Ledger.open(None, BUDGET).reserve(queries(1, 90), bound((CHECK,)))
    with pytest.raises(LedgerError, match="never made"):
        ledger.record(other, np.array([0]), all_of(CHECK))
    assert ledger.lookup(queries(100)) == {}
    assert [entry.kind for entry in ledger.entries()] == ["open", "bind", "reserve"]


def test_one_name_belongs_to_one_account() -> None:
    ledger = Ledger.open(None, BUDGET)
    ledger.reserve(queries(2), bound((CHECK,)))
    head = ledger.head()
    for other in (
        bound((CHECK,), ensemble="others"),
        bound((CHECK,), rule="another"),
        bound((ARGMAX,)),
    ):
        with pytest.raises(LedgerMismatchError, match="nothing was charged"):
            ledger.reserve(queries(2), other)
    assert ledger.head() == head


def test_files_are_for_their_owner_alone(path: Path) -> None:
    with Ledger.open(path, BUDGET) as ledger:
        answer(ledger, 2)
        found = list(path.parent.iterdir())
        assert len(found) == 3
        for file in found:
            assert file.stat().st_mode & 0o077 == 0, file.name


def test_a_ledger_knows_its_data_and_its_budget(path: Path) -> None:
    with Ledger.open(path, BUDGET, lambda salt: "a" + salt.hex()) as ledger:
        answer(ledger, 1)
    Ledger.open(path, BUDGET, lambda salt: "a" + salt.hex()).close()
    with pytest.raises(LedgerMismatchError, match="another data set"):
        Ledger.open(path, BUDGET, lambda salt: "b" + salt.hex())
    with pytest.raises(LedgerMismatchError, match="cannot be opened with"):
        Ledger.open(path, Budget(9.0, 1e-5), lambda salt: "a" + salt.hex())


def test_other_voters_ask_other_queries() -> None:
    ledger = Ledger.open(None, BUDGET)
    answer(ledger, 3)
    labels(opened(ledger, voters=FixedVoters(b"others")), queries(3))
    assert ledger.spending().asked == 6
    assert len(ledger.spending().bindings) == 2
    labels(opened(ledger, voters=VOTERS), queries(3))
    assert ledger.spending().asked == 6


def test_the_ensemble_in_a_ledger_is_a_keyed_name(path: Path) -> None:
    with Ledger.open(path, BUDGET) as ledger:
        answer(ledger, 1)
        (binding,) = ledger.spending().bindings.values()
        assert binding.ensemble == ledger.keyed(VOTERS.identity).hex()
    assert VOTERS.identity not in path.read_bytes()


def test_a_second_writer_waits_or_is_refused(path: Path) -> None:
    with Ledger.open(path, BUDGET) as ledger, Ledger.open(path, BUDGET, wait=0.05) as second:
        with (
            ledger.store.writing(),
            pytest.raises(LedgerBusyError, match="another process"),
        ):
            second.reserve(queries(1), bound((ARGMAX,)))
        assert second.reserve(queries(1), bound((ARGMAX,))).ids == queries(1)


def test_a_full_disk_answers_nothing_and_loses_nothing(path: Path) -> None:
    with Ledger.open(path, BUDGET) as ledger:
        first = answer(ledger, 20)
        connection = ledger.store._connection  # type: ignore[attr-defined]
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(LedgerError, match="full"):
            ledger.reserve(queries(400, 1000), opened(ledger, GNMax(200.0)).binding)
        assert ledger.spending().recorded == 20
        assert len(ledger.spending().bindings) == 1
    with Ledger.open(path, BUDGET) as again:
        assert np.array_equal(answer(again, 20), first)
        assert again.spending().asked == 20
        verify(again)


def test_an_unwritable_place_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="cannot be written"):
        Ledger.open(tmp_path / "no" / "such" / "folder.sqlite", BUDGET)
    for write in (False, True):
        with pytest.raises(LedgerError, match="no ledger"):
            Ledger.existing(tmp_path / "missing.sqlite", write=write)
    assert list(tmp_path.iterdir()) == []


def test_a_copy_of_an_in_memory_ledger_cannot_spend() -> None:
    ledger = Ledger.open(None, BUDGET)
    first = answer(ledger, 5)
    ids = names(opened(ledger), queries(5))
    for twin in (copy.deepcopy(ledger), pickle.loads(pickle.dumps(ledger))):
        assert twin.lookup(ids) == dict(zip(ids, first.tolist(), strict=True))
        with pytest.raises(LedgerError, match="copy"):
            twin.reserve(queries(1, 50), bound((ARGMAX,)))


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
    grant = ledger.reserve(queries(1), bound((CHECK,)))
    ledger.record(grant, np.array([ABSTAIN]), all_of(CHECK))
    assert ledger.lookup(queries(1)) == {queries(1)[0]: ABSTAIN}

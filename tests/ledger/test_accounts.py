"""Which costs may be compared teacher by teacher: those of one ensemble, rule and grouping."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ballotine.errors import LedgerMismatchError, LedgerTamperedError
from ballotine.ledger import Binding, Ledger, pool_digest, verify
from ballotine.ledger.binding import charge_from_json
from ballotine.privacy.events import Event
from ballotine.privacy.guarantee import Budget
from tests.ledger.conftest import bound, fixed, queries
from tests.ledger.test_groups import CHECK, LIGHT, ORDERS, PLAIN, TURNS, cost, realise

LOOSE = {"low": Budget(40.0, 1e-5), "high": Budget(40.0, 1e-5)}


def ask(ledger: Ledger, number: int, start: int, binding: Binding) -> int:
    grant = ledger.reserve(queries(number, start), binding)
    answers = np.ones(len(grant.ids), dtype=np.int64)
    ledger.record(grant, answers, lambda a, g: realise(a, g, binding.charge))
    return len(grant.ids)


@given(fits=st.lists(st.integers(1, 9), min_size=1, max_size=12))
@settings(max_examples=25, deadline=None)
def test_ensembles_that_take_turns_add_up(fits: list[int]) -> None:
    """A record may belong to the busiest teacher of every ensemble."""
    ledger = Ledger.open(None, LOOSE)
    total = np.zeros_like(ORDERS)
    for fit, number in enumerate(fits):
        ask(ledger, number, 100 * fit, bound(TURNS, ensemble=f"fit {fit}", groups="g"))
        votes = Counter((2 * turn + place) % 5 for turn in range(number) for place in range(2))
        total = total + max(votes.values()) * (CHECK.cost(ORDERS) + LIGHT.cost(ORDERS))
    account = ledger.spending().accounts["high"]
    assert account.cost(ORDERS) == pytest.approx(total)
    assert account.worst_cost(ORDERS) == pytest.approx(total)
    verify(ledger)


@given(asked=st.lists(st.tuples(st.integers(0, 40), st.booleans()), min_size=1, max_size=30))
@settings(max_examples=25, deadline=None)
def test_the_filter_sees_the_cost_of_all_ensembles(asked: list[tuple[int, bool]]) -> None:
    """Cached prices of unchanged tabs are what they cost, in any order of use."""
    ledger = Ledger.open(None, LOOSE)
    for place, (ensemble, same_groups) in enumerate(asked):
        groups = "g" if same_groups else f"g{ensemble % 2}"
        ask(ledger, 2, 10 * place, bound(TURNS, ensemble=f"{ensemble}", groups=groups))
        for account in ledger.spending().accounts.values():
            anew = account.cost(np.array([account.order]))
            assert account.charged() == pytest.approx(float(anew[0]), rel=1e-13)


def test_one_ensemble_goes_on_with_its_own_turns() -> None:
    ledger = Ledger.open(None, LOOSE)
    one, two = bound(TURNS, ensemble="one"), bound(TURNS, ensemble="two")
    ask(ledger, 3, 0, one)
    ask(ledger, 2, 100, two)
    assert ledger.reserve(queries(2, 200), one).turns.tolist() == [3, 4]
    assert ledger.reserve(queries(1, 300), two).turns.tolist() == [2]


def test_records_that_may_have_changed_groups_are_charged_the_dearest() -> None:
    ledger = Ledger.open(None, LOOSE)
    ask(ledger, 6, 0, bound(PLAIN, groups="records:one"))
    before = ledger.spending().accounts["high"].cost(ORDERS)
    assert before == pytest.approx(cost({CHECK: 6, LIGHT: 6}))
    ask(ledger, 4, 100, bound(PLAIN, groups="records:other"))
    heavy: Event = dict(PLAIN.by_group)["low"].events[1]
    for account in ledger.spending().accounts.values():
        assert account.cost(ORDERS) == pytest.approx(cost({CHECK: 10, heavy: 10}))
    assert "stayed in its group" in ledger.spending().doubted
    verify(ledger)


def test_where_nobody_told_the_groups_another_ensemble_is_charged_the_dearest() -> None:
    """Groups that are not stated are assumed to differ."""
    ledger = Ledger.open(None, LOOSE)
    for ensemble, start in (("one", 0), ("one", 100), ("two", 200)):
        assert not ledger.spending().doubted
        ask(ledger, 4, start, bound(PLAIN, ensemble=ensemble))
    heavy: Event = dict(PLAIN.by_group)["low"].events[1]
    for account in ledger.spending().accounts.values():
        assert account.cost(ORDERS) == pytest.approx(cost({CHECK: 12, heavy: 12}))
    assert "stayed in its group" in ledger.spending().doubted
    verify(ledger)


@given(tight=st.floats(0.6, 3.0), first=st.integers(1, 30), second=st.integers(1, 60))
@settings(max_examples=25, deadline=None)
def test_a_change_of_groups_never_passes_a_budget(tight: float, first: int, second: int) -> None:
    """Earlier queries are charged at the highest cost before more are granted."""
    ledger = Ledger.open(None, {"low": Budget(40.0, 1e-5), "high": Budget(tight, 1e-5)})
    ask(ledger, first, 0, bound(PLAIN, groups="records:one"))
    other = bound(PLAIN, groups="records:other")
    room = ledger.spending().affordable(other, second)
    assert ask(ledger, second, 1000, other) == room
    spending = ledger.spending()
    if room:
        assert not any(account.exceeded() for account in spending.accounts.values())
        assert spending.accounts["high"].worst_epsilon() <= tight
    verify(ledger)


@pytest.mark.parametrize("other", ["ensemble", "rule", "groups", "pool", "charge"])
def test_each_part_of_an_identity_makes_another_account(other: str) -> None:
    ledger = Ledger.open(None, LOOSE)
    ask(ledger, 2, 0, bound(PLAIN, groups="g"))
    binding = (
        bound(TURNS, groups="g")
        if other == "charge"
        else bound(PLAIN, **{"groups": "g", other: "another"})
    )
    ask(ledger, 2, 100, binding)
    assert len(ledger.spending().bindings) == 2
    ask(ledger, 2, 200, binding)
    assert len(ledger.spending().bindings) == 2
    assert binding in ledger.spending().bindings.values()


def test_a_binding_survives_its_text() -> None:
    for charge in (PLAIN, TURNS):
        binding = bound(charge, groups="records:x", pool="p")
        assert Binding.from_dict(binding.to_dict()) == binding
    for broken in ({}, {**bound(PLAIN).to_dict(), "rule": None}):
        with pytest.raises(LedgerTamperedError):
            Binding.from_dict(broken)
    for broken in (None, {"low": {}}, {"low": {"events": [], "teachers": 1, "voters": 1}}, {}):
        with pytest.raises(LedgerTamperedError):
            charge_from_json(broken)


@pytest.mark.parametrize("other", ["ensemble", "rule", "pool", "charge"])
def test_fixed_queries_are_refused_by_any_other_account(path: Path, other: str) -> None:
    pool = pool_digest(queries(5))
    begun = bound((LIGHT,), pool=pool)
    if other == "charge":
        wrong = bound((CHECK,), pool=pool)
    else:
        wrong = bound((LIGHT,), **{"pool": pool, other: "another"})
    with Ledger.open(path, fixed(5)) as ledger:
        ledger.reserve(queries(2), begun)
        head = ledger.head()
        with pytest.raises(LedgerMismatchError, match="nothing was charged"):
            ledger.reserve(queries(3, 2), wrong)
        assert ledger.head() == head
        assert ledger.reserve(queries(5), begun).ids == queries(5)

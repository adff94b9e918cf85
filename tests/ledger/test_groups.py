"""Budgets per group: what each group pays, which one stops answering, and taking turns."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ballotine.errors import (
    InsufficientBudgetError,
    LedgerError,
    LedgerMismatchError,
    LedgerTamperedError,
    ParameterError,
)
from ballotine.ledger import Charge, GroupCharge, Ledger, Mode, Terms, pool_digest, verify
from ballotine.ledger.terms import plan_order
from ballotine.privacy import conversion
from ballotine.privacy.events import Event, GaussianArgmax, GaussianCheck
from ballotine.privacy.guarantee import Budget
from ballotine.types import ABSTAIN, IntArray
from tests.ledger.conftest import all_of, bound, edit, fixed, queries

CHECK = GaussianCheck(30.0)
LIGHT, HEAVY = GaussianArgmax(20.0, 3, 0.5), GaussianArgmax(20.0, 3, 2.0)
BUDGETS = {"low": Budget(2.0, 1e-5), "high": Budget(1.0, 1e-5)}
PLAIN = Charge((("low", GroupCharge((CHECK, HEAVY))), ("high", GroupCharge((CHECK, LIGHT)))))
TURNS = Charge(
    (("low", GroupCharge((CHECK, LIGHT), 2, 2)), ("high", GroupCharge((CHECK, LIGHT), 2, 5)))
)
ORDERS = np.array([1.5, 4.0, 12.0])


def realise(answers: IntArray, group: str, charge: Charge = PLAIN) -> Counter[Event]:
    check, argmax = dict(charge.by_group)[group].events
    given = int(np.count_nonzero(answers != ABSTAIN))
    return Counter({check: len(answers)}) + Counter({argmax: given})


def ask(ledger: Ledger, number: int, charge: Charge, start: int = 0) -> int:
    """Answer every third query with an abstention; returns how many were granted."""
    grant = ledger.reserve(queries(number, start), bound(charge))
    granted = len(grant.ids)
    answers = np.where(np.arange(start, start + granted) % 3 == 0, ABSTAIN, 1)
    ledger.record(grant, answers, lambda a, g: realise(a, g, charge))
    return granted


def cost(counts: dict[Event, int], orders: np.ndarray = ORDERS) -> np.ndarray:
    return sum(times * event.cost(orders) for event, times in counts.items())  # type: ignore[return-value]


def test_each_group_pays_its_own_share() -> None:
    ledger = Ledger.open(None, BUDGETS)
    assert ask(ledger, 9, PLAIN) == 9
    accounts = ledger.spending().accounts
    assert accounts["low"].cost(ORDERS) == pytest.approx(cost({CHECK: 9, HEAVY: 6}))
    assert accounts["high"].cost(ORDERS) == pytest.approx(cost({CHECK: 9, LIGHT: 6}))
    assert verify(ledger).queries == 9


def test_the_first_group_to_run_out_stops_everyone() -> None:
    ledger = Ledger.open(None, BUDGETS)
    granted = ask(ledger, 5000, PLAIN)
    while more := ask(ledger, 100, PLAIN, start=granted):
        granted += more
    accounts = ledger.spending().accounts
    one_more = {
        name: conversion.epsilon(
            np.array([account.order]),
            account.cost(np.array([account.order]))
            + cost(dict.fromkeys(dict(PLAIN.by_group)[name].events, 1), np.array([account.order])),
            1e-5,
        )[0]
        for name, account in accounts.items()
    }
    assert all(account.epsilon() <= BUDGETS[name].epsilon for name, account in accounts.items())
    assert one_more["low"] > 2.0, "the heavy group ended it"
    assert one_more["high"] < 1.0, "the light group had budget left"
    refusal = ledger.refusal(bound(PLAIN))
    assert isinstance(refusal, InsufficientBudgetError)
    assert "group low" in str(refusal)


@given(
    teachers=st.integers(1, 12), data=st.data(), turns=st.integers(0, 40), start=st.integers(0, 30)
)
@settings(max_examples=60, deadline=None)
def test_turns_are_fair_and_counted_right(
    teachers: int, data: st.DataObject, turns: int, start: int
) -> None:
    voters = data.draw(st.integers(1, teachers))
    share = GroupCharge((CHECK,), voters, teachers)
    votes = share.votes_at(np.arange(start + turns))
    assert np.all(votes.sum(axis=1) == (1 if share.units == 1 else voters))
    after = np.atleast_1d(share.votes_after(start + turns))
    assert np.array_equal(votes.sum(axis=0), after)
    assert np.ptp(after) <= 1


def test_with_turns_a_record_pays_for_its_own_teacher_only() -> None:
    """Against a plain loop over queries and teachers."""
    ledger = Ledger.open(None, BUDGETS)
    for start in range(0, 21, 7):
        ask(ledger, 7, TURNS, start)
    paid: list[Counter[Event]] = [Counter() for _ in range(5)]
    for number in range(21):
        for place in range(2):
            who = (2 * number + place) % 5
            paid[who] += Counter([CHECK] if number % 3 == 0 else [CHECK, LIGHT])
    expected = np.max([cost(dict(part)) for part in paid], axis=0)
    assert ledger.spending().accounts["high"].cost(ORDERS) == pytest.approx(expected)
    everything = cost({CHECK: 21, LIGHT: 14})
    assert ledger.spending().accounts["low"].cost(ORDERS) == pytest.approx(everything)
    assert verify(ledger).queries == 21


def test_turns_afford_more_queries_and_never_too_many() -> None:
    small = {"low": Budget(40.0, 1e-5), "high": Budget(1.0, 1e-5)}
    without = Charge((("low", TURNS.by_group[0][1]), ("high", GroupCharge((CHECK, LIGHT)))))
    few = Ledger.open(None, small).spending().affordable(bound(without))
    ledger = Ledger.open(None, small)
    most = ledger.spending().affordable(bound(TURNS))
    assert 2.4 * few < most < 2.6 * few, "two of five vote"
    grant = ledger.reserve(queries(most + 7), bound(TURNS))
    assert (len(grant.ids), grant.refused) == (most, 7)
    assert not ledger.spending().accounts["high"].exceeded()
    assert ledger.reserve(queries(1, most + 50), bound(TURNS)).ids == []


def test_a_resumed_query_keeps_its_turn(path: Path) -> None:
    with Ledger.open(path, BUDGETS) as ledger:
        ask(ledger, 4, TURNS)
        ledger.reserve(queries(3, 4), bound(TURNS))
    with Ledger.open(path, BUDGETS) as again:
        assert again.pending(queries(9)) == set(queries(3, 4))
        grant = again.reserve(queries(8), bound(TURNS))
        assert grant.ids == queries(8)
        assert grant.turns.tolist() == list(range(8))
        assert [query.id for query in grant.fresh] == queries(1, 7)


def test_a_moved_turn_is_found(path: Path) -> None:
    with Ledger.open(path, BUDGETS) as ledger:
        ask(ledger, 4, TURNS)
    edit(path, "UPDATE reservations SET turn = turn + 1")
    with Ledger.existing(path) as edited, pytest.raises(LedgerTamperedError, match="changed"):
        verify(edited)


def test_a_query_charges_all_groups_and_nobody_else() -> None:
    ledger = Ledger.open(None, BUDGETS)
    for charge in (
        Charge.of((CHECK,)),
        Charge((("low", GroupCharge((CHECK,))),)),
        Charge((*PLAIN.by_group, ("other", GroupCharge((CHECK,))))),
    ):
        with pytest.raises(ParameterError, match="the same groups"):
            ledger.reserve(queries(1), bound(charge))
    assert ledger.head().seq == 1


def test_terms_belong_to_the_ledger(path: Path) -> None:
    terms = fixed(40)
    with Ledger.open(path, terms) as ledger:
        ledger.reserve(queries(1), bound((LIGHT,), pool=pool_digest(queries(40))))
    Ledger.open(path, terms).close()
    for other in (BUDGETS, Budget(50.0, 1e-5), fixed(41), fixed(40, epsilon=51.0)):
        with pytest.raises(LedgerMismatchError, match="cannot be opened with"):
            Ledger.open(path, other)


def test_a_fixed_number_of_queries_is_never_exceeded() -> None:
    ledger = Ledger.open(None, fixed(12))
    binding = bound((LIGHT,), pool=pool_digest(queries(12)))
    grant = ledger.reserve(queries(30), binding)
    assert (len(grant.ids), grant.refused) == (12, 18)
    assert ledger.reserve(queries(1, 90), binding).ids == []
    assert "cannot be increased" in str(ledger.refusal(binding))


def test_an_epsilon_is_published_once_and_paid_for() -> None:
    ledger = Ledger.open(None, fixed(3))
    binding = bound((LIGHT,), pool=pool_digest(queries(3)))
    grant = ledger.reserve(queries(3), binding)
    with pytest.raises(LedgerError, match="0 of 3"):
        ledger.publish({"epsilon": 1.5}, (CHECK,), binding)
    ledger.record(grant, np.array([0, 1, 2]), all_of(LIGHT))
    before = ledger.spending().cost(ORDERS)
    first = ledger.publish({"epsilon": 1.5}, (CHECK,), binding)
    assert ledger.publish({"epsilon": 0.5}, (CHECK,), binding) == first == {"epsilon": 1.5}
    assert ledger.spending().cost(ORDERS) == pytest.approx(before + CHECK.cost(ORDERS))
    verify(ledger)


def test_a_publication_is_about_the_fixed_queries_and_no_other() -> None:
    ledger = Ledger.open(None, fixed(2))
    binding = bound((LIGHT,), pool=pool_digest(queries(2)))
    grant = ledger.reserve(queries(2, 7), binding)  # not those that were named
    ledger.record(grant, np.array([0, 1]), all_of(LIGHT))
    with pytest.raises(LedgerMismatchError, match="not the same"):
        ledger.publish({"epsilon": 1.5}, (CHECK,), binding)
    with pytest.raises(LedgerError):
        ledger.publish({"epsilon": 1.5}, (CHECK,), bound((LIGHT,), pool="other"))
    assert ledger.spending().statement is None


def test_a_publication_passes_the_filter() -> None:
    order = plan_order(Budget(1.0, 1e-5))
    allowed = float(conversion.allowance(np.array([order]), 1.0, 1e-5)[0])
    most = int(allowed / LIGHT.cost(np.array([order]))[0])
    ledger = Ledger.open(None, fixed(most, epsilon=1.0))
    binding = bound((LIGHT,), pool=pool_digest(queries(most)))
    grant = ledger.reserve(queries(most), binding)
    ledger.record(grant, np.zeros(most, dtype=np.int64), all_of(LIGHT))
    head = ledger.head()
    with pytest.raises(LedgerError, match="does not allow an ε to be published"):
        ledger.publish({"epsilon": 0.5}, (HEAVY,), binding)
    assert ledger.head() == head
    assert ledger.spending().epsilon() <= 1.0


@pytest.mark.parametrize(
    "make",
    [
        lambda: Terms(()),
        lambda: Terms((("a", Budget(1, 1e-5)), ("a", Budget(2, 1e-5)))),
        lambda: Terms((("a", Budget(1, 1e-5)), ("b", Budget(2, 1e-6)))),
        lambda: Terms((("a", Budget(1, 1e-5)),), Mode.FIXED),
        lambda: Terms((("a", Budget(1, 1e-5)),), Mode.FIXED, 0),
        lambda: Terms((("a", Budget(1, 1e-5)),), Mode.STRICT, 5),
        lambda: Terms((("a", Budget(1, 1e-5)),), orders=(("b", 2.0),)),
        lambda: Terms((("a", Budget(1, 1e-5)),), orders=(("a", 1.0),)),
        lambda: GroupCharge(()),
        lambda: GroupCharge((CHECK,), 3, 2),
        lambda: Charge(()),
    ],
)
def test_impossible_terms_are_refused(make: object) -> None:
    with pytest.raises(ParameterError):
        make()  # type: ignore[operator]

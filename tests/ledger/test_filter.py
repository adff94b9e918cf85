"""The stop rule: planned from the budget, true after a refusal, amendable only before use."""

from __future__ import annotations

import multiprocessing
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ballotine.errors import InsufficientBudgetError, LedgerMismatchError
from ballotine.ledger import EVERYONE, Ledger, Terms, verify
from ballotine.ledger.terms import plan_order
from ballotine.noise import SeededNoise
from ballotine.privacy.events import GaussianArgmax, GaussianCheck, LaplaceArgmax
from ballotine.privacy.guarantee import Budget
from ballotine.privacy.orders import DEFAULT_ORDERS
from ballotine.voting import UNASKED, ConfidentGNMax, GNMax, LNMax
from ballotine.voting.promise import REFUSED, stated
from tests.conftest import Command
from tests.ledger.conftest import BUDGET, answer, bound, labels, opened, queries

CONFIDENT = ConfidentGNMax(20.0, 6.0, 30.0)
OTHER = Budget(9.0, 1e-6)


def kinds(ledger: Ledger) -> list[str]:
    return [entry.kind for entry in ledger.entries()]


@given(epsilon=st.floats(0.05, 60.0), power=st.integers(3, 9))
@settings(max_examples=40, deadline=None)
def test_the_order_follows_from_the_budget_alone(epsilon: float, power: int) -> None:
    """Against a plain search for the order where an allowance divided by the order is largest."""
    delta = 10.0**-power
    order = plan_order(Budget(epsilon, delta))

    def room(a: Any) -> Any:
        return (epsilon - np.log1p(-1 / a) + np.log(delta * a) / (a - 1)) / a

    dense = 1.0 + np.geomspace(1e-3, 1e4, 20_000)
    assume(room(dense).max() > 0)
    assert room(order) >= 0.95 * room(dense).max()


def test_the_order_is_written_down_before_anything_is_asked(path: Path) -> None:
    with Ledger.open(path, BUDGET) as ledger:
        (first,) = ledger.entries()
    assert first.payload["orders"] == {EVERYONE: plan_order(BUDGET)}


@pytest.mark.parametrize("first", [LNMax(0.3), GNMax(400.0), GNMax(20.0)])
def test_an_early_query_of_another_kind_does_not_choose_the_order(first: Any) -> None:
    """One LNMax(0.3) used to fix order 10240, where nothing else was affordable."""
    ledger = Ledger.open(None, BUDGET)
    answer(ledger, 1, mechanism=first)
    assert ledger.spending().accounts[EVERYONE].order == plan_order(BUDGET)
    asked = answer(ledger, 200, start=10, mechanism=GNMax(20.0)) != UNASKED
    order = np.array([plan_order(BUDGET)])
    allowed = BUDGET.epsilon - np.log1p(-1 / order) + np.log(1e-5 * order) / (order - 1)
    left = allowed - first.events(3)[0].cost(order)
    assert np.count_nonzero(asked) == int((left / GaussianArgmax(20.0, 3).cost(order))[0]) > 140


@pytest.mark.parametrize("seed", range(6))
def test_after_a_refusal_the_ceiling_holds_whatever_the_answers_were(seed: int) -> None:
    """Once answers decide how many queries are asked, the worst case depends on them too."""
    ledger = Ledger.open(None, BUDGET)
    session = opened(ledger, CONFIDENT, noise=SeededNoise(seed))
    first = labels(session, queries(30))
    assert np.all(first != UNASKED)
    assert ledger.spending().guaranteed_epsilon() < BUDGET.epsilon
    assert UNASKED in labels(session, queries(3000, 100))
    assert ledger.spending().guaranteed_epsilon() == BUDGET.epsilon
    epsilon, _, assumed, notes = stated(ledger.spending())
    assert (epsilon, assumed, notes) == (BUDGET.epsilon, (), (REFUSED,))


def test_a_refusal_is_written_down_once_and_for_good(path: Path, ballotine: Command) -> None:
    with Ledger.open(path, BUDGET) as ledger:
        cheap = opened(ledger, GNMax(200.0))
        assert np.all(labels(cheap, queries(2)) >= 0)
        dear = opened(ledger, GNMax(0.5))
        assert np.all(labels(dear, queries(2)) == UNASKED)
        assert kinds(ledger) == ["open", "bind", "reserve", "record", "refuse"]
        assert np.all(labels(dear, queries(2)) == UNASKED)
        assert kinds(ledger).count("refuse") == 1
    with Ledger.open(path, BUDGET) as again:
        assert again.spending().refused
        assert np.all(answer(again, 2, start=50, mechanism=GNMax(200.0)) >= 0)
        assert again.spending().guaranteed_epsilon() == BUDGET.epsilon
        verify(again)
    assert '"refused": true' in ballotine("ledger", "show", path, "--json").stdout


def test_an_unused_ledger_takes_another_budget(path: Path) -> None:
    identity = Ledger.open(path, BUDGET, lambda _: "data").identity
    with Ledger.open(path, OTHER, lambda _: "data") as ledger:
        assert kinds(ledger) == ["open", "amend"]
        assert ledger.identity == identity
        assert (ledger.budget, ledger.terms.orders) == (OTHER, ((EVERYONE, plan_order(OTHER)),))
        assert np.all(answer(ledger, 3) >= 0)
        verify(ledger)
    with pytest.raises(LedgerMismatchError, match="cannot be opened with"):
        Ledger.open(path, BUDGET, lambda _: "data")
    with Ledger.open(path, OTHER) as ledger:
        assert kinds(ledger).count("amend") == 1


def test_a_ledger_with_a_mere_reservation_is_used(path: Path) -> None:
    with Ledger.open(path, BUDGET) as ledger:
        ledger.reserve(queries(1), bound((GaussianCheck(30.0),)))
    with pytest.raises(LedgerMismatchError, match="cannot be opened with"):
        Ledger.open(path, OTHER)


def test_a_budget_may_change_and_change_back_before_use(path: Path) -> None:
    for budget in (BUDGET, OTHER, BUDGET, BUDGET):
        Ledger.open(path, budget).close()
    with Ledger.open(path, BUDGET) as ledger:
        assert kinds(ledger) == ["open", "amend", "amend"]
        verify(ledger)


def test_whoever_holds_an_amended_ledger_is_told_and_told_again(path: Path) -> None:
    with Ledger.open(path, BUDGET) as first, Ledger.open(path, OTHER):
        for _ in range(2):
            with pytest.raises(LedgerMismatchError, match="does not fit"):
                first.spending()
            with pytest.raises(LedgerMismatchError, match="does not fit"):
                first.reserve(queries(1), bound((GaussianCheck(30.0),)))


def test_what_a_budget_refused_before_use_does_not_bind_the_next(path: Path) -> None:
    with Ledger.open(path, Budget(0.01, 1e-5)) as ledger:
        assert np.all(answer(ledger, 2) == UNASKED)
        assert ledger.spending().refused
    with Ledger.open(path, BUDGET) as ledger:
        assert not ledger.spending().refused
        answer(ledger, 2)
        assert ledger.spending().guaranteed_epsilon() < BUDGET.epsilon
        verify(ledger)


@given(
    event=st.one_of(
        st.floats(0.5, 300.0).map(lambda sigma: (GaussianArgmax(sigma, 5),)),
        st.floats(0.01, 2.0).map(lambda gamma: (LaplaceArgmax(gamma),)),
        st.floats(5.0, 90.0).map(lambda s: (GaussianCheck(s), GaussianArgmax(s / 2, 3))),
    ),
    power=st.integers(3, 9),
    share=st.floats(0.01, 0.9),
)
@settings(max_examples=60, deadline=None)
def test_the_advice_of_a_refusal_works(event: Any, power: int, share: float) -> None:
    """The suggested budget pays for an answer in the same ledger, at the first attempt."""
    delta = 10.0**-power
    ledger = Ledger.open(None, Budget(1e-3 * share, delta))
    binding = bound(event)
    assume(not ledger.reserve(queries(1), binding).ids)
    refusal = ledger.refusal(binding)
    assert isinstance(refusal, InsufficientBudgetError)
    found = re.search(r"a budget of ε = (\S+) pays for one answer", str(refusal))
    assert found is not None
    ledger.agree(Terms.of(Budget(float(found[1]), delta)))
    assert ledger.reserve(queries(1), binding).ids == queries(1)


def test_the_advice_on_a_used_ledger_does_not_promise_another_budget() -> None:
    ledger = Ledger.open(None, BUDGET)
    answer(ledger, 400)
    text = str(ledger.refusal(opened(ledger).binding))
    assert "keeps its budget" in text
    assert "its budget can be changed" not in text


def _found(path: Path, out: Any) -> None:
    with Ledger.open(path, BUDGET) as ledger:
        answer(ledger, 1)
        out.put(ledger.identity)


def test_several_founders_found_one_ledger(path: Path) -> None:
    fork = multiprocessing.get_context("fork")
    out = fork.Queue()
    workers = [fork.Process(target=_found, args=(path, out)) for _ in range(6)]
    for worker in workers:
        worker.start()
    assert len({out.get(timeout=60) for _ in workers}) == 1
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    with Ledger.existing(path) as ledger:
        assert kinds(ledger) == ["open", "bind", "reserve", "record"]
        assert ledger.spending().cost(DEFAULT_ORDERS) == pytest.approx(
            GaussianArgmax(20.0, 3).cost(DEFAULT_ORDERS)
        )

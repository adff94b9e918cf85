"""Undrawn reservations are fenced and given up; all others stay charged."""

from __future__ import annotations

import os
import signal
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from ballotine.errors import DataError, LedgerError
from ballotine.ledger import Charge, GroupCharge, Ledger, pool_digest, verify
from ballotine.noise import SecureNoise
from ballotine.privacy.events import Event, GaussianArgmax, GaussianCheck
from ballotine.privacy.guarantee import Budget
from ballotine.types import IntArray, Matrix
from ballotine.voting import UNASKED, CastBallots, Session, Tallies
from tests.conftest import Command
from tests.ledger.conftest import (
    BUDGET,
    GNMAX,
    FixedVoters,
    all_of,
    bound,
    fixed,
    labels,
    names,
    opened,
    queries,
    rules_of,
)

CHECK = GaussianCheck(30.0)
LIGHT = GaussianArgmax(20.0, 3, 0.5)
HERE = bound((CHECK,))
ORDERS = np.array([1.5, 4.0, 12.0])
BUDGETS = {"low": Budget(40.0, 1e-5), "high": Budget(40.0, 1e-5)}
TURNS = Charge(
    (("low", GroupCharge((CHECK, LIGHT), 2, 2)), ("high", GroupCharge((CHECK, LIGHT), 2, 5)))
)


def kinds(ledger: Ledger) -> list[str]:
    return [entry.kind for entry in ledger.entries()]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda cast: cast.astype(np.uint64) + np.uint64(2**63),
        lambda cast: np.where(np.arange(60)[:, None] == 3, 7, cast),
        lambda cast: cast - 1,
        lambda cast: cast.astype(np.float64),
        lambda cast: cast[:, :9],
    ],
    ids=["uint64", "one out of range", "below zero", "fractions", "a missing teacher"],
)
def test_ballots_that_cannot_be_counted_cost_nothing(spoil: object) -> None:
    """A regression: bad ballots used up the budget, because they were checked after reserving."""
    ledger = Ledger.open(None, BUDGET)
    cast = np.tile(np.arange(10) % 3, (60, 1))
    voters = CastBallots(b"file", spoil(cast))  # type: ignore[operator]

    def ask() -> None:
        session = Session.open(rules_of(ledger, GNMAX), voters, ledger, SecureNoise())
        session.answer(np.arange(60), queries(60))

    with pytest.raises(DataError):
        ask()
    assert kinds(ledger) == ["open"]


def test_unsigned_ballots_are_class_numbers_like_any_other() -> None:
    ledger = Ledger.open(None, BUDGET)
    cast = np.tile(np.arange(10) % 3, (5, 1)).astype(np.uint64)
    voters = CastBallots(b"file", cast)
    session = Session.open(rules_of(ledger, GNMAX), voters, ledger, SecureNoise())
    assert np.all(session.answer(np.arange(5), queries(5)).labels >= 0)


class FailsLater(FixedVoters):
    """Votes once, and fails when the granted queries are tallied again."""

    def ballots(self, rows: Matrix) -> Tallies:
        if len(rows) < 64:
            raise DataError("the network is down")
        return super().ballots(rows)


def test_a_session_that_ends_before_drawing_says_so() -> None:
    ledger = Ledger.open(None, Budget(1.0, 1e-5))
    session = opened(ledger, voters=FailsLater())
    with pytest.raises(DataError, match="network"):
        labels(session, queries(64))
    assert kinds(ledger)[-2:] == ["refuse", "undrawn"]
    paid = ledger.spending().asked
    assert paid == ledger.spending().pending > 10
    assert ledger.void("the network was down") == paid
    assert ledger.spending().epsilon() == 0
    assert verify(ledger).queries == paid


def test_a_session_that_fails_while_drawing_stays_charged() -> None:
    class Broken(SecureNoise):
        def words(self, purpose: str, key: bytes, count: int) -> bytes:
            raise KeyboardInterrupt

    ledger = Ledger.open(None, BUDGET)
    with pytest.raises(KeyboardInterrupt):
        labels(opened(ledger, noise=Broken()), queries(5))
    assert kinds(ledger)[-1] == "reserve"
    assert ledger.void("it was interrupted") == 0
    assert ledger.spending().pending == 5


def test_undrawn_reservations_stay_charged_until_they_are_given_up(path: Path) -> None:
    with Ledger.open(path, BUDGET) as ledger:
        grant = ledger.reserve(queries(6), HERE)
        ledger.mark_undrawn(grant)
        assert ledger.spending().cost(ORDERS) == pytest.approx(6 * CHECK.cost(ORDERS))
        assert ledger.pending(queries(6)) == set()
        ledger.mark_undrawn(grant)
        assert kinds(ledger).count("undrawn") == 1
    with Ledger.open(path, BUDGET) as later:
        assert later.void("the file was broken") == 6
        assert later.spending().cost(ORDERS) == pytest.approx(0 * ORDERS)
        assert later.spending().guaranteed_epsilon() == 0
        assert (later.spending().pending, later.spending().void) == (0, 6)
        assert next(e for e in later.entries() if e.kind == "void").payload["why"] == (
            "the file was broken"
        )
        assert later.void("again") == 0
        verify(later)


def test_asking_again_gives_up_what_was_not_drawn() -> None:
    ledger = Ledger.open(None, BUDGET)
    first = ledger.reserve(queries(6), HERE)
    ledger.mark_undrawn(first)
    again = ledger.reserve(queries(4), HERE)
    assert again.ids == queries(4)
    assert [query.reserved for query in again.fresh] != [query.reserved for query in first.fresh]
    assert kinds(ledger) == ["open", "bind", "reserve", "undrawn", "void", "reserve"]
    assert ledger.spending().cost(ORDERS) == pytest.approx(6 * CHECK.cost(ORDERS))
    ledger.record(again, np.zeros(4, dtype=np.int64), all_of(CHECK))
    assert ledger.void("the rest") == 2
    assert ledger.spending().cost(ORDERS) == pytest.approx(4 * CHECK.cost(ORDERS))
    verify(ledger)


def test_an_answer_to_a_voided_reservation_is_refused(path: Path) -> None:
    """Another session took over the query and drew noise; its answer is never handed out."""
    with Ledger.open(path, BUDGET) as one, Ledger.open(path, BUDGET) as two:
        first = one.reserve(queries(3), HERE)
        taken = two.reserve(queries(3), HERE)
        assert (taken.ids, taken.fresh) == (first.ids, ())
        one.mark_undrawn(first)
        assert one.void("one has failed") == 3
        head = one.head()
        with pytest.raises(LedgerError, match="Ask again"):
            two.record(taken, np.array([0, 1, 2]), all_of(CHECK))
        assert two.head() == head
        assert two.lookup(queries(3)) == {}
        anew = one.reserve(queries(3), HERE)
        with pytest.raises(LedgerError, match="Ask again"):
            two.record(taken, np.array([0, 1, 2]), all_of(CHECK))
        one.record(anew, np.array([2, 2, 2]), all_of(CHECK))
        assert two.record(taken, np.array([0, 1, 2]), all_of(CHECK)).tolist() == [2, 2, 2]
        verify(two)


def test_an_answer_that_came_first_stands_and_is_paid_for(path: Path) -> None:
    with Ledger.open(path, BUDGET) as one, Ledger.open(path, BUDGET) as two:
        first = one.reserve(queries(3), HERE)
        taken = two.reserve(queries(3), HERE)
        one.mark_undrawn(first)
        two.record(taken, np.array([0, 1, 2]), all_of(CHECK))
        assert one.void("one has failed") == 0
        assert one.lookup(queries(3)) == dict(zip(queries(3), [0, 1, 2], strict=True))
        assert one.spending().cost(ORDERS) == pytest.approx(3 * CHECK.cost(ORDERS))
        one.mark_undrawn(first)
        verify(one)


def test_what_a_killed_session_reserved_is_never_given_up(path: Path) -> None:
    child = os.fork()
    if child == 0:
        Ledger.open(path, BUDGET).reserve(queries(4), HERE)
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    with Ledger.open(path, BUDGET) as ledger:
        assert ledger.void("it was killed") == 0
        taken = ledger.reserve(queries(6), HERE)
        assert [query.id for query in taken.fresh] == queries(2, 4)
        ledger.mark_undrawn(taken)  # says nothing about what the killed one drew
        assert ledger.void("in order") == 2
        assert ledger.spending().pending == 4
        assert ledger.spending().cost(ORDERS) == pytest.approx(4 * CHECK.cost(ORDERS))
        assert ledger.pending(queries(6)) == set(queries(4))
        verify(ledger)


def test_voided_turns_are_not_charged_and_the_others_are() -> None:
    """Against a plain loop over queries and teachers."""
    ledger, binding = Ledger.open(None, BUDGETS), bound(TURNS)
    paid: list[Counter[Event]] = [Counter() for _ in range(5)]
    worst: list[Counter[Event]] = [Counter() for _ in range(5)]

    def realise(answers: IntArray, group: str) -> Counter[Event]:
        return Counter({CHECK: len(answers), LIGHT: int(np.count_nonzero(answers >= 0))})

    kept = 0
    for part, number in enumerate((3, 4, 1, 5, 2, 6)):
        grant = ledger.reserve(queries(number, 100 * part), binding)
        if part % 2:
            ledger.mark_undrawn(grant)
            assert ledger.void("broken") == number
            continue
        ledger.record(grant, np.arange(number) % 3 - 1, realise)
        for turn, label in zip(grant.turns.tolist(), np.arange(number) % 3 - 1, strict=True):
            kept += 1
            for place in range(2):
                who = (2 * turn + place) % 5
                worst[who] += Counter([CHECK, LIGHT])
                paid[who] += Counter([CHECK, LIGHT] if label >= 0 else [CHECK])

    def most(parts: list[Counter[Event]]) -> object:
        costs = [sum(n * e.cost(ORDERS) for e, n in part.items()) for part in parts if part]
        return pytest.approx(np.max(costs, axis=0))

    account = ledger.spending().accounts["high"]
    assert account.cost(ORDERS) == most(paid)
    assert account.worst_cost(ORDERS) == most(worst)
    assert ledger.spending().void == 15
    assert verify(ledger).queries == kept + 15


def test_fixed_queries_that_were_given_up_may_be_asked_again() -> None:
    ledger = Ledger.open(None, fixed(5))
    binding = bound((LIGHT,), pool=pool_digest(queries(5)))
    ledger.mark_undrawn(ledger.reserve(queries(5), binding))
    ledger.void("the file was broken")
    grant = ledger.reserve(queries(5), binding)
    assert (grant.ids, grant.refused) == (queries(5), 0)
    ledger.record(grant, np.zeros(5, dtype=np.int64), all_of(LIGHT))
    assert ledger.publish({"epsilon": 1.0}, (CHECK,), binding) == {"epsilon": 1.0}
    assert ledger.reserve(queries(1, 9), binding).ids == []
    verify(ledger)


def test_the_holder_voids_by_a_command_that_wants_a_reason(path: Path, ballotine: Command) -> None:
    with Ledger.open(path, BUDGET) as ledger:
        ledger.mark_undrawn(ledger.reserve(queries(6), HERE))
        ledger.reserve(queries(2, 10), HERE)
    assert ballotine("ledger", "void", path).returncode == 2
    ended = ballotine("ledger", "void", path, "--why", "the file was broken")
    assert ended.returncode == 0
    assert "6 reservations given up; 2 others stay charged" in ended.stdout
    assert "0 reservations given up" in ballotine("ledger", "void", path, "--why", "x").stdout
    assert '"why": "the file was broken"' in ballotine("ledger", "export", path).stdout
    assert ballotine("ledger", "verify", path).returncode == 0


def test_a_budget_that_was_given_back_answers_again(path: Path) -> None:
    with Ledger.open(path, BUDGET) as ledger:
        session = opened(ledger)
        most = ledger.spending().affordable(session.binding)
        grant = ledger.reserve(names(session, queries(most)), session.binding)
        assert np.all(labels(session, queries(5, 9000)) == UNASKED)
        ledger.mark_undrawn(grant)
        ledger.void("the file was broken")
        given = labels(session, queries(most + 5))
        assert np.count_nonzero(given != UNASKED) == most
        verify(ledger)

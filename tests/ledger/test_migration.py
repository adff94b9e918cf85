"""Ledgers of version 0.1: reading, migrating, and the worst case where they are incomplete."""

from __future__ import annotations

import hashlib
import json
import math
import shutil
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ballotine.errors import LedgerError, LedgerMismatchError
from ballotine.ledger import EVERYONE, Grant, Ledger, Mode, entries, verify
from ballotine.ledger.store import Query
from ballotine.ledger.terms import plan_order
from ballotine.noise import SecureNoise
from ballotine.privacy.events import from_json
from ballotine.privacy.guarantee import Budget, Kind, round_up
from ballotine.privacy.orders import DEFAULT_ORDERS, widen
from ballotine.types import FloatArray
from ballotine.voting import GNMax, Plan, Rules
from ballotine.voting.promise import (
    NOT_ADAPTIVE,
    UNRECORDED_REFUSALS,
    UNRECORDED_SEEDS,
    guarantee_of,
)
from tests.conftest import Command
from tests.ledger.conftest import BUDGET, all_of, answer, bound, queries

OLD = Path(__file__).parent / "old"
SAID: dict[str, Any] = json.loads((OLD / "said.json").read_text())
SAID["first"] = json.loads((OLD / "said_first.json").read_text())
PLAIN = ("unused", "strict", "killed", "fixed", "paper", "rounds", "first")
DOUBTED = ("groups", "turns")
NAMES = (*PLAIN, *DOUBTED, "published")


@pytest.fixture
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy of the old ledger that the test is about."""
    for file in OLD.glob(f"{request.param}.sqlite*"):
        shutil.copy(file, tmp_path)
    return tmp_path / f"{request.param}.sqlite"


def each(*chosen: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("old", chosen, indirect=True)


def said(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = SAID[path.stem]
    return found


def everything(folder: Path) -> dict[str, str]:
    """Every file except SQLite's -shm, which a reader of a -wal must create."""
    return {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(folder.iterdir())
        if not (file.name.endswith("-shm") and (folder / "killed.sqlite-wal").exists())
    }


def raw(path: Path) -> list[tuple[str, dict[str, Any]]]:
    """Kinds and payloads, read without any of our code."""
    connection = sqlite3.connect(path)
    rows = connection.execute("SELECT kind, payload FROM entries ORDER BY seq").fetchall()
    connection.close()
    return [(kind, json.loads(payload)) for kind, payload in rows]


def epsilon_of(cost: FloatArray, delta: float = 1e-5) -> float:
    """The improved conversion at the best of all orders."""
    a = widen(DEFAULT_ORDERS)
    found = cost + np.log1p(-1 / a) - np.log(delta * a) / (a - 1)
    return float(max(0.0, found.min()))


def dearest(path: Path) -> FloatArray:
    """Every query charged to everybody, at what it costs the group it costs most."""
    orders = widen(DEFAULT_ORDERS)
    total = np.zeros_like(orders)
    for kind, payload in raw(path):
        if kind == "reserve":
            costs = [
                sum(from_json(text).cost(orders) for text in share["events"])
                for share in payload["events"].values()
            ]
            total = total + payload["queries"] * np.max(costs, axis=0)
    return total


@each(*NAMES)
def test_an_old_ledger_is_read_without_changing_a_byte(old: Path, ballotine: Command) -> None:
    before = everything(old.parent)
    with Ledger.existing(old) as ledger:
        verify(ledger)
        assert ledger.spending().recorded == said(old).get("recorded", 20)
        list(ledger.entries())
    for command in ("show", "verify", "export"):
        ended = ballotine("ledger", command, old)
        assert (ended.returncode, ended.stderr) == (0, "")
    assert everything(old.parent) == before


@each(*NAMES)
def test_an_old_ledger_is_brought_up_to_date_once_and_keeps_its_history(old: Path) -> None:
    with Ledger.existing(old) as reader:
        before, seen = list(reader.entries()), reader.spending().to_state()
    for _ in range(2):
        with Ledger.existing(old, write=True) as ledger:
            after = list(ledger.entries())
            verify(ledger)
            assert ledger.spending().to_state() == seen, "readers saw what it is charged at"
    assert after[:-1] == before
    assert after[-1].kind == "migrate"
    connection = sqlite3.connect(old)
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    connection.close()
    assert version > 2, "version 0.1 knows two schemas and refuses what is newer"


@each(*PLAIN)
@pytest.mark.parametrize("write", [False, True])
def test_a_plain_old_ledger_keeps_its_epsilon_and_answers(old: Path, write: bool) -> None:
    with Ledger.existing(old, write=write) as ledger:
        spending = ledger.spending()
        charged = {n: a.epsilon() for n, a in spending.accounts.items()}
        assert charged == pytest.approx(said(old)["epsilon"], rel=1e-12)
        held = spending.guaranteed_epsilon()
        promised = said(old)["guaranteed"]
        assert held == pytest.approx(math.inf if promised is None else promised, rel=1e-12)
        answers = {bytes.fromhex(name): label for name, label in said(old)["answers"].items()}
        assert ledger.lookup(list(answers)) == answers
        assert not spending.doubted


@each(*NAMES)
def test_an_old_stop_rule_stays_where_something_was_spent(old: Path) -> None:
    with Ledger.existing(old, write=True) as ledger:
        accounts = ledger.spending().accounts
    stored = said(old).get("orders", {EVERYONE: 6.0})
    for name, account in accounts.items():
        assert account.order == (stored[name] or plan_order(account.budget))
    assert (old.stem == "unused") == (stored == {EVERYONE: None})


@each(*DOUBTED)
@pytest.mark.parametrize("write", [False, True])
def test_groups_and_turns_of_version_0_1_are_charged_at_the_worst(
    old: Path, write: bool, ballotine: Command
) -> None:
    expected = epsilon_of(dearest(old))
    with Ledger.existing(old, write=write) as ledger:
        spending = ledger.spending()
        for name, account in spending.accounts.items():
            assert account.epsilon() == pytest.approx(expected, rel=1e-12)
            assert account.worst_epsilon() == pytest.approx(expected, rel=1e-12)
            assert account.epsilon() > said(old)["epsilon"][name], "0.1 said less"
            assert spending.guaranteed()[name] >= min(expected, account.budget.epsilon)
            if expected > account.budget.epsilon * 1.1:
                assert spending.guaranteed()[name] >= expected, "no ceiling was kept"
        assert "version 0.1" in spending.doubted
        verify(ledger)
    shown = ballotine("ledger", "show", old).stdout
    assert "version 0.1 did not write down who was in which group" in shown
    assert f"charged ε = {round_up(expected):g}" in shown
    facts = json.loads(ballotine("ledger", "show", old, "--json").stdout)
    assert [group["charged_epsilon"] for group in facts["groups"]] == [round_up(expected)] * 2
    assert facts["guaranteed_epsilon"] >= round_up(min(expected, facts["budget"]["epsilon"]))


@each(*DOUBTED)
def test_what_is_asked_after_a_doubt_is_charged_at_the_worst_too(old: Path) -> None:
    with Ledger.existing(old, write=True) as ledger:
        (binding,) = ledger.spending().bindings.values()
        more = bound(binding.charge, groups="records:anything")
        before = ledger.spending().cost(DEFAULT_ORDERS)
        room = ledger.spending().affordable(more, 5)
        assert len(ledger.reserve(queries(5), more).ids) == room
        events = [share.events for _, share in binding.charge.by_group]
        each_costs = [sum(e.cost(DEFAULT_ORDERS) for e in group) for group in events]
        expected = before + room * np.max(each_costs, axis=0)
        assert ledger.spending().cost(DEFAULT_ORDERS) == pytest.approx(expected)
        verify(ledger)


def test_doubts_leave_nothing_where_a_promise_is_broken_already(tmp_path: Path) -> None:
    shutil.copy(OLD / "groups.sqlite", tmp_path)
    with Ledger.existing(tmp_path / "groups.sqlite", write=True) as ledger:
        (binding,) = ledger.spending().bindings.values()
        assert ledger.spending().accounts["high"].exceeded()
        assert ledger.reserve(queries(1), bound(binding.charge)).ids == []


@each("killed", "first")
def test_what_version_0_1_left_pending_stays_charged_and_is_fenced(old: Path) -> None:
    pending = [bytes.fromhex(name) for name in said(old)["pending"]]
    assert len(pending) >= 5
    with Ledger.existing(old) as reader:
        seq = max(e.seq for e in reader.entries() if e.kind == "reserve")
        account = next(iter(reader.spending().bindings))
    with Ledger.existing(old, write=True) as ledger:
        spending = ledger.spending()
        assert spending.pending == len(pending)
        charged = spending.accounts[EVERYONE].epsilon()
        assert charged == pytest.approx(said(old)["epsilon"][EVERYONE], rel=1e-12)
        assert ledger.pending(pending) == set(), "they are asked anew, and paid for anew"
        assert ledger.void("nothing was drawn, they say") == 0
        binding = spending.bindings[account]
        (event,) = binding.charge.by_group[0][1].events
        late = tuple(Query(name, seq, account, 0) for name in pending)
        with pytest.raises(LedgerError, match="given up"):
            ledger.record(
                Grant(binding, late, (), 0), np.zeros(len(late), dtype=np.int64), all_of(event)
            )
        assert len(ledger.reserve(pending, binding).ids) == len(pending)
        assert ledger.spending().pending == 2 * len(pending)
        verify(ledger)


@each("published")
@pytest.mark.parametrize("write", [False, True])
def test_an_epsilon_that_version_0_1_published_is_not_the_guarantee_any_more(
    old: Path, write: bool, ballotine: Command
) -> None:
    with Ledger.existing(old, write=write) as ledger:
        guarantee = guarantee_of(ledger, SecureNoise())
    assert guarantee.epsilon == pytest.approx(said(old)["guaranteed"], rel=1e-12)
    assert guarantee.epsilon > said(old)["statement"]["epsilon"]
    assert guarantee.kind is Kind.DATA_INDEPENDENT
    shown = ballotine("ledger", "show", old).stdout
    assert f"guaranteed: ε = {round_up(said(old)['guaranteed']):g}" in shown
    assert f"{round_up(said(old)['statement']['epsilon']):g}" not in shown


@each("strict", "rounds")
def test_nobody_knows_whether_version_0_1_had_a_seed(old: Path) -> None:
    with Ledger.existing(old) as ledger:
        guarantee = guarantee_of(ledger, SecureNoise())
    assert UNRECORDED_SEEDS in guarantee.assumptions
    assert not guarantee.seeded


@each("strict", "rounds", "groups", "turns")
def test_nobody_knows_whether_version_0_1_refused_a_query(old: Path) -> None:
    """An ε below the ceiling assumes that no query was refused."""
    with Ledger.existing(old) as ledger:
        guarantee = guarantee_of(ledger, SecureNoise())
        ceiling = ledger.terms.loosest.epsilon
    assert (UNRECORDED_REFUSALS in guarantee.assumptions) == (guarantee.epsilon < ceiling)
    assert (NOT_ADAPTIVE in guarantee.assumptions) == (guarantee.epsilon < ceiling)


@each("fixed", "published")
def test_fixed_queries_of_version_0_1_are_not_gone_on_with(old: Path) -> None:
    rules = Rules(Plan.standard_of(GNMax(20.0), 10, 1e-5), 3, Mode.FIXED, 30)
    with pytest.raises(LedgerMismatchError, match="mechanism"):
        Ledger.open(old, rules.promise())
    with Ledger.existing(old) as ledger:
        assert ledger.spending().asked == said(old)["asked"]


@each("unused")
def test_an_unused_ledger_of_version_0_1_takes_another_budget(old: Path) -> None:
    with Ledger.open(old, Budget(2.0, 1e-6)) as ledger:
        assert [entry.kind for entry in ledger.entries()] == ["open", "migrate", "amend"]
        assert ledger.spending().accounts[EVERYONE].order == plan_order(Budget(2.0, 1e-6))
        assert np.all(answer(ledger, 3) >= 0)
        verify(ledger)


@each("strict", "first")
def test_a_used_ledger_of_version_0_1_keeps_its_budget_and_goes_on(old: Path) -> None:
    with pytest.raises(LedgerMismatchError, match="cannot be opened with"):
        Ledger.open(old, Budget(9.0, 1e-5))
    with Ledger.open(old, BUDGET) as ledger:
        before = ledger.spending().cost(DEFAULT_ORDERS)
        assert np.all(answer(ledger, 4) >= 0)
        (event,) = GNMax(20.0).events(3)
        expected = before + 4 * event.cost(DEFAULT_ORDERS)
        assert ledger.spending().cost(DEFAULT_ORDERS) == pytest.approx(expected, rel=1e-12)
        verify(ledger)


@each("rounds")
def test_rounds_of_version_0_1_are_told_from_queries(old: Path) -> None:
    with Ledger.existing(old, write=True) as ledger:
        spending = ledger.spending()
    assert (spending.rounds, spending.recorded, spending.pending) == (4, 6, 1)
    asked = Counter({run["run"]: run["asked"] for run in spending.runs.values()})
    assert asked["votes"] == 6


@each("unused")
def test_a_reader_follows_version_0_1_while_it_writes(old: Path) -> None:
    """The order planned for an unused ledger is not its stop rule yet."""
    with Ledger.existing(old) as reader:
        assert reader.spending().accounts[EVERYONE].order == plan_order(BUDGET)
        (event,) = GNMax(20.0).events(3)
        payload = {
            "events": [event.to_json()],
            "ids": entries.digest_of(queries(1)),
            "order": 13.0,
            "queries": 1,
            "run": "0.1",
        }
        row = entries.next_row(reader.head(), "reserve", payload)
        connection = sqlite3.connect(old)
        connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?)", row)
        connection.execute("INSERT INTO queries VALUES (?, 2, NULL, NULL, 0)", (queries(1)[0],))
        connection.commit()
        connection.close()
        assert reader.spending().asked == 1
        assert reader.spending().accounts[EVERYONE].order == 13.0
        verify(reader)

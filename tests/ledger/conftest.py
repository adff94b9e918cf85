"""Fixtures for ledger tests: made-up queries, and voters with fixed tallies."""

from __future__ import annotations

import hashlib
import sqlite3
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ballotine.ledger import EVERYONE, Binding, Charge, Events, Ledger, Mode, Terms
from ballotine.noise import NoiseSource, SecureNoise
from ballotine.privacy.events import Event
from ballotine.privacy.guarantee import Budget
from ballotine.types import IntArray, Matrix
from ballotine.voting import GNMax, Mechanism, Plan, Rules, Session, Tallies

BUDGET = Budget(4.0, 1e-5)
GNMAX = GNMax(20.0)


def query(number: int) -> bytes:
    return hashlib.sha256(f"query {number}".encode()).digest()


def queries(count: int, start: int = 0) -> list[bytes]:
    return [query(number) for number in range(start, start + count)]


@dataclass(frozen=True)
class FixedVoters:
    """Close votes, so that fresh noise would often give another answer."""

    identity: bytes = b"the voters"
    counts: tuple[float, ...] = (4.0, 3.0, 3.0)

    def __len__(self) -> int:
        return int(sum(self.counts))

    def ballots(self, rows: Matrix) -> Tallies:
        return Tallies(np.tile(self.counts, (len(rows), 1)))


VOTERS = FixedVoters()


def rules_of(ledger: Ledger, mechanism: Mechanism, voters: FixedVoters = VOTERS) -> Rules:
    """Standard PATE under the ledger's own promise."""
    budget = ledger.budget
    plan = Plan.standard_of(mechanism, len(voters), budget.delta, budget.epsilon)
    return Rules(plan, len(voters.counts), ledger.terms.mode)


def opened(
    ledger: Ledger,
    mechanism: Mechanism = GNMAX,
    voters: FixedVoters = VOTERS,
    noise: NoiseSource | None = None,
    **options: Any,
) -> Session:
    """A session over fixed tallies."""
    rules = rules_of(ledger, mechanism, voters)
    return Session.open(rules, voters, ledger, noise or SecureNoise(), **options)


def labels(session: Session, keys: Sequence[bytes]) -> IntArray:
    """Answers to queries of these keys."""
    return session.answer(np.arange(len(keys)), keys).labels


def answer(ledger: Ledger, number: int, start: int = 0, mechanism: Mechanism = GNMAX) -> IntArray:
    """Answers to this many queries."""
    return labels(opened(ledger, mechanism), queries(number, start))


def names(session: Session, keys: Sequence[bytes]) -> list[bytes]:
    """The ids of these queries in the ledger."""
    return session.rules.query_ids(keys, session.voters.identity)


def bound(charge: Charge | Events, **identity: str) -> Binding:
    """An account with this charge."""
    charged = charge if isinstance(charge, Charge) else Charge.of(charge)
    return Binding(charged, **{"ensemble": "the voters", "rule": "the rule", **identity})


def all_of(event: Event) -> Any:
    """Every answer released this event."""
    return lambda answers, _group: Counter({event: len(answers)})


def edit(path: Path, *statements: str) -> None:
    """Run SQL as somebody with a database tool could, with the triggers disabled meanwhile."""
    connection = sqlite3.connect(path)
    found = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
    triggers = connection.execute(found).fetchall()
    for name, _ in triggers:
        connection.execute(f"DROP TRIGGER {name}")
    for statement in statements:
        connection.execute(statement)
    for _, sql in triggers:
        connection.execute(sql)
    connection.commit()
    connection.close()


def fixed(number: int, epsilon: float = 50.0) -> Terms:
    """Terms of a ledger for this many queries, asked by ``bound(..., rule="the rule")``."""
    budgets = ((EVERYONE, Budget(epsilon, 1e-5)),)
    return Terms(budgets, Mode.FIXED, number, plan="{}", mechanism="the rule")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"

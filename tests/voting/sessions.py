"""Sessions over made-up votes: what many tests of voting open."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ballotine.ledger import Ledger, Mode
from ballotine.noise import NoiseSource, SecureNoise
from ballotine.privacy import conversion
from ballotine.privacy.guarantee import Budget
from ballotine.privacy.orders import DEFAULT_ORDERS, widen
from ballotine.types import FloatArray, IntArray
from ballotine.voting import CastBallots, Mechanism, Plan, Rules, Session, Tallies, Voters


@dataclass(frozen=True, eq=False)
class CountedVotes:
    """Voters who hand over counts; rows are positions among them."""

    counts: FloatArray = field(repr=False)
    teachers: int
    identity: bytes = b"ensemble"

    def __len__(self) -> int:
        return self.teachers

    def ballots(self, rows: IntArray) -> Tallies:
        return Tallies(self.counts[rows])


def cast(ballots: Any, identity: bytes = b"ensemble") -> CastBallots:
    """Voters who have cast these ballots, shape (queries, teachers) or with labels."""
    return CastBallots(identity, np.asarray(ballots))


def rules_for(
    mechanism: Mechanism, voters: Voters, classes: int, budget: Budget, mode: Mode = Mode.STRICT
) -> Rules:
    """Standard PATE for these voters."""
    plan = Plan.standard_of(mechanism, len(voters), budget.delta, budget.epsilon)
    return Rules(plan, classes, mode)


def fixed_rules(
    mechanism: Mechanism, teachers: int, classes: int, queries: int, delta: float
) -> Rules:
    """Standard PATE for a number of queries decided on beforehand."""
    plan = Plan.standard_of(mechanism, teachers, delta)
    return Rules(plan, classes, Mode.FIXED, queries)


def open_session(
    rules: Rules,
    voters: Voters,
    noise: NoiseSource | None = None,
    ledger: Ledger | Path | None = None,
    **more: Any,
) -> Session:
    """A session; without a ledger, over one in memory."""
    book = ledger if isinstance(ledger, Ledger) else Ledger.open(ledger, rules.promise())
    return Session.open(rules, voters, book, noise or SecureNoise(), **more)


def affordable(mechanism: Mechanism, classes: int, budget: Budget) -> int:
    """How many queries a new strict ledger pays for, if all of them are answered.

    Written out: the filter's order is the one with the largest allowance per order, whatever
    is asked, and queries are paid for as long as their sum fits the allowance there.
    """
    orders = widen(DEFAULT_ORDERS)
    allowed = conversion.allowance(orders, budget.epsilon, budget.delta)
    best = int(np.argmax(allowed / orders))
    events = mechanism.events(classes)
    each = sum(float(event.cost(orders[best : best + 1])[0]) for event in events)
    return int(allowed[best] * (1.0 - 1e-12) / each)

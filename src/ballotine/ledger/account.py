"""What one group of records was charged, and what its budget still allows.

The stop rule is a Rényi filter. Its order is fixed by the first reservation, before any
answer exists, as the order that affords most queries of that kind. Adaptive composition
at one fixed order needs no assumption on how later queries are chosen (Feldman and
Zrnic 2021, Theorem 4.3, for data-independent costs): as long as the sum at that order
stays below the allowance, everything released together is (ε, δ)-private.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ballotine.errors import LedgerTamperedError
from ballotine.ledger.charge import Charge, Events, Share, cost_of
from ballotine.privacy import conversion
from ballotine.privacy.best import best_epsilon
from ballotine.privacy.events import Event
from ballotine.privacy.guarantee import Budget
from ballotine.privacy.orders import DEFAULT_ORDERS, widen
from ballotine.types import FloatArray, IntArray

SAFETY = 1.0 - 1e-12  # sums of floating-point costs are rounded against the asker

Realised = Mapping[Event, IntArray]
"""How often each event was released about a record of each unit, shape (units,)."""


@dataclass
class Tab:
    """Queries charged alike: asked, recorded, and what the recorded ones released."""

    share: Share
    asked: int = 0
    recorded: IntArray = field(init=False)
    released: dict[Event, IntArray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.recorded = np.zeros(self.share.units, dtype=np.int64)

    def record(self, votes: IntArray, realised: Realised) -> None:
        """Replace the worst case of recorded queries by what they did release."""
        check_realised(realised, self.share.events, votes)
        if np.any(self.recorded + votes > self.share.votes_after(self.asked)):
            raise LedgerTamperedError("the ledger answers queries that were never reserved")
        self.recorded = self.recorded + votes
        for event, times in realised.items():
            self.released[event] = self.released.get(event, 0) + times

    def costs(self, orders: FloatArray) -> FloatArray:
        """What each unit was charged, pending queries in full, shape (units, orders)."""
        pending = self.share.votes_after(self.asked) - self.recorded
        return self.released_cost(orders) + pending[:, None] * cost_of(self.share.events, orders)

    def released_cost(self, orders: FloatArray) -> FloatArray:
        """What the recorded queries cost each unit, shape (units, orders)."""
        total = np.zeros((self.share.units, len(orders)))
        for event, times in self.released.items():
            total += times[:, None] * event.cost(orders)
        return total

    def worst(self, orders: FloatArray) -> FloatArray:
        """What the asked queries would cost had all of them been answered."""
        most = int(self.share.votes_after(self.asked).max())
        return most * cost_of(self.share.events, orders)


@dataclass
class Account:
    """A running sum over the entries of one ledger, for one group."""

    budget: Budget
    order: float | None = None
    tabs: dict[Charge, Tab] = field(default_factory=dict)
    extra: Counter[Event] = field(default_factory=Counter)

    def cost(self, orders: FloatArray) -> FloatArray:
        """Realised costs of what was recorded, worst-case costs of what is pending."""
        return self._plus_extra(orders, [tab.costs(orders).max(axis=0) for tab in self._used()])

    def worst_cost(self, orders: FloatArray) -> FloatArray:
        """What everything asked would cost had every query been answered."""
        return self._plus_extra(orders, [tab.worst(orders) for tab in self._used()])

    def epsilon(self) -> float:
        """ε of the realised cost, at the best order: the meter, not the promise."""
        return best_epsilon(self.cost, self.budget.delta)[0]

    def guaranteed_epsilon(self) -> float:
        """ε that holds: the ceiling, or less if the worst case of what was asked is less."""
        return min(self.budget.epsilon, best_epsilon(self.worst_cost, self.budget.delta)[0])

    def filter_order(self, events: Events) -> float:
        """The order of the stop rule: fixed already, or the one that affords most queries."""
        return filter_order(events, self.budget) if self.order is None else self.order

    def affordable(self, charge: Charge, share: Share, most: int) -> int:
        """How many more queries charged like this the budget allows, up to ``most``."""
        at = np.array([self.filter_order(share.events)])
        tab = self.tabs.get(charge, Tab(share))
        each, spent = float(cost_of(share.events, at)[0]), tab.released_cost(at)[:, 0]
        now = spent + each * (share.votes_after(tab.asked) - tab.recorded)
        left = self._allowance(at) - (float(self.cost(at)[0]) - float(now.max()))
        low, high = 0, most + 1  # ``low`` fits, ``high`` does not or is not asked for
        while high - low > 1:
            middle = (low + high) // 2
            then = spent + each * (share.votes_after(tab.asked + middle) - tab.recorded)
            fits = float(then.max()) <= left
            low, high = (middle, high) if fits else (low, middle)
        return low

    def left(self, events: Events) -> tuple[float, float]:
        """The cost of one more query at the filter's order, and what is left there."""
        at = np.array([self.filter_order(events)])
        return float(cost_of(events, at)[0]), float(self._allowance(at) - self.cost(at)[0])

    def exceeded(self) -> bool:
        """Whether the cost is above the promise, which no honest entry makes it."""
        if self.order is None:
            return False
        at = np.array([self.order])
        allowed = conversion.allowance(at, self.budget.epsilon, self.budget.delta)
        return bool(self.cost(at)[0] > allowed[0])

    def _allowance(self, at: FloatArray) -> float:
        allowed = conversion.allowance(at, self.budget.epsilon, self.budget.delta)
        return float(allowed[0]) * SAFETY

    def _used(self) -> list[Tab]:
        return [tab for tab in self.tabs.values() if tab.asked]

    def _plus_extra(self, orders: FloatArray, parts: list[FloatArray]) -> FloatArray:
        total = np.zeros_like(orders)
        for part in parts:
            total = total + part
        for event, times in self.extra.items():
            total = total + times * event.cost(orders)
        return total


def filter_order(events: Events, budget: Budget) -> float:
    """The order at which the budget affords most queries of this kind."""
    orders = widen(DEFAULT_ORDERS)
    allowance = conversion.allowance(orders, budget.epsilon, budget.delta)
    return float(orders[int(np.argmax(allowance / cost_of(events, orders)))])


def check_realised(realised: Realised, events: Events, votes: IntArray) -> None:
    """What was released may be part of what was reserved, never more."""
    room = {event: times * votes for event, times in Counter(events).items()}
    # Events over many labels first: what has room for them has room for fewer labels.
    for event in sorted(realised, key=lambda event: -getattr(event, "labels", 0)):
        wanted = realised[event]
        for reserved, free in room.items():
            if reserved.covers(event):
                used = np.minimum(wanted, free)
                room[reserved], wanted = free - used, wanted - used
        if np.any(wanted > 0) or np.any(realised[event] < 0):
            raise LedgerTamperedError("the ledger records more releases than were reserved")

"""What a ledger's entries add up to: costs, the stop rule, and what is left.

The stop rule is a Rényi filter. Its order is fixed by the first reservation, before any
answer exists, as the order that affords most queries of that kind. Adaptive composition
at one fixed order needs no assumption on how later queries are chosen (Feldman and
Zrnic 2021, Theorem 4.3, for data-independent costs): as long as the sum at that order
stays below the allowance, everything released together is (ε, δ)-private.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from ballotine.errors import InsufficientBudgetError, LedgerTamperedError
from ballotine.privacy import conversion
from ballotine.privacy.best import best_epsilon
from ballotine.privacy.events import Event, from_json
from ballotine.privacy.guarantee import Budget, round_up
from ballotine.privacy.ledger.chain import Entry
from ballotine.privacy.orders import DEFAULT_ORDERS, widen
from ballotine.types import FloatArray

Events: TypeAlias = tuple[Event, ...]
SAFETY = 1.0 - 1e-12  # sums of floating-point costs are rounded against the asker


def cost_of(events: Events, orders: FloatArray) -> FloatArray:
    """Rényi cost of one query that releases all of these events."""
    total = np.zeros_like(orders)
    for event in events:
        total = total + event.cost(orders)
    return total


@dataclass
class Spending:
    """A running sum over the entries of one ledger."""

    budget: Budget
    order: float | None = None
    asked: Counter[Events] = field(default_factory=Counter)
    pending: Counter[Events] = field(default_factory=Counter)
    realised: Counter[Event] = field(default_factory=Counter)
    recorded: int = 0
    answered: int = 0

    def apply(self, entry: Entry) -> None:
        """Take one entry into account; an impossible one means tampering."""
        if entry.kind == "reserve":
            self._reserve(entry)
        elif entry.kind == "record":
            self._record(entry)
        elif entry.kind not in ("open", "migrate"):
            raise LedgerTamperedError(f"the ledger holds an entry of unknown kind {entry.kind!r}")

    def _reserve(self, entry: Entry) -> None:
        events = tuple(from_json(text) for text in entry.payload["events"])
        order = float(entry.payload["order"])
        if self.order not in (None, order) or not order > 1 or not events:
            raise LedgerTamperedError(f"entry {entry.seq} of the ledger changes the stop rule")
        count = _count(entry.payload["queries"], entry)
        self.order = order
        self.asked[events] += count
        self.pending[events] += count

    def _record(self, entry: Entry) -> None:
        events = tuple(from_json(text) for text in entry.payload["reserved_as"])
        count = _count(entry.payload["queries"], entry)
        realised: Counter[Event] = Counter()
        for text, times in entry.payload["realised"]:
            realised[from_json(text)] += _count(times, entry)
        check_realised(realised, events, count)
        if self.pending[events] < count:
            raise LedgerTamperedError(f"entry {entry.seq} of the ledger answers unreserved queries")
        self.pending[events] -= count
        self.realised += realised
        self.recorded += count
        self.answered += _count(entry.payload["answered"], entry)

    def cost(self, orders: FloatArray) -> FloatArray:
        """Realised costs of what was recorded, worst-case costs of what is pending."""
        total = np.zeros_like(orders)
        for event, times in self.realised.items():
            total = total + times * event.cost(orders)
        for events, times in self.pending.items():
            total = total + times * cost_of(events, orders)
        return total

    def worst_cost(self, orders: FloatArray) -> FloatArray:
        """What everything asked would cost had every query been answered."""
        total = np.zeros_like(orders)
        for events, times in self.asked.items():
            total = total + times * cost_of(events, orders)
        return total

    def epsilon(self) -> float:
        """ε of the realised cost, at the best order: the meter, not the promise."""
        return best_epsilon(self.cost, self.budget.delta)[0]

    def guaranteed_epsilon(self) -> float:
        """ε that holds: the ceiling, or less if the worst case of what was asked is less."""
        worst = best_epsilon(self.worst_cost, self.budget.delta)[0]
        return min(self.budget.epsilon, worst)

    def affordable(self, events: Events) -> int:
        """How many more queries of this kind the budget allows."""
        _, each, left = self.prices(events)
        return max(0, math.floor(left / each))

    def prices(self, events: Events) -> tuple[float, float, float]:
        """The filter's order, the cost of one such query there, and what is left."""
        order = self.order if self.order is not None else filter_order(events, self.budget)
        at = np.array([order])
        each = float(cost_of(events, at)[0])
        allowance = float(conversion.allowance(at, self.budget.epsilon, self.budget.delta)[0])
        return order, each, allowance * SAFETY - float(self.cost(at)[0])

    def refusal(self, events: Events) -> InsufficientBudgetError:
        """The error for a query that does not fit, in the user's terms."""
        _, each, left = self.prices(events)
        alone = best_epsilon(lambda orders: cost_of(events, orders), self.budget.delta)[0]
        spent = round_up(self.epsilon()) if self.asked else 0.0
        return InsufficientBudgetError(
            f"the budget {self.budget} does not allow another answer: one costs "
            f"ε = {round_up(alone):g} on its own at this δ, and ε = {spent:g} is spent already; "
            "raise the budget before anything is released, add teachers, or use more noise",
            requested=each,
            remaining=left,
        )


def filter_order(events: Events, budget: Budget) -> float:
    """The order at which the budget affords most queries of this kind."""
    orders = widen(DEFAULT_ORDERS)
    allowance = conversion.allowance(orders, budget.epsilon, budget.delta)
    return float(orders[int(np.argmax(allowance / cost_of(events, orders)))])


def check_realised(realised: Counter[Event], events: Events, queries: int) -> None:
    """What was released may be part of what was reserved, never more."""
    ceiling = Counter(events)
    if any(times > ceiling[event] * queries for event, times in realised.items()):
        raise LedgerTamperedError("the ledger records more releases than were reserved")


def _count(value: object, entry: Entry) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise LedgerTamperedError(f"entry {entry.seq} of the ledger holds an impossible count")
    return value

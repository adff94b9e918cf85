"""What one group of records has been charged, and what its budget still allows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ballotine.errors import LedgerTamperedError
from ballotine.ledger.charge import Count, Events, GroupCharge, cost_of, price_of
from ballotine.ledger.running_sum import RunningSum
from ballotine.privacy import conversion
from ballotine.privacy.best import best_epsilon
from ballotine.privacy.events import Event, from_json
from ballotine.privacy.guarantee import Budget
from ballotine.types import FloatArray

SAFETY = 1.0 - 1e-12  # rounding errors in sums of costs must never exceed the budget

Realised = Mapping[Event, Count]
"""How often each event was released, per unit."""


@dataclass
class Tab:
    """The queries that one account charged to one group, and what they released.

    Attributes:
        charge: what a query costs this group.
        asked: how many queries were reserved.
        settled: how often each unit voted on queries that are answered or void.
        void: how often each unit would have voted on queries that were given up undrawn.
        released: what the answered queries released.
        possible_events: if it is uncertain which group a record was in or which turns its
            teacher took, what a query costs each group: every query is then charged at the
            most expensive of them. Empty otherwise.
    """

    charge: GroupCharge
    asked: int = 0
    settled: Count = 0
    void: Count = 0
    released: dict[Event, Count] = field(default_factory=dict)
    possible_events: tuple[Events, ...] = ()

    def settle(self, votes: Count, realised: Realised) -> None:
        """Replace the worst case of settled queries by what they actually released."""
        check_realised(realised, self.charge.events, votes)
        settled = self.settled + votes
        if _any_above(settled, self.charge.votes_after(self.asked)):
            raise LedgerTamperedError("the ledger answers queries that were never reserved")
        self.settled = settled
        for event, times in realised.items():
            self.released[event] = self.released.get(event, 0) + times

    def cost(self, orders: FloatArray) -> FloatArray:
        """The cost to the unit charged most, with pending queries at their worst case."""
        if self.possible_events:
            return self.worst(orders)
        pending = self.charge.votes_after(self.asked) - self.settled
        total = np.multiply.outer(pending, cost_of(self.charge.events, orders))
        for event, times in self.released.items():
            total = total + np.multiply.outer(times, cost_of((event,), orders))
        return _most_of_units(total)

    def worst(self, orders: FloatArray) -> FloatArray:
        """What the reserved queries would cost if all of them had been answered."""
        if self.possible_events:
            curves = np.stack([cost_of(events, orders) for events in self.possible_events])
            highest: FloatArray = self.asked * curves.max(axis=0)
            return highest
        votes = self.charge.votes_after(self.asked) - self.void
        most: int = _most(votes)
        return most * cost_of(self.charge.events, orders)

    def cost_at(self, order: float, more: int = 0) -> float:
        """The cost at one order, if ``more`` further queries were reserved."""
        asked = self.asked + more
        if self.possible_events:
            return asked * max(_price(events, order) for events in self.possible_events)
        pending = self.charge.votes_after(asked) - self.settled
        total = pending * _price(self.charge.events, order)
        for event, times in self.released.items():
            total = total + times * price_of(event, order)
        return float(_most(total))

    def to_state(self) -> dict[str, Any]:
        """The counts as JSON values, for a checkpoint."""
        return {
            "asked": self.asked,
            "released": [[event.to_json(), count_to_json(n)] for event, n in self.released.items()],
            "settled": count_to_json(self.settled),
            "void": count_to_json(self.void),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore the counts from a checkpoint."""
        self.asked = int(state["asked"])
        self.settled, self.void = count_from_json(state["settled"]), count_from_json(state["void"])
        self.released = {
            from_json(text): count_from_json(times) for text, times in state["released"]
        }


@dataclass
class Account:
    """Everything one ledger charged to one group.

    Attributes:
        budget: what the group was promised.
        order: the filter's order; None in a ledger of version 0.1 before its first query.
        tabs: by the number of the account that a query belongs to. Call `change` before
            changing one: its cached price becomes stale.
        extra: other events released about everyone, such as a published ε.
    """

    budget: Budget
    order: float | None = None
    tabs: dict[int, Tab] = field(default_factory=dict)
    extra: Counter[Event] = field(default_factory=Counter)
    _prices: RunningSum = field(default_factory=RunningSum, repr=False)
    _priced_at: float | None = field(default=None, repr=False)
    _stale: set[int] = field(default_factory=set, repr=False)

    def change(self, number: int) -> Tab:
        """Return a tab that is about to change, and mark its cached price as stale."""
        self._stale.add(number)
        return self.tabs[number]

    def cost(self, orders: FloatArray) -> FloatArray:
        """Realised cost of recorded queries plus worst-case cost of pending ones."""
        return self._plus_extra(orders, [tab.cost(orders) for tab in self._used()])

    def worst_cost(self, orders: FloatArray) -> FloatArray:
        """What all reserved queries would cost if every one had been answered."""
        return self._plus_extra(orders, [tab.worst(orders) for tab in self._used()])

    def charged(self) -> float:
        """The cost at the filter's order; only tabs that changed are priced again."""
        order = self._order()
        if order != self._priced_at:
            self._priced_at, self._stale = order, set(self.tabs)
        for number in self._stale:
            tab = self.tabs[number]
            self._prices.put(number, tab.cost_at(order) if tab.asked else 0.0)
        self._stale.clear()
        extra = sum(times * price_of(event, order) for event, times in self.extra.items())
        return self._prices.total() + extra

    def epsilon(self) -> float:
        """ε of `cost` at the best order: the meter, not a guarantee."""
        return best_epsilon(self.cost, self.budget.delta)[0]

    def worst_epsilon(self) -> float:
        """ε of `worst_cost` at the best order."""
        return best_epsilon(self.worst_cost, self.budget.delta)[0]

    def affordable(self, tab: Tab, most: int) -> int:
        """How many more queries on this tab the budget allows, up to ``most``."""
        order = self._order()
        held = any(tab is own for own in self.tabs.values())
        before = tab.cost_at(order) if held else 0.0
        left = self._allowance() - (self.charged() - before)
        low, high = 0, most + 1  # ``low`` fits; ``high`` does not, or exceeds ``most``
        while high - low > 1:
            middle = (low + high) // 2
            fits = tab.cost_at(order, middle) <= left
            low, high = (middle, high) if fits else (low, middle)
        return low

    def affords(self, events: Events) -> bool:
        """Whether the budget allows one more release of these events about everyone."""
        order = self._order()
        return self.charged() + _price(events, order) <= self._allowance()

    def left(self, events: Events) -> tuple[float, float]:
        """The cost of one more query at the filter's order, and the allowance left."""
        order = self._order()
        return _price(events, order), self._allowance() - self.charged()

    def exceeded(self) -> bool:
        """Whether the cost exceeds the budget, which no valid entry can cause."""
        if self.order is None:
            return False
        at = np.array([self.order])
        allowed = conversion.allowance(at, self.budget.epsilon, self.budget.delta)
        return self.charged() > float(allowed[0])

    def _order(self) -> float:
        if self.order is None:
            raise LedgerTamperedError(
                "the ledger does not say at which order its budget is enforced"
            )
        return self.order

    def _allowance(self) -> float:
        at = np.array([self._order()])
        allowed = conversion.allowance(at, self.budget.epsilon, self.budget.delta)
        return float(allowed[0]) * SAFETY

    def _used(self) -> list[Tab]:
        return [tab for tab in self.tabs.values() if tab.asked]

    def _plus_extra(self, orders: FloatArray, parts: list[FloatArray]) -> FloatArray:
        total = np.zeros_like(orders)
        for part in parts:
            total = total + part
        for event, times in self.extra.items():
            total = total + times * cost_of((event,), orders)
        return total


def check_realised(realised: Realised, events: Events, votes: Count) -> None:
    """Raise unless what was released is covered by what was reserved."""
    available = {event: times * votes for event, times in Counter(events).items()}
    # Events over many labels first: a reservation that covers them also covers fewer labels.
    for event in sorted(realised, key=lambda event: -getattr(event, "labels", 0)):
        wanted = realised[event]
        if _any_above(0, wanted):
            raise LedgerTamperedError("the ledger records an impossible release")
        for reserved, free in available.items():
            if reserved.covers(event):
                used = _less(wanted, free)
                available[reserved], wanted = free - used, wanted - used
        if _any_above(wanted, 0):
            raise LedgerTamperedError("the ledger records more releases than were reserved")


def count_to_json(count: Count) -> int | list[int]:
    """A count as stored in the ledger."""
    return count if isinstance(count, int) else [int(number) for number in count]


def count_from_json(stored: Any) -> Count:
    """Read a stored count; negative or non-integer values raise."""
    numbers = stored if isinstance(stored, list) else [stored]
    if any(not isinstance(n, int) or isinstance(n, bool) or n < 0 for n in numbers):
        raise LedgerTamperedError("the ledger contains an impossible count")
    return np.array(numbers, dtype=np.int64) if isinstance(stored, list) else int(stored)


def _price(events: Events, order: float) -> float:
    return sum(price_of(event, order) for event in events)


def _most(count: Any) -> Any:
    return count.max() if isinstance(count, np.ndarray) else count


def _most_of_units(costs: FloatArray) -> FloatArray:
    found: FloatArray = costs.max(axis=0) if costs.ndim == 2 else costs
    return found


def _less(one: Count, other: Count) -> Count:
    if isinstance(one, int) and isinstance(other, int):
        return min(one, other)
    smaller: Count = np.minimum(one, other)
    return smaller


def _any_above(one: Count, other: Count) -> bool:
    above = one > other
    return above if isinstance(above, bool) else bool(np.any(above))

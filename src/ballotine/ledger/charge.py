"""What one query costs each group of records.

Most ledgers have a single group, everyone. With individual budgets each group has its own
budget, and a query costs the groups different amounts: their teachers' votes have different
weights, their records are copied to more or fewer teachers, or their teachers take turns voting.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from ballotine.errors import ParameterError
from ballotine.privacy.events import ClippedSum, Event, from_json
from ballotine.types import BoolArray, FloatArray, IntArray

Events: TypeAlias = tuple[Event, ...]

EVERYONE = "everyone"
"""The only group of a ledger without individual budgets."""


Count: TypeAlias = int | IntArray
"""One number for all teachers of a group, or one for each that takes turns, shape (units,)."""


def cost_of(events: Events, orders: FloatArray) -> FloatArray:
    """Rényi cost of one query that releases all of these events."""
    total = np.zeros_like(orders)
    for event in events:
        total = total + _curve(event, orders.tobytes())
    return total


@lru_cache(maxsize=1024)
def price_of(event: Event, order: float) -> float:
    """Rényi cost of one event at one order."""
    return float(event.cost(np.array([order]))[0])


@lru_cache(maxsize=1024)
def _curve(event: Event, orders: bytes) -> FloatArray:
    return event.cost(np.frombuffer(orders, dtype=np.float64))


def seats_at(turns: IntArray, voters: int, teachers: int) -> BoolArray:
    """Which of a group's teachers vote on the queries with these turns, (queries, teachers)."""
    first = (turns * voters) % teachers
    places = (np.arange(teachers)[None, :] - first[:, None]) % teachers
    votes: BoolArray = places < voters
    return votes


@dataclass(frozen=True)
class GroupCharge:
    """What one query costs the records of one group.

    Teachers may take turns: of the group's ``teachers``, ``voters`` vote on each query, in
    round-robin order. Which ones vote follows from the query's turn alone, so a record pays only
    for the queries on which its teacher voted.

    Attributes:
        events: what a query releases about a record whose teacher votes on it.
        voters: how many teachers of the group vote on each query.
        teachers: how many teachers the group has; if equal to ``voters``, all vote every time.
    """

    events: Events
    voters: int = 1
    teachers: int = 1

    def __post_init__(self) -> None:
        if not self.events:
            raise ParameterError("a query must be charged at least one event")
        if not 1 <= self.voters <= self.teachers:
            raise ParameterError(
                f"the number of voters must be between 1 and the group's {self.teachers} "
                f"teachers, got {self.voters}"
            )

    @property
    def units(self) -> int:
        """How many teachers are counted separately: 1 if all of them vote on every query."""
        return 1 if self.voters == self.teachers else self.teachers

    def votes_after(self, turns: int) -> Count:
        """How often each unit has voted after this many turns."""
        if self.units == 1:
            return turns
        places = np.arange(self.teachers)
        votes: IntArray = (turns * self.voters + self.teachers - 1 - places) // self.teachers
        return votes

    def votes_at(self, turns: IntArray) -> BoolArray:
        """Which units vote on the queries with these turns, shape (queries, units)."""
        if self.units == 1:
            return np.ones((len(turns), 1), dtype=bool)
        return seats_at(turns, self.voters, self.teachers)

    def to_dict(self) -> dict[str, Any]:
        """The group's charge as JSON values, for the ledger."""
        return {
            "events": [event.to_json() for event in self.events],
            "teachers": self.teachers,
            "voters": self.voters,
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> GroupCharge:
        """Read a group's charge from the ledger; unknown events raise."""
        events = tuple(from_json(text) for text in stored["events"])
        return cls(events, int(stored["voters"]), int(stored["teachers"]))


@dataclass(frozen=True)
class Charge:
    """What one query costs every group.

    Attributes:
        by_group: each group's name and charge, sorted by name.
    """

    by_group: tuple[tuple[str, GroupCharge], ...]

    def __post_init__(self) -> None:
        # The order of the groups has no meaning, and the ledger does not keep it.
        object.__setattr__(self, "by_group", tuple(sorted(self.by_group, key=lambda pair: pair[0])))
        names = [name for name, _ in self.by_group]
        if not names or len(set(names)) != len(names):
            raise ParameterError("a charge needs at least one group, and each group only once")

    @classmethod
    def of(cls, events: Events) -> Charge:
        """The same charge for everyone."""
        return cls(((EVERYONE, GroupCharge(events)),))

    @property
    def groups(self) -> tuple[str, ...]:
        """The names of the groups."""
        return tuple(name for name, _ in self.by_group)

    @property
    def takes_turns(self) -> bool:
        """Whether the teachers of any group take turns voting."""
        return any(charge.units > 1 for _, charge in self.by_group)

    @property
    def is_training(self) -> bool:
        """Whether it pays for a round of training rather than for an answer."""
        return all(isinstance(e, ClippedSum) for _, charge in self.by_group for e in charge.events)

    @property
    def distinct_events(self) -> tuple[Events, ...]:
        """The different events that groups are charged, for records whose group is uncertain."""
        return tuple({charge.events: None for _, charge in self.by_group})

    def to_dict(self) -> dict[str, Any]:
        """The charge as JSON values, for the ledger."""
        return {name: charge.to_dict() for name, charge in self.by_group}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Charge:
        """Read a charge from the ledger."""
        return cls(tuple((name, GroupCharge.from_dict(charge)) for name, charge in stored.items()))

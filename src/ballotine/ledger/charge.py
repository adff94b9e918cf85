"""What one query is charged, group by group.

Most ledgers know one group, everyone. With individual budgets each group of records has a
budget of its own, and a query costs its groups different amounts: their teachers weigh
more or less, are shared by more or fewer copies, or take turns in voting.
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
"""The one group of a ledger without individual budgets."""


Count: TypeAlias = int | IntArray
"""A number for everybody alike, or one for every teacher that takes turns, shape (units,)."""


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

    Teachers may take turns: of the group's ``teachers``, ``voters`` vote on each query, the
    next ones on the next, round and round. Who votes when follows from the query's turn
    alone, so a record pays only for the queries on which its teacher voted.

    Attributes:
        events: what a query releases about a record whose teacher votes on it.
        voters: how many teachers of the group vote on each query.
        teachers: how many teachers the group has; with ``voters`` equal to it, no turns.
    """

    events: Events
    voters: int = 1
    teachers: int = 1

    def __post_init__(self) -> None:
        if not self.events:
            raise ParameterError("a query that is charged nothing cannot be answered")
        if not 1 <= self.voters <= self.teachers:
            raise ParameterError(
                f"between 1 and all {self.teachers} teachers of a group vote, got {self.voters}"
            )

    @property
    def units(self) -> int:
        """How many kinds of teachers there are, told apart by when they vote."""
        return 1 if self.voters == self.teachers else self.teachers

    def votes_after(self, turns: int) -> Count:
        """How often each unit has voted after so many turns."""
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
        """Plain values for the ledger's file."""
        return {
            "events": [event.to_json() for event in self.events],
            "teachers": self.teachers,
            "voters": self.voters,
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> GroupCharge:
        """Read a share back; an event that is not known stops everything."""
        events = tuple(from_json(text) for text in stored["events"])
        return cls(events, int(stored["voters"]), int(stored["teachers"]))


@dataclass(frozen=True)
class Charge:
    """The shares of all groups, by name; equal charges share one count of turns."""

    shares: tuple[tuple[str, GroupCharge], ...]

    def __post_init__(self) -> None:
        # The order of groups means nothing, and the file does not keep it.
        object.__setattr__(self, "shares", tuple(sorted(self.shares, key=lambda pair: pair[0])))
        names = [name for name, _ in self.shares]
        if not names or len(set(names)) != len(names):
            raise ParameterError("a charge needs at least one group, each of them once")

    @classmethod
    def of(cls, events: Events) -> Charge:
        """The same for everyone."""
        return cls(((EVERYONE, GroupCharge(events)),))

    @property
    def groups(self) -> tuple[str, ...]:
        """Who is charged."""
        return tuple(name for name, _ in self.shares)

    @property
    def turned(self) -> bool:
        """Whether it matters who votes on which query."""
        return any(share.units > 1 for _, share in self.shares)

    @property
    def is_training(self) -> bool:
        """Whether it pays a round of training, and no answer."""
        return all(isinstance(e, ClippedSum) for _, share in self.shares for e in share.events)

    @property
    def dearest(self) -> tuple[Events, ...]:
        """What a query costs each group, for records whose group is in doubt."""
        return tuple({share.events: None for _, share in self.shares})

    def to_dict(self) -> dict[str, Any]:
        """Plain values for the ledger's file."""
        return {name: share.to_dict() for name, share in self.shares}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Charge:
        """Read a charge back."""
        return cls(tuple((name, GroupCharge.from_dict(share)) for name, share in stored.items()))

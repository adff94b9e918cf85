"""A ledger's file, read and added up without Ballotine's ledger.

Only the price of a single event is taken from the package. How many were reserved, who voted
on what, what an answer released and what all of it costs is worked out here anew.
"""

from __future__ import annotations

import json
import math
import shutil
import sqlite3
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from ballotine.privacy.events import from_json
from tests.killing.worlds import ABSTAINED, Answer

ORDERS = (1.5, 4.0, 16.0, 64.0)
EVERYONE = "everyone"


@dataclass(frozen=True)
class Reserved:
    """One reservation: the entry that made it, for which account and turn, and its answer."""

    entry: int
    account: int
    turn: int
    answer: Answer | None
    recorded: int | None


@dataclass(frozen=True)
class Share:
    """What a query costs a group: events about those who vote, and how they take turns."""

    events: tuple[str, ...]
    voters: int = 1
    teachers: int = 1

    def votes(self, turn: int) -> Iterable[int]:
        """Which of the group's teachers vote; one stands for all where none takes turns."""
        if self.voters == self.teachers:
            return (0,)
        return [(turn * self.voters + place) % self.teachers for place in range(self.voters)]


@dataclass
class Book:
    """Everything in a ledger's file.

    Attributes:
        entries: sequence number, kind, payload and hash.
        queries: by name. A name may be reserved once only in a world where nobody gives up.
    """

    entries: list[tuple[int, str, dict[str, Any], str]] = field(default_factory=list)
    queries: dict[bytes, Reserved] = field(default_factory=dict)
    twice: set[bytes] = field(default_factory=set)

    @classmethod
    def read(cls, path: Path) -> Book:
        """From a copy, so that looking changes nothing that the next process will find."""
        if not path.exists() or not path.stat().st_size:
            return cls()
        with tempfile.TemporaryDirectory() as scratch:
            copy = Path(scratch) / path.name
            for suffix in ("", "-wal"):
                if (part := path.with_name(path.name + suffix)).exists():
                    shutil.copyfile(part, copy.with_name(copy.name + suffix))
            connection = sqlite3.connect(copy)
            try:
                return cls._from(connection)
            finally:
                connection.close()

    @classmethod
    def _from(cls, connection: sqlite3.Connection) -> Book:
        if not connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'entries'").fetchone():
            return cls()
        book = cls()
        rows = connection.execute("SELECT seq, kind, payload, hash FROM entries ORDER BY seq")
        book.entries = [(seq, kind, json.loads(text), mark) for seq, kind, text, mark in rows]
        rows = connection.execute(
            "SELECT id, reserved, account, turn, answer, recorded FROM reservations"
        )
        for name, entry, account, turn, answer, recorded in rows:
            if name in book.queries:
                book.twice.add(name)
            book.queries[name] = Reserved(entry, account, turn, _decoded(answer), recorded)
        return book

    def until(self, seq: int) -> Book:
        """The book as it was after that entry."""
        queries = {
            name: query
            if query.recorded is not None and query.recorded <= seq
            else replace(query, answer=None, recorded=None)
            for name, query in self.queries.items()
            if query.entry <= seq
        }
        return Book(self.entries[:seq], queries)

    def payloads(self, kind: str) -> dict[int, dict[str, Any]]:
        """Entries of a kind, by number."""
        return {seq: payload for seq, own, payload, _ in self.entries if own == kind}

    @property
    def terms(self) -> dict[str, Any]:
        """What the ledger promises."""
        return self.entries[0][2]

    @property
    def refused(self) -> bool:
        """Whether the budget has refused a query."""
        return bool(self.payloads("refuse"))

    @property
    def published(self) -> dict[str, Any] | None:
        """The statement of the fixed mode."""
        found = list(self.payloads("publish").values())
        return found[0]["statement"] if found else None

    def promised(self) -> dict[str, int]:
        """Queries that entries speak of: reserved, recorded."""
        return {
            kind: sum(payload["queries"] for payload in self.payloads(kind).values())
            for kind in ("reserve", "record")
        }

    def shares(self, account: int) -> dict[str, Share]:
        """What a query of an account costs each group."""
        charge = self.payloads("bind")[account]["charge"]
        if isinstance(charge, list):
            return {EVERYONE: Share(tuple(charge))}
        return {
            name: Share(tuple(own["events"]), own["voters"], own["teachers"])
            for name, own in charge.items()
        }


Released = Callable[[Reserved, tuple[str, ...]], Iterable[str]]
"""The events of a query that are to be counted."""


def in_full(_query: Reserved, events: tuple[str, ...]) -> Iterable[str]:
    """The worst case: everything that was set aside."""
    return events


def as_answered(query: Reserved, events: tuple[str, ...]) -> Iterable[str]:
    """What the answer did release; everything where there is none."""
    if query.answer is None:
        return events
    return [part for event in events for part in _released(event, query.answer)]


def _released(event: str, answer: Answer) -> Iterable[str]:
    facts = json.loads(event)
    if facts["event"] in {"label-bits", "weighted-label-bits"}:
        assert isinstance(answer, tuple)
        given = sum(mark != ABSTAINED for mark in answer)
        return [json.dumps({**facts, "labels": given}, sort_keys=True)] if given else []
    is_check = facts["event"] in {"gaussian-check", "label-checks", "weighted-label-checks"}
    return [] if answer == ABSTAINED and not is_check else [event]


def costs(
    book: Book, names: Iterable[bytes], how: Released, published: bool = True
) -> dict[str, Callable[[float], float]]:
    """The Rényi cost to each group of the queries with these names, by order.

    Within an account a record is with one teacher; over accounts the worst of each adds up.
    """
    counts: dict[str, dict[int, dict[int, Counter[str]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(Counter))
    )
    for name in names:
        query = book.queries[name]
        for group, share in book.shares(query.account).items():
            released = list(how(query, share.events))
            for teacher in share.votes(query.turn):
                counts[group][query.account][teacher].update(released)
    extra = [
        event
        for payload in (book.payloads("publish").values() if published else ())
        for event in payload["events"]
    ]
    return {
        group: _summed([list(units.values()) for units in counts[group].values()], Counter(extra))
        for group in book.terms["budgets"]
    }


def _summed(accounts: list[list[Counter[str]]], extra: Counter[str]) -> Callable[[float], float]:
    def cost(order: float) -> float:
        parts = [max(_price(unit, order) for unit in units) for units in accounts]
        return math.fsum([*parts, _price(extra, order)])

    return cost


def _price(events: Counter[str], order: float) -> float:
    return math.fsum(times * _one(event, order) for event, times in events.items())


@cache
def _one(event: str, order: float) -> float:
    return float(from_json(event).cost(np.array([order]))[0])


def epsilon(cost: Callable[[float], float], delta: float) -> float:
    """The least ε that any order proves (Canonne, Kamath and Steinke, Proposition 12)."""

    def proven(place: float) -> float:
        order = 1.0 + math.exp(place)
        return cost(order) + math.log1p(-1.0 / order) - math.log(delta * order) / (order - 1.0)

    coarse = np.linspace(math.log(0.05), math.log(2000.0), 24)
    best = int(np.argmin([proven(place) for place in coarse]))
    around = (coarse[max(best - 1, 0)], coarse[min(best + 1, len(coarse) - 1)])
    found = minimize_scalar(proven, bounds=around, method="bounded", options={"xatol": 1e-6})
    return max(0.0, min(float(found.fun), proven(coarse[best])))


def _decoded(stored: bytes | None) -> Answer | None:
    if stored is None:
        return None
    if len(stored) == 8:
        return int.from_bytes(stored, "big", signed=True)
    return tuple(np.frombuffer(stored[8:], dtype=np.int8).tolist())

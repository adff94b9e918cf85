"""The ledger: the durable list of everything released from one data set.

Answering is transactional. ``reserve`` writes the worst-case cost to disk before any
noise is drawn; ``record`` stores the answers and what they really cost in the same
transaction that makes them visible. Answers leave only after that commit, so a crash
at any point leaves the ledger at or above the truth, and of two processes that answer
the same query the first to record wins and the other returns the winner's answer.
"""

from __future__ import annotations

import hmac
import secrets
import sqlite3
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from ballotine.errors import LedgerError, LedgerMismatchError, LedgerTamperedError
from ballotine.ledger import chain, schema
from ballotine.ledger.account import check_realised
from ballotine.ledger.answers import (
    Answer,
    answered,
    as_answers,
    decode_answer,
    encode_answer,
)
from ballotine.ledger.chain import Anchor, Entry
from ballotine.ledger.charge import EVERYONE, Charge, Events
from ballotine.ledger.spending import (
    Spending,
    charge_to,
    released_to,
    reservation_digest,
)
from ballotine.ledger.terms import Terms
from ballotine.privacy.events import Event
from ballotine.privacy.guarantee import Budget
from ballotine.types import BoolArray, IntArray

Fingerprint = Callable[[bytes], str]
"""Gives the fingerprint of the private data under a salt that only the ledger knows."""

Promise: TypeAlias = Terms | Budget | Mapping[str, Budget]
Realise = Callable[[IntArray, str], Counter[Event]]
"""Gives the events that a set of answers really released about the records of a group."""

DEFAULT_WAIT = 30.0
LOOKED_UP = 500  # queries per statement: the oldest SQLite takes 999 parameters


class Ledger:
    """An append-only record of privacy spent, shared by all runs on one data set."""

    def __init__(self, connection: sqlite3.Connection, path: Path | None) -> None:
        self._connection = connection
        self._path = path
        self._sealed = False
        self._head = Anchor("", 0, chain.GENESIS)
        self._refresh()

    @classmethod
    def open(
        cls,
        path: str | Path | None,
        promise: Promise,
        fingerprint: Fingerprint | None = None,
        *,
        wait: float = DEFAULT_WAIT,
    ) -> Ledger:
        """Open the ledger of a data set, creating it on first use.

        Args:
            path: the file, or None for a ledger that lives and dies with this process.
            promise: a budget for everyone, one per group, or terms; an existing ledger must
                have been opened with the same.
            fingerprint: tells whether the data is the ledger's; None skips the question.
            wait: seconds to wait for another process that holds the file.
        """
        where = None if path is None else Path(path)
        terms = Terms.of(promise)
        connection = schema.connect(where, wait)
        try:
            with schema.transaction(connection, where):
                if connection.execute("SELECT count(*) FROM meta").fetchone()[0] == 0:
                    _found(connection, terms, fingerprint)
            ledger = cls(connection, where)
            ledger._require_same(terms, fingerprint)
        except BaseException:
            connection.close()
            raise
        return ledger

    @classmethod
    def existing(cls, path: str | Path, *, wait: float = DEFAULT_WAIT) -> Ledger:
        """Open a ledger that must exist, with whatever budget it promises."""
        where = Path(path)
        if not where.is_file() or where.stat().st_size == 0:
            raise LedgerError(f"there is no ledger at {where}")
        return cls(schema.connect(where, wait), where)

    @property
    def path(self) -> Path | None:
        """The file, or None for a ledger in memory."""
        return self._path

    @property
    def terms(self) -> Terms:
        """What this ledger promises to whom, and its stop rule."""
        return self._spending.terms

    @property
    def budget(self) -> Budget:
        """The promise that holds for everyone: with several groups, the loosest."""
        return self.terms.loosest

    @property
    def identity(self) -> str:
        """A random name; it says nothing about the data."""
        return self._head.ledger

    def head(self) -> Anchor:
        """Where the chain stands now."""
        self._refresh()
        return self._head

    def spending(self) -> Spending:
        """What the entries add up to now."""
        self._refresh()
        return self._spending

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """What is read inside speaks of one moment, whoever writes meanwhile."""
        with schema.translated(self._path):
            self._connection.execute("BEGIN")
            try:
                self._refresh()  # the first read fixes the moment
                yield
            finally:
                self._connection.execute("COMMIT")

    def entries(self) -> Iterator[Entry]:
        """All entries, each checked against the chain."""
        with schema.translated(self._path):
            yield from chain.read(self._connection, 0, chain.GENESIS)

    def lookup(self, ids: Sequence[bytes]) -> dict[bytes, Answer]:
        """Stored answers of those queries that have one."""
        stored = self._reserved(ids).items()
        return {query: decode_answer(row[0]) for query, row in stored if row[0] is not None}

    def answer_counts(self, last: int) -> Counter[Answer]:
        """How often each answer was recorded, up to and with the entry ``last``."""
        with schema.translated(self._path):
            rows = self._connection.execute(
                "SELECT answer, count(*) FROM queries WHERE recorded <= ? GROUP BY answer", (last,)
            )
            return Counter({decode_answer(answer): int(times) for answer, times in rows})

    def pending(self, ids: Sequence[bytes]) -> set[bytes]:
        """Those queries that were reserved, by whatever run, and not answered yet."""
        return {query for query, row in self._reserved(ids).items() if row[0] is None}

    def turns(self, ids: Sequence[bytes]) -> IntArray:
        """The turn of each reserved query: its number among those charged alike."""
        stored = self._reserved(ids)
        return np.array([stored[query][1] for query in ids], dtype=np.int64)

    def reserve(self, ids: Sequence[bytes], charge: Charge | Events, *, run: str = "") -> BoolArray:
        """Set aside the worst-case cost of new queries, first come first served.

        Returns which of the queries may be answered now: those reserved here and those
        that were reserved before (by an interrupted run) and never answered. As soon as
        one new query does not fit the budget, it and all new ones after it are refused.
        """
        self._require_open()
        charge = as_charge(charge)
        with schema.transaction(self._connection, self._path):
            self._refresh()
            allowed = set(self._reserved(ids))
            fresh = [query for query in dict.fromkeys(ids) if query not in allowed]
            granted = fresh[: self._spending.affordable(charge, len(fresh))]
            if granted:
                self._write_reservation(granted, charge, run)
        self._refresh()
        allowed.update(granted)
        return np.array([query in allowed for query in ids], dtype=bool)

    def record(
        self,
        ids: Sequence[bytes],
        answers: IntArray,
        charge: Charge | Events,
        realise: Realise,
        *,
        run: str = "",
    ) -> IntArray:
        """Store answers to reserved queries and return the answers that stand.

        Args:
            ids: reserved queries, in the order of ``answers``.
            answers: one class number per query, or one row of labels; ABSTAIN for neither.
            charge: what each query was reserved as.
            realise: the events that a set of answers really released about a group.
            run: a label for ``ballotine ledger show``.
        """
        self._require_open()
        charge = as_charge(charge)
        with schema.transaction(self._connection, self._path):
            self._refresh()
            standing = self.lookup(ids)
            fresh = [place for place, query in enumerate(ids) if query not in standing]
            if fresh:
                new = [ids[place] for place in fresh]
                self._write_answers(new, answers[fresh], charge, realise, run)
                standing.update(zip(new, as_answers(answers[fresh]), strict=True))
        self._refresh()
        return np.array([standing[query] for query in ids], dtype=np.int64)

    def publish(self, statement: dict[str, Any], events: Events) -> dict[str, Any]:
        """Record that an ε was published, and what publishing it released, once and for all.

        Returns the statement that stands: an earlier one, if another process was first.
        """
        self._require_open()
        with schema.transaction(self._connection, self._path):
            self._refresh()
            if self._spending.statement is None:
                payload = {
                    "events": [event.to_json() for event in events],
                    "statement": statement,
                }
                chain.append(self._connection, self._head, "publish", payload)
        return dict(self.spending().statement or {})

    def keyed(self, content: bytes) -> bytes:
        """A name for some content that says nothing about it to whoever lacks the ledger."""
        return hmac.digest(self._meta("salt"), content, "sha256")

    def refusal(self, charge: Charge | Events) -> Exception:
        """Why another query of this kind is not allowed."""
        return self.spending().refusal(as_charge(charge))

    def close(self) -> None:
        """Release the file."""
        self._connection.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *details: object) -> None:
        self.close()

    def __repr__(self) -> str:
        where = "in memory" if self._path is None else str(self._path)
        return f"<Ledger {where}, budget {self.budget}>"

    def _write_reservation(self, granted: list[bytes], charge: Charge, run: str) -> None:
        orders = self._spending.orders(charge)
        first = self._spending.turns[charge]
        rows = [(query, first + place) for place, query in enumerate(granted)]
        payload = {
            "events": charge_to(charge),
            "ids": reservation_digest(rows, charge),
            "order": orders[EVERYONE] if charge.groups == (EVERYONE,) else orders,
            "queries": len(granted),
            "run": run,
        }
        seq = chain.append(self._connection, self._head, "reserve", payload)
        self._connection.executemany(
            "INSERT INTO queries (id, reserved, turn) VALUES (?, ?, ?)",
            [(query, seq, turn) for query, turn in rows],
        )

    def _write_answers(
        self,
        new: list[bytes],
        answers: IntArray,
        charge: Charge,
        realise: Realise,
        run: str,
    ) -> None:
        stored = [encode_answer(answer) for answer in as_answers(answers)]
        payload = {
            "answered": int(np.count_nonzero(answered(answers))),
            "answers": chain.digest_of(sorted(q + a for q, a in zip(new, stored, strict=True))),
            "queries": len(new),
            "realised": self._released(new, answers, charge, realise),
            "reserved_as": charge_to(charge),
            "run": run,
        }
        seq = chain.append(self._connection, self._head, "record", payload)
        changed = self._connection.executemany(
            "UPDATE queries SET answer = ?, recorded = ? WHERE id = ? AND answer IS NULL",
            [(answer, seq, query) for query, answer in zip(new, stored, strict=True)],
        ).rowcount
        if changed != len(new):
            raise LedgerError("an answer to a query that was never reserved was refused")

    def _released(
        self, new: list[bytes], answers: IntArray, charge: Charge, realise: Realise
    ) -> Any:
        """What the answers released about each group, told apart by who voted on them."""
        stored: dict[str, Any] = {}
        turns = self.turns(new) if any(share.units > 1 for _, share in charge.shares) else None
        for name, share in charge.shares:
            voted = share.votes_at(np.zeros(len(new), np.int64) if turns is None else turns)
            parts = [realise(answers[votes], name) for votes in voted.T]
            realised = {
                event: np.array([part[event] for part in parts], dtype=np.int64)
                for event in dict.fromkeys(event for part in parts for event in part)
            }
            votes = voted.sum(axis=0)
            check_realised(realised, share.events, votes)
            stored[name] = {
                "released": released_to(realised),
                "votes": int(votes[0]) if share.units == 1 else votes.tolist(),
            }
        return stored[EVERYONE]["released"] if isinstance(charge_to(charge), list) else stored

    def _reserved(self, ids: Sequence[bytes]) -> dict[bytes, tuple[bytes | None, int]]:
        """Answer (None while pending) and turn of those queries that were reserved."""
        found: dict[bytes, tuple[bytes | None, int]] = {}
        with schema.translated(self._path):
            for start in range(0, len(ids), LOOKED_UP):
                some = ids[start : start + LOOKED_UP]
                rows = self._connection.execute(
                    "SELECT id, answer, turn FROM queries "
                    f"WHERE id IN ({','.join('?' * len(some))})",
                    some,
                )
                found.update((query, (answer, turn)) for query, answer, turn in rows)
        return found

    def _require_open(self) -> None:
        if self._sealed:
            raise LedgerError(
                "this is a copy of an in-memory ledger: it returns the answers it holds but "
                "may not answer anything new, or the same privacy would be spent twice; "
                "give the classifier a ledger file to share it between processes"
            )

    def _require_same(self, terms: Terms, fingerprint: Fingerprint | None) -> None:
        if terms != self.terms:
            raise LedgerMismatchError(
                f"the ledger {self._path} promises {self.terms} for its data set and cannot be "
                f"opened with {terms}; a budget belongs to the data, not to a run"
            )
        if fingerprint is None:
            return
        stored = self._meta("fingerprint").decode()
        if stored != fingerprint(self._meta("salt")):
            raise LedgerMismatchError(
                f"the ledger {self._path} belongs to another data set; "
                "name the ledger of this one, or a new file for new data"
            )

    def _meta(self, key: str) -> bytes:
        row = self._connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        if row is None:
            raise LedgerTamperedError(f"the ledger lost its {key}")
        return bytes(row[0])

    def _refresh(self) -> None:
        """Read what was appended since the last look, by us or by another process."""
        with schema.translated(self._path):
            for entry in chain.read(self._connection, self._head.seq, self._head.hash):
                if entry.seq == 1:
                    self._spending = Spending(Terms.from_dict(entry.payload))
                    self._head = Anchor(str(entry.payload["ledger"]), 1, entry.hash)
                self._spending.apply(entry)
                self._head = Anchor(self._head.ledger, entry.seq, entry.hash)
        if self._head.seq == 0:
            raise LedgerTamperedError(f"the ledger {self._path} has lost its first entry")

    def __getstate__(self) -> dict[str, Any]:
        if self._path is not None:
            return {"path": str(self._path)}
        return {"image": self._connection.serialize()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "path" in state:
            path = Path(state["path"])
            Ledger.__init__(self, schema.connect(path, DEFAULT_WAIT), path)
            return
        connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        connection.deserialize(state["image"])
        Ledger.__init__(self, connection, None)
        self._sealed = True


def _found(connection: sqlite3.Connection, terms: Terms, fingerprint: Fingerprint | None) -> None:
    """Write the first entry: the promise, and whose data it is about."""
    salt = secrets.token_bytes(32)
    mark = "" if fingerprint is None else fingerprint(salt)
    connection.executemany(
        "INSERT INTO meta VALUES (?, ?)", [("salt", salt), ("fingerprint", mark.encode())]
    )
    payload = {
        **terms.to_dict(),
        "data": chain.digest_of([salt, mark.encode()]),
        "ledger": str(uuid.uuid4()),
    }
    chain.append(connection, Anchor("", 0, chain.GENESIS), "open", payload)


def as_charge(charge: Charge | Events) -> Charge:
    """Events alone are charged to everyone."""
    return charge if isinstance(charge, Charge) else Charge.of(charge)

"""The ledger: the durable list of everything released from one data set.

Answering is transactional. ``reserve`` writes the worst-case cost to disk before any
noise is drawn; ``record`` stores the answers and what they really cost in the same
transaction that makes them visible. Answers leave only after that commit, so a crash
at any point leaves the ledger at or above the truth, and of two processes that answer
the same query the first to record wins and the other returns the winner's answer.
"""

from __future__ import annotations

import secrets
import sqlite3
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ballotine.errors import LedgerError, LedgerMismatchError, LedgerTamperedError
from ballotine.privacy.events import Event
from ballotine.privacy.guarantee import Budget
from ballotine.privacy.ledger import chain, schema
from ballotine.privacy.ledger.chain import Anchor, Entry
from ballotine.privacy.ledger.spending import Events, Spending, check_realised
from ballotine.types import ABSTAIN, BoolArray, IntArray

Fingerprint = Callable[[bytes], str]
"""Gives the fingerprint of the private data under a salt that only the ledger knows."""

DEFAULT_WAIT = 30.0


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
        budget: Budget,
        fingerprint: Fingerprint | None = None,
        *,
        wait: float = DEFAULT_WAIT,
    ) -> Ledger:
        """Open the ledger of a data set, creating it on first use.

        Args:
            path: the file, or None for a ledger that lives and dies with this process.
            budget: the promise; an existing ledger must have been opened with the same.
            fingerprint: tells whether the data is the ledger's; None skips the question.
            wait: seconds to wait for another process that holds the file.
        """
        where = None if path is None else Path(path)
        connection = schema.connect(where, wait)
        try:
            with schema.transaction(connection, where):
                if connection.execute("SELECT count(*) FROM meta").fetchone()[0] == 0:
                    _found(connection, budget, fingerprint)
            ledger = cls(connection, where)
            ledger._require_same(budget, fingerprint)
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
    def budget(self) -> Budget:
        """The promise this ledger enforces."""
        return self._spending.budget

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

    def entries(self) -> Iterator[Entry]:
        """All entries, each checked against the chain."""
        with schema.translated(self._path):
            yield from chain.read(self._connection, 0, chain.GENESIS)

    def lookup(self, ids: Sequence[bytes]) -> dict[bytes, int]:
        """Stored answers of those queries that have one."""
        found: dict[bytes, int] = {}
        with schema.translated(self._path):
            for query in ids:
                row = self._connection.execute(
                    "SELECT answer FROM queries WHERE id = ? AND answer IS NOT NULL", (query,)
                ).fetchone()
                if row is not None:
                    found[query] = decode_answer(row[0])
        return found

    def pending(self, ids: Sequence[bytes]) -> set[bytes]:
        """Those queries that were reserved, by whatever run, and not answered yet."""
        with schema.translated(self._path):
            return {query for query in ids if self._is_reserved(query)} - self.lookup(ids).keys()

    def reserve(self, ids: Sequence[bytes], events: Events, *, run: str = "") -> BoolArray:
        """Set aside the worst-case cost of new queries, first come first served.

        Returns which of the queries may be answered now: those reserved here and those
        that were reserved before (by an interrupted run) and never answered. As soon as
        one new query does not fit the budget, it and all new ones after it are refused.
        """
        self._require_open()
        with schema.transaction(self._connection, self._path):
            self._refresh()
            known = [self._is_reserved(query) for query in ids]
            fresh = list(
                dict.fromkeys(query for query, old in zip(ids, known, strict=True) if not old)
            )
            order, _, _ = self._spending.prices(events)
            granted = fresh[: self._spending.affordable(events)]
            if granted:
                payload = {
                    "events": [event.to_json() for event in events],
                    "ids": chain.digest_of(sorted(granted)),
                    "order": order,
                    "queries": len(granted),
                    "run": run,
                }
                seq = chain.append(self._connection, self._head, "reserve", payload)
                self._connection.executemany(
                    "INSERT INTO queries (id, reserved) VALUES (?, ?)",
                    [(query, seq) for query in granted],
                )
        self._refresh()
        allowed = set(granted)
        return np.array(
            [old or query in allowed for query, old in zip(ids, known, strict=True)], dtype=bool
        )

    def record(
        self,
        ids: Sequence[bytes],
        answers: IntArray,
        events: Events,
        realise: Callable[[IntArray], Counter[Event]],
        *,
        run: str = "",
    ) -> IntArray:
        """Store answers to reserved queries and return the answers that stand.

        Args:
            ids: reserved queries, in the order of ``answers``.
            answers: one class number per query, or ABSTAIN.
            events: what each query was reserved as.
            realise: the events that a set of answers really released.
            run: a label for ``ballotine ledger show``.
        """
        self._require_open()
        with schema.transaction(self._connection, self._path):
            self._refresh()
            standing = self.lookup(ids)
            new = [(q, int(a)) for q, a in zip(ids, answers, strict=True) if q not in standing]
            if new:
                self._write_answers(new, events, realise, run)
        self._refresh()
        standing.update(new)
        return np.array([standing[query] for query in ids], dtype=np.int64)

    def refusal(self, events: Events) -> Exception:
        """Why another query of this kind is not allowed."""
        return self.spending().refusal(events)

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

    def _write_answers(
        self,
        new: list[tuple[bytes, int]],
        events: Events,
        realise: Callable[[IntArray], Counter[Event]],
        run: str,
    ) -> None:
        values = np.array([answer for _, answer in new], dtype=np.int64)
        realised = realise(values)
        check_realised(realised, events, len(new))
        payload = {
            "answered": int(np.count_nonzero(values != ABSTAIN)),
            "answers": chain.digest_of(sorted(q + encode_answer(a) for q, a in new)),
            "queries": len(new),
            "realised": [[event.to_json(), times] for event, times in realised.items()],
            "reserved_as": [event.to_json() for event in events],
            "run": run,
        }
        seq = chain.append(self._connection, self._head, "record", payload)
        changed = self._connection.executemany(
            "UPDATE queries SET answer = ?, recorded = ? WHERE id = ? AND answer IS NULL",
            [(encode_answer(answer), seq, query) for query, answer in new],
        ).rowcount
        if changed != len(new):
            raise LedgerError("an answer to a query that was never reserved was refused")

    def _is_reserved(self, query: bytes) -> bool:
        row = self._connection.execute("SELECT 1 FROM queries WHERE id = ?", (query,)).fetchone()
        return row is not None

    def _require_open(self) -> None:
        if self._sealed:
            raise LedgerError(
                "this is a copy of an in-memory ledger: it returns the answers it holds but "
                "may not answer anything new, or the same privacy would be spent twice; "
                "give the classifier a ledger file to share it between processes"
            )

    def _require_same(self, budget: Budget, fingerprint: Fingerprint | None) -> None:
        if budget != self.budget:
            raise LedgerMismatchError(
                f"the ledger {self._path} promises {self.budget} for its data set and cannot be "
                f"opened with {budget}; a budget belongs to the data, not to a run"
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
                    self._spending = Spending(Budget(**entry.payload["budget"]))
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


def _found(connection: sqlite3.Connection, budget: Budget, fingerprint: Fingerprint | None) -> None:
    """Write the first entry: the promise, and whose data it is about."""
    salt = secrets.token_bytes(32)
    mark = "" if fingerprint is None else fingerprint(salt)
    connection.executemany(
        "INSERT INTO meta VALUES (?, ?)", [("salt", salt), ("fingerprint", mark.encode())]
    )
    payload = {
        "budget": {"delta": budget.delta, "epsilon": budget.epsilon},
        "data": chain.digest_of([salt, mark.encode()]),
        "ledger": str(uuid.uuid4()),
    }
    chain.append(connection, Anchor("", 0, chain.GENESIS), "open", payload)


def encode_answer(answer: int) -> bytes:
    """A class number (or ABSTAIN) as eight bytes."""
    return answer.to_bytes(8, "big", signed=True)


def decode_answer(stored: bytes) -> int:
    """The class number behind eight stored bytes."""
    return int.from_bytes(stored, "big", signed=True)

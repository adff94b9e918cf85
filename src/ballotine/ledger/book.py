"""The ledger: the durable list of everything released from one data set.

Answering is transactional. ``reserve`` writes the worst-case cost to disk before any
noise is drawn; ``record`` stores the answers and what they really cost in the same
transaction that makes them visible. Answers leave only after that commit, so a crash
at any point leaves the ledger at or above the truth, and of two processes that answer
the same query the first to record wins and the other returns the winner's answer.
"""

from __future__ import annotations

import hmac
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from ballotine.errors import LedgerError, LedgerMismatchError, LedgerTamperedError
from ballotine.ledger import entries as chain
from ballotine.ledger.account import check_realised, plain
from ballotine.ledger.answers import (
    Answer,
    answered,
    as_answers,
    decode_answer,
    encode_answer,
)
from ballotine.ledger.binding import Binding, pool_digest, reservation_digest
from ballotine.ledger.charge import EVERYONE, Charge, Count, Events
from ballotine.ledger.entries import Anchor, Entry
from ballotine.ledger.founding import Fingerprint, bring_up_to_date
from ballotine.ledger.refusal import refusal
from ballotine.ledger.spending import OTHER_QUERIES, Spending, released_to
from ballotine.ledger.sqlite import SqliteStore
from ballotine.ledger.store import Pen, Query, Store, View
from ballotine.ledger.terms import Promise, Terms
from ballotine.privacy.events import Event
from ballotine.privacy.guarantee import Budget
from ballotine.types import IntArray

Asked: TypeAlias = Promise | Budget | Mapping[str, Budget]
Realise = Callable[[IntArray, str], Counter[Event]]
"""Gives the events that a set of answers really released about the records of a group."""

DEFAULT_WAIT = 30.0
BETWEEN_CHECKPOINTS = 1000
"""Entries; more of them where what a checkpoint must hold is large."""


@dataclass(frozen=True)
class Grant:
    """Queries that may be answered now: their worst case is paid for.

    Attributes:
        ids: their names, in the order they were asked.
        turns: their numbers among the queries of their account, which say who votes.
        refused: how many others the budget did not allow.
    """

    binding: Binding
    queries: tuple[Query, ...]
    fresh: tuple[Query, ...]
    refused: int

    @property
    def ids(self) -> list[bytes]:
        """The names of the queries."""
        return [query.id for query in self.queries]

    @property
    def turns(self) -> IntArray:
        """Which turn each query is."""
        return np.array([query.turn for query in self.queries], dtype=np.int64)


class Ledger:
    """An append-only record of privacy spent, shared by all runs on one data set."""

    def __init__(self, store: Store, promise: Promise | None = None) -> None:
        self._store = store
        self._promise = promise
        self._sealed = False
        self._head = Anchor("", 0, chain.GENESIS)
        self._checkpoint = 0
        with self._store.reading() as view:
            self._refresh(view)

    @classmethod
    def open(
        cls,
        path: str | Path | None,
        asked: Asked,
        fingerprint: Fingerprint | None = None,
        *,
        wait: float = DEFAULT_WAIT,
    ) -> Ledger:
        """Open the ledger of a data set, creating it on first use.

        A ledger that has paid for nothing yet takes another promise; any other keeps its own.

        Args:
            path: the file, or None for a ledger that lives and dies with this process.
            asked: a budget for everyone, one per group, or a promise; an existing ledger must
                have been opened with the same.
            fingerprint: tells whether the data is the ledger's; None skips the question.
            wait: seconds to wait for another process that holds the file.
        """
        promise = Terms.of(asked) if isinstance(asked, Budget | Mapping) else asked
        store = SqliteStore.open(None if path is None else Path(path), wait)
        try:
            bring_up_to_date(store, promise, fingerprint)
            ledger = cls(store, promise)
            ledger._require_data(fingerprint)
            ledger._require_promise()
        except BaseException:
            store.close()
            raise
        return ledger

    @classmethod
    def existing(
        cls, path: str | Path, *, write: bool = False, wait: float = DEFAULT_WAIT
    ) -> Ledger:
        """Open a ledger that must exist, with whatever budget it promises.

        Args:
            path: the file.
            write: whether something is to be written; else not a byte of the file changes.
            wait: seconds for which a writer waits for another one.
        """
        store = SqliteStore.read_only(Path(path))
        if not write:
            return cls._over(store)
        store.close()
        store = SqliteStore.open(Path(path), wait)
        try:
            bring_up_to_date(store, None, None)
        except BaseException:
            store.close()
            raise
        return cls._over(store)

    @classmethod
    def _over(cls, store: Store) -> Ledger:
        try:
            return cls(store)
        except BaseException:
            store.close()
            raise

    @property
    def path(self) -> Path | None:
        """The file, or None for a ledger in memory."""
        return self._store.path

    @property
    def store(self) -> Store:
        """Where the entries live."""
        return self._store

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
        self.spending()
        return self._head

    def spending(self) -> Spending:
        """What the entries add up to now."""
        with self._store.reading() as view:
            self._refresh(view)
        return self._spending

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """What is read inside speaks of one moment, whoever writes meanwhile."""
        with self._store.reading() as view:
            self._refresh(view)
            yield

    def agree(self, promise: Promise, fingerprint: Fingerprint | None = None) -> None:
        """Go on under this promise, if the ledger has it, or has paid for nothing yet."""
        self._require_data(fingerprint)
        bring_up_to_date(self._store, promise, None)
        self._promise = None
        self.spending()
        self._promise = promise
        self._require_promise()

    def entries(self) -> Iterator[Entry]:
        """All entries, each checked against the chain."""
        with self._store.reading() as view:
            yield from chain.chained(view.rows(), 0, chain.GENESIS)

    def checkpoints(self) -> Iterator[Spending]:
        """What the entries added up to from time to time."""
        with self._store.reading() as view:
            for row in view.of_kind("checkpoint"):
                yield Spending.from_state(chain.read(row).payload)

    def lookup(self, ids: Sequence[bytes]) -> dict[bytes, Answer]:
        """Stored answers of those queries that have one."""
        with self._store.reading() as view:
            return _answers(view.queries(ids))

    def answer_counts(self, last: int) -> Counter[Answer]:
        """How often each answer was recorded, up to and with the entry ``last``."""
        with self._store.reading() as view:
            rows = view.grouped("recorded")
            found = Counter(answer for seq, *_, answer in rows if seq <= last and answer)
        return Counter({decode_answer(answer): times for answer, times in found.items()})

    def pending(self, ids: Sequence[bytes]) -> set[bytes]:
        """Those queries that were reserved, by whatever run, and not answered yet."""
        with self._store.reading() as view:
            found = view.queries(ids).values()
            return {q.id for q in found if q.answer is None and not q.idle}

    def reserve(self, ids: Sequence[bytes], binding: Binding, *, run: str = "") -> Grant:
        """Set aside the worst-case cost of new queries, first come first served.

        Queries that were reserved before (by an interrupted run) and never answered may be
        answered too. As soon as one new query does not fit the budget, it and all new ones
        after it are refused, and the ledger notes that its budget has ended.
        """
        with self._writing() as pen:
            wanted = list(dict.fromkeys(ids))
            held = pen.queries(wanted)
            self._give_up(
                pen, [query for query in held.values() if query.idle and not query.answer]
            )
            held = {name: query for name, query in held.items() if query.answer or not query.idle}
            number = self._spending.number_of(binding)
            if any(query.account != number for query in held.values()):
                raise LedgerMismatchError(
                    "a query of this name was asked by other teachers or by another rule before; "
                    "nothing was charged"
                )
            new = [name for name in wanted if name not in held]
            granted = new[: self._spending.affordable(binding, len(new))]
            fresh = self._pay(pen, granted, binding, run)
            if len(granted) < len(new) and not self._spending.refused:
                self._append(pen, "refuse", {"run": run})
            self._maybe_checkpoint(pen)
        held.update((query.id, query) for query in fresh)
        queries = tuple(held[name] for name in wanted if name in held)
        return Grant(binding, queries, fresh, len(new) - len(granted))

    def record(
        self, grant: Grant, answers: IntArray, realise: Realise, *, run: str = ""
    ) -> IntArray:
        """Store answers to granted queries and return the answers that stand.

        Args:
            grant: what may be answered; the first queries of it are.
            answers: one class number per query, or one row of labels; ABSTAIN for neither.
            realise: the events that a set of answers really released about a group.
            run: a label for ``ballotine ledger show``.
        """
        asked = grant.queries[: len(answers)]
        with self._writing() as pen:
            held = pen.queries([query.id for query in asked])
            standing = _answers(held)
            fresh = [place for place, query in enumerate(asked) if query.id not in standing]
            if fresh:
                new = [asked[place] for place in fresh]
                if any(
                    query.id not in held or held[query.id].reserved != query.reserved
                    for query in new
                ):
                    raise LedgerError(
                        "an answer was refused, because its reservation was given up or never "
                        "made; nothing left. Ask again"
                    )
                self._write_answers(pen, new, answers[fresh], grant.binding, realise, run)
                new_answers = as_answers(answers[fresh])
                standing.update((q.id, a) for q, a in zip(new, new_answers, strict=True))
        return np.array([standing[query.id] for query in asked], dtype=np.int64)

    def undrawn(self, grant: Grant, *, run: str = "") -> None:
        """Note that a session ends in order before any noise was drawn for this grant.

        Such reservations may be given up: asking the same queries again does so, and ``void``.
        """
        with self._writing() as pen:
            held = pen.queries([query.id for query in grant.fresh])
            idle = [
                query
                for query in grant.fresh
                if query.id in held
                and held[query.id].reserved == query.reserved
                and held[query.id].answer is None
                and not held[query.id].idle
            ]
            if idle:
                payload = self._named(idle, grant.binding.charge) | {"run": run}
                self._append(pen, "undrawn", payload)
                pen.mark_idle(idle, self._head.seq)

    def void(self, why: str) -> int:
        """Give up all reservations for which nothing was drawn; returns how many that were.

        Their cost is free again, and no answer to them is accepted any more.
        """
        with self._writing() as pen:
            idle = list(pen.idle())
            self._give_up(pen, idle, why)
        return len(idle)

    def publish(
        self, statement: dict[str, Any], events: Events, binding: Binding
    ) -> dict[str, Any]:
        """Record that an ε was published, and what publishing it released, once and for all.

        It is a release like any other and passes the same filter. Returns the statement that
        stands: an earlier one, if another process was first.
        """
        with self._writing() as pen:
            if self._spending.statement is None:
                self._require_whole(pen, binding)
                if not self._spending.affords(events):
                    raise LedgerError("the budget does not allow an ε to be published")
                payload = {
                    "account": self._spending.number_of(binding),
                    "events": [event.to_json() for event in events],
                    "statement": statement,
                }
                self._append(pen, "publish", payload)
        return dict(self._spending.statement or {})

    def keyed(self, content: bytes) -> bytes:
        """A name for some content that says nothing about it to whoever lacks the ledger."""
        return hmac.digest(self._meta("salt"), content, "sha256")

    def refusal(self, binding: Binding) -> Exception:
        """Why another query of this kind is not allowed."""
        return refusal(self.spending(), binding)

    def close(self) -> None:
        """Release the file."""
        self._store.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *details: object) -> None:
        self.close()

    def __repr__(self) -> str:
        where = "in memory" if self.path is None else str(self.path)
        return f"<Ledger {where}, budget {self.budget}>"

    @contextmanager
    def _writing(self) -> Iterator[Pen]:
        """The ledger as it stands, for us alone; what fails leaves no trace."""
        if self._sealed:
            raise LedgerError(
                "this is a copy of an in-memory ledger: it returns the answers it holds but "
                "may not answer anything new, or the same privacy would be spent twice; "
                "give the classifier a ledger file to share it between processes"
            )
        try:
            with self._store.writing() as pen:
                self._refresh(pen)
                yield pen
        except BaseException:
            # What was taken into account may not be on disk: read it again when it is needed.
            self._head = Anchor("", 0, chain.GENESIS)
            raise

    def _append(self, pen: Pen, kind: str, payload: dict[str, Any]) -> None:
        row = chain.following(self._head, kind, payload)
        pen.append(row)
        self._take(chain.read(row))

    def _take(self, entry: Entry) -> None:
        self._spending.apply(entry)
        self._head = Anchor(self._spending.identity, entry.seq, entry.hash)
        if entry.kind == "checkpoint":
            self._checkpoint = entry.seq

    def _pay(self, pen: Pen, granted: list[bytes], binding: Binding, run: str) -> tuple[Query, ...]:
        if not granted:
            return ()
        if self._spending.number_of(binding) is None:
            self._append(pen, "bind", binding.to_dict())
        number = self._spending.number_of(binding)
        assert number is not None
        first, seq = self._spending.turns[number], self._head.seq + 1
        fresh = tuple(Query(name, seq, number, first + place) for place, name in enumerate(granted))
        self._append(pen, "reserve", self._named(fresh, binding.charge) | {"run": run})
        pen.reserve(fresh)
        return fresh

    def _named(self, queries: Sequence[Query], charge: Charge) -> dict[str, Any]:
        return {
            "account": queries[0].account,
            "ids": reservation_digest(((q.id, q.turn) for q in queries), charge),
            "queries": len(queries),
        }

    def _give_up(self, pen: Pen, idle: Sequence[Query], why: str = "asked again") -> None:
        for number in sorted({query.account for query in idle}):
            some = [query for query in idle if query.account == number]
            charge = self._spending.bindings[number].charge
            votes = {name: plain(_votes(charge, name, some)) for name in charge.groups}
            payload = self._named(some, charge) | {"votes": votes, "why": why}
            self._append(pen, "void", payload)
            pen.fence(some, self._head.seq)

    def _write_answers(
        self,
        pen: Pen,
        new: list[Query],
        answers: IntArray,
        binding: Binding,
        realise: Realise,
        run: str,
    ) -> None:
        stored = [encode_answer(answer) for answer in as_answers(answers)]
        parts = sorted(q.id + a for q, a in zip(new, stored, strict=True))
        payload = {
            "account": new[0].account,
            "answered": int(np.count_nonzero(answered(answers))),
            "answers": chain.digest_of(parts),
            "queries": len(new),
            "realised": _released(new, answers, binding.charge, realise),
            "run": run,
        }
        self._append(pen, "record", payload)
        pen.answer(zip(stored, new, strict=True), self._head.seq)
        self._maybe_checkpoint(pen)

    def _maybe_checkpoint(self, pen: Pen) -> None:
        """From time to time, what everything adds up to: opening need not replay it all."""
        since = self._head.seq - self._checkpoint
        if (
            since < BETWEEN_CHECKPOINTS
            or since < BETWEEN_CHECKPOINTS * len(self._spending.bindings) // 20
        ):
            return
        self._append(pen, "checkpoint", self._spending.to_state())

    def _require_whole(self, view: View, binding: Binding) -> None:
        """A published ε is about the queries that were fixed, all of them and no other."""
        number, spending = self._spending.number_of(binding), self._spending
        names = [name for _, name, *_ in view.grouped("recorded")]
        if number is None or spending.recorded != spending.terms.queries:
            raise LedgerError(
                f"{spending.recorded} of {spending.terms.queries} queries are answered; the ε of "
                "a fixed number of queries is published when all of them are"
            )
        if pool_digest(names) != binding.pool:
            raise LedgerMismatchError(OTHER_QUERIES)

    def _require_promise(self) -> None:
        """The ledger promises what it was opened with, also after others had it in hand."""
        if self._promise is None:
            return
        reason = self._promise.disagreement(self._spending.terms)
        if reason is not None:
            raise LedgerMismatchError(
                f"the ledger {self.path or 'in memory'} is another: {reason}; "
                "a budget belongs to the data, not to a run"
            )

    def _require_data(self, fingerprint: Fingerprint | None) -> None:
        if fingerprint is None:
            return
        if self._meta("fingerprint").decode() != fingerprint(self._meta("salt")):
            raise LedgerMismatchError(
                f"the ledger {self.path or 'in memory'} belongs to another data set; "
                "name the ledger of this one, or a new file for new data"
            )

    def _meta(self, key: str) -> bytes:
        with self._store.reading() as view:
            value = view.meta(key)
        if value is None:
            raise LedgerTamperedError(f"the ledger lost its {key}")
        return value

    def _refresh(self, view: View) -> None:
        """Read what was appended since the last look, by us or by another process."""
        if not view.current and next(iter(view.rows(self._head.seq)), None) is not None:
            self._head = Anchor("", 0, chain.GENESIS)  # version 0.1 goes on: doubts come after it
        if self._head.seq == 0:
            self._start(view)
        amended = False
        for entry in chain.chained(view.rows(self._head.seq), self._head.seq, self._head.hash):
            self._take(entry)
            amended = amended or entry.kind == "amend"
        if amended:
            try:
                self._require_promise()
            except LedgerMismatchError:
                self._head = Anchor("", 0, chain.GENESIS)  # whoever looks again is told again
                raise
        if not view.current:  # shown as it will be charged once it is brought up to date
            self._spending.distrust()

    def _start(self, view: View) -> None:
        """Begin at the newest checkpoint, or at the first entry."""
        found, self._checkpoint = view.newest("checkpoint"), 0
        if found is not None:
            entry = chain.read(found)
            self._spending = Spending.from_state(entry.payload)
            self._head = Anchor(self._spending.identity, entry.seq, entry.hash)
            self._checkpoint = entry.seq
            return
        first = next(iter(view.rows()), None)
        if first is None:
            raise LedgerTamperedError(f"the ledger {self.path} has lost its first entry")
        entry = next(iter(chain.chained([first], 0, chain.GENESIS)))
        self._spending = Spending.begin(entry)
        self._head = Anchor(self._spending.identity, 1, entry.hash)

    def __getstate__(self) -> dict[str, Any]:
        image = self._store.image()
        return {"path": str(self.path)} if image is None else {"image": image}

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "path" in state:
            Ledger.__init__(self, SqliteStore.open(Path(state["path"]), DEFAULT_WAIT))
            return
        Ledger.__init__(self, SqliteStore.of_image(state["image"]))
        self._sealed = True


def _answers(held: Mapping[bytes, Query]) -> dict[bytes, Answer]:
    return {
        name: decode_answer(query.answer)
        for name, query in held.items()
        if query.answer is not None
    }


def _votes(charge: Charge, name: str, queries: Sequence[Query]) -> Count:
    """How often each unit of a group votes on these queries."""
    share = dict(charge.shares)[name]
    if share.units == 1:
        return len(queries)
    turns = np.array([query.turn for query in queries], dtype=np.int64)
    votes: IntArray = share.votes_at(turns).sum(axis=0)
    return votes


def _released(new: list[Query], answers: IntArray, charge: Charge, realise: Realise) -> Any:
    """What the answers released about each group, told apart by who voted on them."""
    stored: dict[str, Any] = {}
    for name, share in charge.shares:
        votes = _votes(charge, name, new)
        if share.units == 1:
            realised: dict[Event, Count] = dict(realise(answers, name))
        else:
            turns = np.array([query.turn for query in new], dtype=np.int64)
            parts = [realise(answers[votes], name) for votes in share.votes_at(turns).T]
            realised = {
                event: np.array([part[event] for part in parts], dtype=np.int64)
                for event in dict.fromkeys(event for part in parts for event in part)
            }
        check_realised(realised, share.events, votes)
        stored[name] = {"released": released_to(realised), "votes": plain(votes)}
    plain_charge = charge.groups == (EVERYONE,) and not charge.turned
    return stored[EVERYONE]["released"] if plain_charge else stored

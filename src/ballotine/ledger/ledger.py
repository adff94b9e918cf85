"""The ledger: the durable list of everything released from one data set.

Answering is transactional. ``reserve`` writes the worst-case cost to disk before any
noise is drawn; ``record`` stores the answers and what they really cost in the same
transaction that makes them visible. Answers leave only after that commit, so a crash
at any point leaves the ledger at or above the truth, and of two processes that answer
the same query the first to record wins and the other returns the winner's answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from ballotine.errors import LedgerError, LedgerMismatchError
from ballotine.ledger.answers import as_answers
from ballotine.ledger.binding import Binding, pool_digest
from ballotine.ledger.charge import Events
from ballotine.ledger.grant import Grant
from ballotine.ledger.payloads import Realise, drawn_by, named
from ballotine.ledger.prepare import Fingerprint, bring_up_to_date
from ballotine.ledger.reader import answers_of
from ballotine.ledger.sqlite import SqliteStore
from ballotine.ledger.store import Store, View
from ballotine.ledger.terms import Promise, Terms
from ballotine.ledger.totals import OTHER_QUERIES
from ballotine.ledger.writer import LedgerWriter
from ballotine.privacy.guarantee import Budget
from ballotine.types import IntArray

Asked: TypeAlias = Promise | Budget | Mapping[str, Budget]
DEFAULT_WAIT = 30.0


class Ledger(LedgerWriter):
    """An append-only record of privacy spent, shared by all runs on one data set."""

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
        where = None if path is None else Path(path)
        # What cannot be promised leaves no file behind.
        settled = None if SqliteStore.present(where) else promise.settle()
        store = SqliteStore.open(where, wait)
        try:
            bring_up_to_date(store, promise, fingerprint, settled)
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
            bring_up_to_date(store)
        except BaseException:
            store.close()
            raise
        return cls._over(store)

    @classmethod
    def identity_at(cls, path: str | Path) -> str | None:
        """The name of the ledger at this place, if there is one; nothing is created."""
        if not SqliteStore.present(Path(path)):
            return None
        with cls.existing(path) as ledger:
            return ledger.identity

    @classmethod
    def _over(cls, store: Store) -> Ledger:
        try:
            return cls(store)
        except BaseException:
            store.close()
            raise

    def agree(self, promise: Promise, fingerprint: Fingerprint | None = None) -> None:
        """Go on under this promise, if the ledger has it, or has paid for nothing yet."""
        self._require_data(fingerprint)
        bring_up_to_date(self._store, promise)
        self._promise = None
        self.spending()
        self._promise = promise
        self._require_promise()

    def reserve(
        self, ids: Sequence[bytes], binding: Binding, *, run: str = "", seeded: bool = False
    ) -> Grant:
        """Set aside the worst-case cost of new queries, first come first served.

        Queries that were reserved before (by an interrupted run) and never answered may be
        answered too. As soon as one new query does not fit the budget, it and all new ones
        after it are refused, and the ledger notes that its budget has ended.

        Args:
            ids: their names.
            binding: the account that they belong to.
            run: a label for ``ballotine ledger show``.
            seeded: whether their noise will come from a seed.
        """
        with self._writing() as pen:
            wanted = list(dict.fromkeys(ids))
            held = pen.queries(wanted)
            self._give_up(
                pen, [query for query in held.values() if query.idle and not query.answer]
            )
            held = {name: query for name, query in held.items() if query.answer or not query.idle}
            number = self._replay.spending.number_of(binding)
            if any(query.account != number for query in held.values() if not query.answer):
                raise LedgerMismatchError(
                    "a query of this name was asked by other teachers or by another rule before; "
                    "nothing was charged"
                )
            new = [name for name in wanted if name not in held]
            granted = new[: self._replay.spending.affordable(binding, len(new))]
            fresh = self._pay(pen, granted, binding, drawn_by(run, seeded))
            if len(granted) < len(new):
                self._note_refusal(pen, run)
            self._maybe_checkpoint(pen)
        held.update((query.id, query) for query in fresh)
        queries = tuple(held[name] for name in wanted if name in held)
        return Grant(binding, queries, fresh, len(new) - len(granted), seeded)

    def require_room(self, binding: Binding, *, run: str = "") -> None:
        """Refuse, before any work is done, what will not be paid a single query for.

        It is written down like any refusal: the budget has decided how many queries there are.
        """
        if self.spending().affordable(binding, 1):
            return
        with self._writing() as pen:
            self._note_refusal(pen, run)
        raise self.refusal(binding)

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
            standing = answers_of(held)
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
                by = drawn_by(run, grant.seeded)
                self._write_answers(pen, new, answers[fresh], grant.binding, realise, by)
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
                payload = named(idle, grant.binding.charge) | {"run": run}
                self._append(pen, "undrawn", payload)
                pen.mark_idle(idle, self._replay.head.seq)

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
            if self._replay.spending.statement is None:
                self._require_whole(pen, binding)
                if not self._replay.spending.affords(events):
                    raise LedgerError("the budget does not allow an ε to be published")
                payload = {
                    "account": self._replay.spending.number_of(binding),
                    "events": [event.to_json() for event in events],
                    "statement": statement,
                }
                self._append(pen, "publish", payload)
        return dict(self._replay.spending.statement or {})

    def _require_whole(self, view: View, binding: Binding) -> None:
        """A published ε is about the queries that were fixed, all of them and no other."""
        number, spending = self._replay.spending.number_of(binding), self._replay.spending
        names = [name for _, name, *_ in view.grouped("recorded")]
        if number is None or spending.recorded != spending.terms.queries:
            raise LedgerError(
                f"{spending.recorded} of {spending.terms.queries} queries are answered; the ε of "
                "a fixed number of queries is published when all of them are"
            )
        if pool_digest(names) != binding.pool:
            raise LedgerMismatchError(OTHER_QUERIES)

    def _require_data(self, fingerprint: Fingerprint | None) -> None:
        if fingerprint is None:
            return
        if self._meta("fingerprint").decode() != fingerprint(self._meta("salt")):
            raise LedgerMismatchError(
                f"the ledger {self.path or 'in memory'} belongs to another data set; "
                "name the ledger of this one, or a new file for new data"
            )

    def __getstate__(self) -> dict[str, Any]:
        image = self._store.image()
        return {"path": str(self.path)} if image is None else {"image": image}

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "path" in state:
            path = Path(state["path"])
            if not SqliteStore.present(path):
                raise LedgerError(f"there is no ledger at {path}")
            Ledger.__init__(self, SqliteStore.open(path, DEFAULT_WAIT))
            return
        Ledger.__init__(self, SqliteStore.of_image(state["image"]))
        self._sealed = True

"""The ledger: the durable list of everything released from one data set.

Answering is transactional. ``reserve`` writes the worst-case cost to disk before any noise is
drawn; ``record`` stores the answers and their realised cost in one transaction. Answers are handed
out only after that commit, so a crash at any point never leaves the ledger below the true cost.
If two processes answer the same query, the first to record wins and the other returns the
recorded answer.
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
from ballotine.ledger.payloads import Realise, query_fields, run_fields
from ballotine.ledger.prepare import Fingerprint, prepare_store
from ballotine.ledger.reader import answers_of
from ballotine.ledger.sqlite import SqliteStore
from ballotine.ledger.store import Store, View
from ballotine.ledger.terms import Promise, Terms
from ballotine.ledger.totals import OTHER_QUERIES
from ballotine.ledger.writer import LedgerWriter
from ballotine.privacy.guarantee import Budget
from ballotine.types import IntArray

PromiseLike: TypeAlias = Promise | Budget | Mapping[str, Budget]
DEFAULT_WAIT = 30.0


class Ledger(LedgerWriter):
    """An append-only record of privacy spent, shared by all runs on one data set."""

    @classmethod
    def open(
        cls,
        path: str | Path | None,
        asked: PromiseLike,
        fingerprint: Fingerprint | None = None,
        *,
        wait: float = DEFAULT_WAIT,
    ) -> Ledger:
        """Open the ledger of a data set, creating it on first use.

        A ledger that has paid for nothing yet accepts another promise; any other keeps its own.

        Args:
            path: the file, or None for an in-memory ledger.
            asked: a budget for everyone, one per group, or a promise; must agree with that of
                an existing ledger.
            fingerprint: computes the data's fingerprint, which must be the ledger's; None skips
                the check.
            wait: seconds to wait for another process that has locked the file.
        """
        promise = Terms.of(asked) if isinstance(asked, Budget | Mapping) else asked
        where = None if path is None else Path(path)
        # Settle first: a promise that cannot be made must not leave a file behind.
        settled = None if SqliteStore.exists(where) else promise.settle()
        store = SqliteStore.open(where, wait)
        try:
            prepare_store(store, promise, fingerprint, settled)
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
            write: whether to open it for writing; otherwise no byte of the file changes.
            wait: seconds for which a writer waits for another one.
        """
        store = SqliteStore.read_only(Path(path))
        if not write:
            return cls._from_store(store)
        store.close()
        store = SqliteStore.open(Path(path), wait)
        try:
            prepare_store(store)
        except BaseException:
            store.close()
            raise
        return cls._from_store(store)

    @classmethod
    def identity_at(cls, path: str | Path) -> str | None:
        """The identity of the ledger at this path, if there is one; nothing is created."""
        if not SqliteStore.exists(Path(path)):
            return None
        with cls.existing(path) as ledger:
            return ledger.identity

    @classmethod
    def _from_store(cls, store: Store) -> Ledger:
        try:
            return cls(store)
        except BaseException:
            store.close()
            raise

    def agree(self, promise: Promise, fingerprint: Fingerprint | None = None) -> None:
        """Continue under this promise; raises if the ledger has spent under another one."""
        self._require_data(fingerprint)
        prepare_store(self._store, promise)
        self._promise = None
        self.spending()
        self._promise = promise
        self._require_promise()

    def reserve(
        self, ids: Sequence[bytes], binding: Binding, *, run: str = "", seeded: bool = False
    ) -> Grant:
        """Reserve the worst-case cost of new queries, in the given order.

        Queries that an interrupted run reserved and never answered may be answered too. As soon
        as one new query does not fit the budget, it and all new ones after it are refused, and
        the ledger records the refusal.

        Args:
            ids: the ids of the queries.
            binding: the account that they belong to.
            run: a label for ``ballotine ledger show``.
            seeded: whether their noise comes from a seed.
        """
        with self._writing() as tx:
            wanted = list(dict.fromkeys(ids))
            held = tx.queries(wanted)
            self._void(tx, [query for query in held.values() if query.idle and not query.answer])
            held = {name: query for name, query in held.items() if query.answer or not query.idle}
            number = self._replay.spending.number_of(binding)
            if any(query.account != number for query in held.values() if not query.answer):
                raise LedgerMismatchError(
                    "a query with this id is pending for other teachers or another rule; "
                    "nothing was charged"
                )
            new = [name for name in wanted if name not in held]
            granted = new[: self._replay.spending.affordable(binding, len(new))]
            fresh = self._reserve_new(tx, granted, binding, run_fields(run, seeded))
            if len(granted) < len(new):
                self._note_refusal(tx, run)
            self._maybe_checkpoint(tx)
        held.update((query.id, query) for query in fresh)
        queries = tuple(held[name] for name in wanted if name in held)
        return Grant(binding, queries, fresh, len(new) - len(granted), seeded)

    def require_affordable(self, binding: Binding, *, run: str = "") -> None:
        """Raise before any work is done if the budget does not allow a single query.

        This is recorded like any refusal: the budget has decided the number of queries.
        """
        if self.spending().affordable(binding, 1):
            return
        with self._writing() as tx:
            self._note_refusal(tx, run)
        raise self.refusal(binding)

    def record(
        self, grant: Grant, answers: IntArray, realise: Realise, *, run: str = ""
    ) -> IntArray:
        """Store answers to granted queries, and return the recorded answers.

        Args:
            grant: what may be answered; its first ``len(answers)`` queries are.
            answers: one class number per query, or one row of labels; ABSTAIN for no answer.
            realise: returns the events that a set of answers actually released about a group.
            run: a label for ``ballotine ledger show``.
        """
        asked = grant.queries[: len(answers)]
        with self._writing() as tx:
            held = tx.queries([query.id for query in asked])
            standing = answers_of(held)
            fresh = [place for place, query in enumerate(asked) if query.id not in standing]
            if fresh:
                new = [asked[place] for place in fresh]
                if any(
                    query.id not in held or held[query.id].reserved != query.reserved
                    for query in new
                ):
                    raise LedgerError(
                        "an answer was not recorded because its reservation was given up or never "
                        "made; nothing was handed out. Ask again"
                    )
                by = run_fields(run, grant.seeded)
                self._write_answers(tx, new, answers[fresh], grant.binding, realise, by)
                new_answers = as_answers(answers[fresh])
                standing.update((q.id, a) for q, a in zip(new, new_answers, strict=True))
        return np.array([standing[query.id] for query in asked], dtype=np.int64)

    def mark_undrawn(self, grant: Grant, *, run: str = "") -> None:
        """Record that a session ends normally before any noise was drawn for this grant.

        Such reservations can be given up: by asking the same queries again, or with ``void``.
        """
        with self._writing() as tx:
            held = tx.queries([query.id for query in grant.fresh])
            idle = [
                query
                for query in grant.fresh
                if query.id in held
                and held[query.id].reserved == query.reserved
                and held[query.id].answer is None
                and not held[query.id].idle
            ]
            if idle:
                payload = query_fields(idle, grant.binding.charge) | {"run": run}
                self._append(tx, "undrawn", payload)
                tx.mark_idle(idle, self._replay.head.seq)

    def void(self, why: str) -> int:
        """Give up all reservations marked as undrawn, and return their number.

        Their cost is returned to the budget, and no answer to them is accepted any more.
        """
        with self._writing() as tx:
            idle = list(tx.idle())
            self._void(tx, idle, why)
        return len(idle)

    def publish(
        self, statement: dict[str, Any], events: Events, binding: Binding
    ) -> dict[str, Any]:
        """Record a published ε, and what publishing it released; this happens only once.

        Publishing is a release like any other and passes the same filter. Returns the recorded
        statement: an earlier one, if another process was first.
        """
        with self._writing() as tx:
            if self._replay.spending.statement is None:
                self._require_all_answered(tx, binding)
                if not self._replay.spending.affords(events):
                    raise LedgerError("the budget does not allow an ε to be published")
                payload = {
                    "account": self._replay.spending.number_of(binding),
                    "events": [event.to_json() for event in events],
                    "statement": statement,
                }
                self._append(tx, "publish", payload)
        return dict(self._replay.spending.statement or {})

    def _require_all_answered(self, view: View, binding: Binding) -> None:
        """A published ε covers exactly the queries that were fixed: require all of them."""
        number, spending = self._replay.spending.number_of(binding), self._replay.spending
        names = [name for _, name, *_ in view.marked("recorded")]
        if number is None or spending.recorded != spending.terms.queries:
            raise LedgerError(
                f"{spending.recorded} of {spending.terms.queries} queries are answered; the ε can "
                "be published once all of them are"
            )
        if pool_digest(names) != binding.pool:
            raise LedgerMismatchError(OTHER_QUERIES)

    def _require_data(self, fingerprint: Fingerprint | None) -> None:
        if fingerprint is None:
            return
        if self._meta("fingerprint").decode() != fingerprint(self._meta("salt")):
            raise LedgerMismatchError(
                f"the ledger {self.path or 'in memory'} belongs to another data set; "
                "use the ledger of this data set, or a new file for new data"
            )

    def __getstate__(self) -> dict[str, Any]:
        image = self._store.image()
        return {"path": str(self.path)} if image is None else {"image": image}

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "path" in state:
            path = Path(state["path"])
            if not SqliteStore.exists(path):
                raise LedgerError(f"there is no ledger at {path}")
            Ledger.__init__(self, SqliteStore.open(path, DEFAULT_WAIT))
            return
        Ledger.__init__(self, SqliteStore.from_image(state["image"]))
        self._sealed = True

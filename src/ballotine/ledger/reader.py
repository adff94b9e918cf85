"""Reading a ledger: its terms, what was spent, and the recorded answers."""

from __future__ import annotations

import hmac
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from ballotine.errors import LedgerMismatchError, LedgerTamperedError
from ballotine.ledger import entries as chain
from ballotine.ledger.answers import Answer, decode_answer
from ballotine.ledger.binding import Binding
from ballotine.ledger.entries import Anchor, Entry
from ballotine.ledger.refusal import refusal
from ballotine.ledger.replay import Replay
from ballotine.ledger.spending import Spending
from ballotine.ledger.store import Query, Store, View
from ballotine.ledger.terms import Promise, Terms
from ballotine.privacy.guarantee import Budget


class LedgerReader:
    """The part of a ledger that only reads."""

    def __init__(self, store: Store, promise: Promise | None = None) -> None:
        self._store = store
        self._promise = promise
        self._process = os.getpid()
        self._replay = Replay()
        with self._store.reading() as view:
            self._refresh(view)

    @property
    def path(self) -> Path | None:
        """The file, or None for a ledger in memory."""
        return self._store.path

    @property
    def store(self) -> Store:
        """The store that keeps the entries."""
        return self._store

    @property
    def terms(self) -> Terms:
        """What this ledger promises to each group, and its stop rule."""
        return self._loaded().spending.terms

    @property
    def budget(self) -> Budget:
        """The budget that holds for everyone: the loosest, if there are several groups."""
        return self.terms.loosest

    @property
    def identity(self) -> str:
        """The ledger's random name; it reveals nothing about the data."""
        return self._loaded().head.ledger

    def head(self) -> Anchor:
        """The last entry of the chain."""
        self.spending()
        return self._replay.head

    def spending(self) -> Spending:
        """What the entries add up to now."""
        with self._store.reading() as view:
            self._refresh(view)
        return self._replay.spending

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Everything read inside the block comes from one snapshot, whoever writes meanwhile."""
        with self._store.reading() as view:
            self._refresh(view)
            yield

    def entries(self) -> Iterator[Entry]:
        """All entries, each checked against the chain."""
        with self._store.reading() as view:
            yield from chain.read_chain(view.rows(), 0, chain.GENESIS)

    def checkpoints(self) -> Iterator[Spending]:
        """The totals stored in each checkpoint."""
        with self._store.reading() as view:
            for row in view.of_kind("checkpoint"):
                yield Spending.from_state(chain.read(row).payload)

    def lookup(self, ids: Sequence[bytes]) -> dict[bytes, Answer]:
        """The recorded answers to those of the queries that have one."""
        with self._store.reading() as view:
            return answers_of(view.queries(ids))

    def answer_counts(self, last: int) -> Counter[Answer]:
        """How often each answer was recorded, up to and including the entry ``last``."""
        with self._store.reading() as view:
            rows = view.marked("recorded")
            found = Counter(answer for seq, *_, answer in rows if seq <= last and answer)
        return Counter({decode_answer(answer): times for answer, times in found.items()})

    def pending(self, ids: Sequence[bytes]) -> set[bytes]:
        """Those of the queries that are reserved, by any run, and not answered yet."""
        with self._store.reading() as view:
            found = view.queries(ids).values()
            return {q.id for q in found if q.answer is None and not q.idle}

    def keyed(self, content: bytes) -> bytes:
        """A keyed hash of some content, which reveals nothing without the ledger's salt."""
        return hmac.digest(self._meta("salt"), content, "sha256")

    def refusal(self, binding: Binding) -> Exception:
        """The error for another query of this account that the budget does not allow."""
        return refusal(self.spending(), binding)

    def close(self) -> None:
        """Release the file."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *details: object) -> None:
        self.close()

    def __repr__(self) -> str:
        where = "in memory" if self.path is None else str(self.path)
        return f"<Ledger {where}, budget {self.budget}>"

    def _require_promise(self) -> None:
        """Raise if the terms disagree with the promise, for example after another process."""
        if self._promise is None:
            return
        reason = self._promise.disagreement(self._replay.spending.terms)
        if reason is not None:
            raise LedgerMismatchError(
                f"the ledger {self.path or 'in memory'} does not fit: {reason}; nothing was charged"
            )

    def _meta(self, key: str) -> bytes:
        with self._store.reading() as view:
            value = view.meta(key)
        if value is None:
            raise LedgerTamperedError(f"the ledger's {key} is missing")
        return value

    def _loaded(self) -> Replay:
        """The replay; read again if it was reset after a failure."""
        if self._replay.head.seq == 0:
            self.spending()
        return self._replay

    def _refresh(self, view: View) -> None:
        """Read what was appended since the last call, by this or another process."""
        if self._replay.catch_up(view):
            try:
                self._require_promise()
            except LedgerMismatchError:
                self._replay = Replay()  # so that the next call raises again
                raise


def answers_of(held: Mapping[bytes, Query]) -> dict[bytes, Answer]:
    """The recorded answers among these reservations."""
    return {
        name: decode_answer(query.answer)
        for name, query in held.items()
        if query.answer is not None
    }

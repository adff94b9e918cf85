"""Reading a ledger: what it promises, what was spent, and the answers it holds."""

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
    """A ledger that is looked at; nothing here changes it."""

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
        """Where the entries live."""
        return self._store

    @property
    def terms(self) -> Terms:
        """What this ledger promises to whom, and its stop rule."""
        return self._known().spending.terms

    @property
    def budget(self) -> Budget:
        """The promise that holds for everyone: with several groups, the loosest."""
        return self.terms.loosest

    @property
    def identity(self) -> str:
        """A random name; it says nothing about the data."""
        return self._known().head.ledger

    def head(self) -> Anchor:
        """Where the chain stands now."""
        self.spending()
        return self._replay.head

    def spending(self) -> Spending:
        """What the entries add up to now."""
        with self._store.reading() as view:
            self._refresh(view)
        return self._replay.spending

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """What is read inside speaks of one moment, whoever writes meanwhile."""
        with self._store.reading() as view:
            self._refresh(view)
            yield

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
            return answers_of(view.queries(ids))

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

    def keyed(self, content: bytes) -> bytes:
        """A name for some content that says nothing about it to whoever lacks the ledger."""
        return hmac.digest(self._meta("salt"), content, "sha256")

    def refusal(self, binding: Binding) -> Exception:
        """Why another query of this kind is not allowed."""
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
        """The ledger promises what it was opened with, also after others had it in hand."""
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
            raise LedgerTamperedError(f"the ledger lost its {key}")
        return value

    def _known(self) -> Replay:
        """What was read last; read again if that was undone."""
        if self._replay.head.seq == 0:
            self.spending()
        return self._replay

    def _refresh(self, view: View) -> None:
        """Read what was appended since the last look, by us or by another process."""
        if self._replay.follow(view):
            try:
                self._require_promise()
            except LedgerMismatchError:
                self._replay = Replay()  # whoever looks again is told again
                raise


def answers_of(held: Mapping[bytes, Query]) -> dict[bytes, Answer]:
    """The answers among reservations."""
    return {
        name: decode_answer(query.answer)
        for name, query in held.items()
        if query.answer is not None
    }

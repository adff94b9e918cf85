"""Appending entries: the steps that the ledger's operations consist of."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ballotine.errors import LedgerError
from ballotine.ledger import entries as chain
from ballotine.ledger.account import count_to_json
from ballotine.ledger.answers import as_answers, encode_answer
from ballotine.ledger.binding import Binding
from ballotine.ledger.payloads import Realise, query_fields, record_fields, votes_on
from ballotine.ledger.reader import LedgerReader
from ballotine.ledger.replay import Replay
from ballotine.ledger.store import Query, Transaction
from ballotine.types import IntArray

CHECKPOINT_INTERVAL = 1000
"""Number of entries between checkpoints; more if a checkpoint is large."""


class LedgerWriter(LedgerReader):
    """A ledger that entries can be appended to, one transaction at a time."""

    _sealed = False

    @contextmanager
    def _writing(self) -> Iterator[Transaction]:
        """Lock the ledger and read its current state; on failure nothing is written."""
        if self._sealed or (self.path is None and os.getpid() != self._process):
            raise LedgerError(
                "this is a copy of an in-memory ledger: it returns recorded answers but cannot "
                "answer new queries, because the same budget would be spent twice; to share a "
                "ledger between processes, give the classifier a ledger file"
            )
        try:
            with self._store.writing() as tx:
                self._refresh(tx)
                yield tx
        except BaseException:
            # The replay may include entries that were rolled back: start it again when needed.
            self._replay = Replay()
            raise

    def _append(self, tx: Transaction, kind: str, payload: dict[str, Any]) -> None:
        row = chain.next_row(self._replay.head, kind, payload)
        tx.append(row)
        self._replay.apply(chain.read(row))

    def _note_refusal(self, tx: Transaction, run: str) -> None:
        if not self._replay.spending.refused:
            self._append(tx, "refuse", {"run": run})

    def _reserve_new(
        self, tx: Transaction, granted: list[bytes], binding: Binding, by: dict[str, Any]
    ) -> tuple[Query, ...]:
        if not granted:
            return ()
        if self._replay.spending.number_of(binding) is None:
            self._append(tx, "bind", binding.to_dict())
        number = self._replay.spending.number_of(binding)
        assert number is not None
        first, seq = self._replay.spending.turns[number], self._replay.head.seq + 1
        fresh = tuple(Query(name, seq, number, first + place) for place, name in enumerate(granted))
        self._append(tx, "reserve", query_fields(fresh, binding.charge) | by)
        tx.reserve(fresh)
        return fresh

    def _void(self, tx: Transaction, idle: Sequence[Query], why: str = "asked again") -> None:
        for number in sorted({query.account for query in idle}):
            some = [query for query in idle if query.account == number]
            charge = self._replay.spending.bindings[number].charge
            votes = {name: count_to_json(votes_on(charge, name, some)) for name in charge.groups}
            payload = query_fields(some, charge) | {"votes": votes, "why": why}
            self._append(tx, "void", payload)
            tx.fence(some, self._replay.head.seq)

    def _write_answers(
        self,
        tx: Transaction,
        new: list[Query],
        answers: IntArray,
        binding: Binding,
        realise: Realise,
        by: dict[str, Any],
    ) -> None:
        stored = [encode_answer(answer) for answer in as_answers(answers)]
        fields = record_fields(new, answers, stored, binding.charge, realise)
        self._append(tx, "record", fields | by)
        tx.answer(zip(stored, new, strict=True), self._replay.head.seq)
        self._maybe_checkpoint(tx)

    def _maybe_checkpoint(self, tx: Transaction) -> None:
        """Write the totals from time to time, so that opening need not replay every entry."""
        since = self._replay.head.seq - self._replay.checkpoint
        if (
            since < CHECKPOINT_INTERVAL
            or since < CHECKPOINT_INTERVAL * len(self._replay.spending.bindings) // 20
        ):
            return
        self._append(tx, "checkpoint", self._replay.spending.to_state())

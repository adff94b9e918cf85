"""Appending to a ledger: the steps from which its operations are made."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ballotine.errors import LedgerError
from ballotine.ledger import entries as chain
from ballotine.ledger.account import plain
from ballotine.ledger.answers import as_answers, encode_answer
from ballotine.ledger.binding import Binding
from ballotine.ledger.payloads import Realise, answers_told, named, votes_on
from ballotine.ledger.reader import LedgerReader
from ballotine.ledger.replay import Replay
from ballotine.ledger.store import Pen, Query
from ballotine.types import IntArray

BETWEEN_CHECKPOINTS = 1000
"""Entries; more of them where what a checkpoint must hold is large."""


class LedgerWriter(LedgerReader):
    """A ledger to which entries are appended, one transaction at a time."""

    _sealed = False

    @contextmanager
    def _writing(self) -> Iterator[Pen]:
        """The ledger as it stands, for us alone; what fails leaves no trace."""
        if self._sealed or (self.path is None and os.getpid() != self._process):
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
            self._replay = Replay()
            raise

    def _append(self, pen: Pen, kind: str, payload: dict[str, Any]) -> None:
        row = chain.following(self._replay.head, kind, payload)
        pen.append(row)
        self._replay.take(chain.read(row))

    def _note_refusal(self, pen: Pen, run: str) -> None:
        if not self._replay.spending.refused:
            self._append(pen, "refuse", {"run": run})

    def _pay(
        self, pen: Pen, granted: list[bytes], binding: Binding, by: dict[str, Any]
    ) -> tuple[Query, ...]:
        if not granted:
            return ()
        if self._replay.spending.number_of(binding) is None:
            self._append(pen, "bind", binding.to_dict())
        number = self._replay.spending.number_of(binding)
        assert number is not None
        first, seq = self._replay.spending.turns[number], self._replay.head.seq + 1
        fresh = tuple(Query(name, seq, number, first + place) for place, name in enumerate(granted))
        self._append(pen, "reserve", named(fresh, binding.charge) | by)
        pen.reserve(fresh)
        return fresh

    def _give_up(self, pen: Pen, idle: Sequence[Query], why: str = "asked again") -> None:
        for number in sorted({query.account for query in idle}):
            some = [query for query in idle if query.account == number]
            charge = self._replay.spending.bindings[number].charge
            votes = {name: plain(votes_on(charge, name, some)) for name in charge.groups}
            payload = named(some, charge) | {"votes": votes, "why": why}
            self._append(pen, "void", payload)
            pen.fence(some, self._replay.head.seq)

    def _write_answers(
        self,
        pen: Pen,
        new: list[Query],
        answers: IntArray,
        binding: Binding,
        realise: Realise,
        by: dict[str, Any],
    ) -> None:
        stored = [encode_answer(answer) for answer in as_answers(answers)]
        told = answers_told(new, answers, stored, binding.charge, realise)
        self._append(pen, "record", told | by)
        pen.answer(zip(stored, new, strict=True), self._replay.head.seq)
        self._maybe_checkpoint(pen)

    def _maybe_checkpoint(self, pen: Pen) -> None:
        """From time to time, what everything adds up to: opening need not replay it all."""
        since = self._replay.head.seq - self._replay.checkpoint
        if (
            since < BETWEEN_CHECKPOINTS
            or since < BETWEEN_CHECKPOINTS * len(self._replay.spending.bindings) // 20
        ):
            return
        self._append(pen, "checkpoint", self._replay.spending.to_state())

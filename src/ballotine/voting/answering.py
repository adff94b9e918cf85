"""Answering a pool of queries through the ledger: the one door out of the room.

For each chunk: look up what was answered before, reserve the worst case of the rest,
only then count ballots and draw noise, record, and hand out what the ledger holds.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ballotine.errors import DataError
from ballotine.noise import NoiseSource, QueryNoise
from ballotine.privacy.ledger import Ledger
from ballotine.types import ABSTAIN, BoolArray, IntArray, Labels
from ballotine.voting.mechanism import Mechanism
from ballotine.voting.tally import Tallies

UNASKED = -2
"""In returned answers: the budget ended before this query was asked."""

CHUNK = 64
Count = Callable[[IntArray], Tallies]
"""Tallies of the queries at the given positions of the pool."""


@dataclass(frozen=True)
class Answers:
    """Released answers to a pool of queries, in the pool's order: all of it public.

    Attributes:
        labels: a class number per query, ABSTAIN, or UNASKED.
        classes: what the class numbers stand for.
    """

    labels: IntArray
    classes: Labels

    @property
    def named(self) -> np.ma.MaskedArray[Any, Any]:
        """The answers as classes, masked where there is none."""
        return np.ma.masked_array(self.classes[self.labels.clip(0)], mask=~self.answered)

    @property
    def answered(self) -> BoolArray:
        """Which queries carry a class."""
        return self.labels >= 0

    @property
    def asked(self) -> BoolArray:
        """Which queries were asked at all."""
        return np.not_equal(self.labels, UNASKED)

    @property
    def abstained(self) -> BoolArray:
        """Which queries were asked and not answered."""
        return np.equal(self.labels, ABSTAIN)

    def __len__(self) -> int:
        return len(self.labels)


def query_ids(row_keys: Sequence[bytes], ensemble: bytes, mechanism: Mechanism) -> list[bytes]:
    """Names of queries: the same row, ensemble and mechanism are the same query."""
    context = hashlib.sha256(
        len(ensemble).to_bytes(4, "big") + ensemble + mechanism.describe().encode()
    ).digest()
    return [hashlib.sha256(context + key).digest() for key in row_keys]


@dataclass(frozen=True)
class Answerer:
    """A mechanism bound to a ledger, a noise source and the classes voted on."""

    mechanism: Mechanism
    ledger: Ledger
    noise: NoiseSource
    classes: Labels
    run: str = ""
    chunk: int = CHUNK

    def answer(
        self,
        ids: Sequence[bytes],
        count: Count,
        advance: Callable[[int], None] = lambda _: None,
    ) -> Answers:
        """Answer queries in order until all are answered or the budget ends.

        Queries that an interrupted run has paid for come first: they cost nothing more.

        Args:
            ids: names of the queries; equal names share one answer.
            count: gives the tallies of the queries at some positions.
            advance: is told how many more queries are settled, for progress bars.
        """
        first: dict[bytes, int] = {}
        for position, query in enumerate(ids):
            first.setdefault(query, position)
        known = self.ledger.lookup(list(first))
        paid = self.ledger.pending([query for query in first if query not in known])
        todo = sorted((q for q in first if q not in known), key=lambda query: query not in paid)
        advance(len(ids) - len(todo))
        start = 0
        while start < len(todo):
            batch = todo[start : start + self.chunk]
            settled = self._answer_batch(batch, first, count, known)
            advance(settled)
            start += settled
            if settled == 0:
                break
        labels = [known.get(query, UNASKED) for query in ids]
        return Answers(np.array(labels, dtype=np.int64), self.classes)

    def _answer_batch(
        self, batch: list[bytes], first: dict[bytes, int], count: Count, known: dict[bytes, int]
    ) -> int:
        """Answer the granted head of a batch; returns how many queries that were."""
        events = self.mechanism.events(len(self.classes))
        granted = self.ledger.reserve(batch, events, run=self.run)
        head = len(batch) if granted.all() else int(np.argmin(granted))
        batch = batch[:head]
        if not batch:
            return 0
        tallies = count(np.array([first[query] for query in batch], dtype=np.int64))
        if tallies.classes != len(self.classes):
            raise DataError("the tallies and the mechanism disagree on the number of classes")
        drawn = self.mechanism.release(tallies, QueryNoise(self.noise, batch))
        standing = self.ledger.record(
            batch,
            drawn,
            events,
            lambda answers: self.mechanism.realised(answers, len(self.classes)),
            run=self.run,
        )
        known.update(zip(batch, standing.tolist(), strict=True))
        return head

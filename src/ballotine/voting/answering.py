"""Answering a pool of queries through the ledger: the one door out of the room.

For each chunk: look up what was answered before, reserve the worst case of the rest,
only then count ballots and draw noise, record, and hand out what the ledger holds.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ballotine.errors import DataError, ParameterError
from ballotine.ledger import Charge, Ledger
from ballotine.ledger.answers import Answer, answered, as_answers
from ballotine.noise import NoiseSource, QueryNoise
from ballotine.privacy.events import Event
from ballotine.privacy.reach import ONE_VOTE
from ballotine.types import BoolArray, IntArray, Labels
from ballotine.voting.mechanism import Mechanism
from ballotine.voting.tally import Tallies

if TYPE_CHECKING:
    from ballotine.voting.individual import IndividualPlan

UNASKED = -2
"""In returned answers: the budget ended before this query was asked."""

CHUNK = 64
Count = Callable[[IntArray], "Tallies | IntArray"]
"""Ballots, or tallies, of the queries at the given positions of the pool."""


@dataclass(frozen=True)
class Answers:
    """Released answers to a pool of queries, in the pool's order: all of it public.

    Attributes:
        labels: a class number per query, ABSTAIN, or UNASKED; with several labels per query
            the shape is (queries, labels) and an answer is 1 (present) or 0 (absent).
        classes: what the class numbers stand for, or the names of the labels.
    """

    labels: IntArray
    classes: Labels

    @property
    def multilabel(self) -> bool:
        """Whether every query has several labels."""
        return self.labels.ndim == 2

    @property
    def named(self) -> np.ma.MaskedArray[Any, Any]:
        """The answers as classes (or as 0 and 1 per label), masked where there is none."""
        if self.multilabel:
            return np.ma.masked_array(self.labels, mask=self.labels < 0)
        return np.ma.masked_array(self.classes[self.labels.clip(0)], mask=~self.answered)

    @property
    def answered(self) -> BoolArray:
        """Which queries carry a class, or at least one label's answer."""
        return answered(self.labels)

    @property
    def asked(self) -> BoolArray:
        """Which queries were asked at all."""
        first = self.labels[:, 0] if self.multilabel else self.labels
        return np.not_equal(first, UNASKED)

    @property
    def abstained(self) -> BoolArray:
        """Which queries were asked and not answered."""
        return self.asked & ~self.answered

    def __len__(self) -> int:
        return len(self.labels)


def query_ids(
    row_keys: Sequence[bytes],
    ensemble: bytes,
    mechanism: Mechanism,
    plan: IndividualPlan | None = None,
) -> list[bytes]:
    """Names of queries: the same row, ensemble and rule are the same query."""
    # A plan that is standard PATE in every respect asks standard PATE's queries.
    own = "" if plan is None or plan.standard else plan.describe()
    rule = mechanism.describe() + own
    context = hashlib.sha256(len(ensemble).to_bytes(4, "big") + ensemble + rule.encode()).digest()
    return [hashlib.sha256(context + key).digest() for key in row_keys]


@dataclass(frozen=True)
class Answerer:
    """A mechanism bound to a ledger, a noise source and the classes voted on.

    Attributes:
        plan: individual budgets, if records have them; the mechanism is then the plan's.
    """

    mechanism: Mechanism
    ledger: Ledger
    noise: NoiseSource
    classes: Labels
    run: str = ""
    chunk: int = CHUNK
    plan: IndividualPlan | None = None

    def __post_init__(self) -> None:
        if self.plan is not None and self.plan.mechanism != self.mechanism:
            raise ParameterError("with individual budgets, the mechanism is the plan's own")

    def charge(self) -> Charge:
        """What one query costs each group, at worst."""
        if self.plan is not None:
            return self.plan.charge(len(self.classes))
        return Charge.of(self.mechanism.events(len(self.classes)))

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
            count: gives the ballots (or tallies) of the queries at some positions.
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
        labels = [known.get(query, self.unasked()) for query in ids]
        return Answers(np.array(labels, dtype=np.int64), self.classes)

    def unasked(self) -> Answer:
        """What stands for the answer to a query that was not asked."""
        return (UNASKED,) * len(self.classes) if self.mechanism.multilabel else UNASKED

    def tallies(self, votes: Tallies | IntArray, batch: list[bytes]) -> Tallies:
        """Count ballots as the mechanism, or the plan, has it."""
        classes = len(self.classes)
        if self.plan is not None:
            if isinstance(votes, Tallies):
                raise ParameterError("individual budgets need ballots: a tally has no teachers")
            return self.plan.tally(votes, classes, self.ledger.turns(batch))
        tallies = votes if isinstance(votes, Tallies) else self.mechanism.tally(votes, classes)
        if tallies.classes != classes:
            raise DataError("the tallies and the mechanism disagree on the number of classes")
        return tallies

    def realised(self, answers: IntArray, group: str) -> Counter[Event]:
        """What answers did release about the records of a group."""
        reach = ONE_VOTE if self.plan is None else self.plan.reach(group)
        return self.mechanism.realised(answers, len(self.classes), reach)

    def _answer_batch(
        self, batch: list[bytes], first: dict[bytes, int], count: Count, known: dict[bytes, Answer]
    ) -> int:
        """Answer the granted head of a batch; returns how many queries that were."""
        charge = self.charge()
        granted = self.ledger.reserve(batch, charge, run=self.run)
        head = len(batch) if granted.all() else int(np.argmin(granted))
        batch = batch[:head]
        if not batch:
            return 0
        places = np.array([first[query] for query in batch], dtype=np.int64)
        tallies = self.tallies(count(places), batch)
        drawn = self.mechanism.release(tallies, QueryNoise(self.noise, batch))
        standing = self.ledger.record(batch, drawn, charge, self.realised, run=self.run)
        known.update(zip(batch, as_answers(standing), strict=True))
        return head

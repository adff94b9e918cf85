"""Stopping as the papers do, when the data-dependent cost reaches the budget: to reproduce.

The number of answers then depends on private votes without any noise, so nothing that
comes out of here may be released. The ledger, the guarantee and the report say so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ballotine.errors import ParameterError
from ballotine.ledger import Charge, Ledger, Mode
from ballotine.ledger.answers import Answer, as_answers
from ballotine.noise import NoiseSource, QueryNoise
from ballotine.privacy.conversion import Method
from ballotine.privacy.orders import DEFAULT_ORDERS
from ballotine.types import FloatArray, IntArray, Labels
from ballotine.voting.answering import Answerer, Answers, Count
from ballotine.voting.individual import IndividualPlan
from ballotine.voting.mechanism import Bounds, Mechanism
from ballotine.voting.meter import Meter
from ballotine.voting.tally import Tallies

CHUNK = 256


@dataclass
class PaperAnswerer:
    """Answers in order and stops before a group's data-dependent ε passes its budget.

    Attributes:
        bounds: the analysis that decides when to stop.
        conversion: how its Rényi costs become ε.
        stopped: True once a budget has ended.
    """

    mechanism: Mechanism
    ledger: Ledger
    noise: NoiseSource
    classes: Labels
    run: str = ""
    plan: IndividualPlan | None = None
    bounds: Bounds = "published"
    conversion: Method = "classic"
    orders: FloatArray = field(default_factory=lambda: DEFAULT_ORDERS, repr=False)
    chunk: int = CHUNK
    stopped: bool = False

    def __post_init__(self) -> None:
        if self.ledger.terms.mode is not Mode.PAPER:
            raise ParameterError("this way of stopping needs a ledger opened in paper mode")
        self._door = Answerer(
            self.mechanism, self.ledger, self.noise, self.classes, self.run, self.chunk, self.plan
        )
        self._seen: dict[bytes, Answer] = {}
        self._meter = Meter(self.mechanism, self.bounds, self.orders, self.plan)

    def charge(self) -> Charge:
        """What one query costs each group, at worst."""
        return self._door.charge()

    def answer(
        self,
        ids: Sequence[bytes],
        count: Count,
        advance: Callable[[int], None] = lambda _: None,
    ) -> Answers:
        """Answer queries in order until all are answered or a budget ends.

        Args:
            ids: names of the queries.
            count: gives the ballots (or tallies) of the queries at some positions.
            advance: is told how many more queries are settled, for progress bars.
        """
        first: dict[bytes, int] = {}
        for position, query in enumerate(ids):
            first.setdefault(query, position)
        todo = [query for query in first if query not in self._seen]
        advance(len(ids) - len(todo))
        for start in range(0, len(todo), self.chunk):
            if self.stopped:
                break
            batch = todo[start : start + self.chunk]
            places = np.array([first[query] for query in batch], dtype=np.int64)
            answers = self._answer_batch(batch, count(places))
            self._seen.update(zip(batch, answers, strict=False))
            advance(len(batch))
        found = [self._seen.get(query, self._door.unasked()) for query in ids]
        return Answers(np.array(found, dtype=np.int64), self.classes)

    def _answer_batch(self, batch: list[bytes], votes: Tallies | IntArray) -> list[Answer]:
        charge = self._door.charge()
        self.ledger.reserve(batch, charge, run=self.run)
        tallies = self._door.tallies(votes, batch)
        drawn = self.mechanism.release(tallies, QueryNoise(self.noise, batch))
        known = self.ledger.lookup(batch)
        for place, query in enumerate(batch):
            if query in known:
                drawn[place] = known[query]
        head = self._affordable(tallies, drawn, self.ledger.turns(batch))
        self.stopped = head < len(batch)
        standing = self.ledger.record(
            batch[:head], drawn[:head], charge, self._door.realised, run=self.run
        )
        return as_answers(standing) if head else []

    def _affordable(self, tallies: Tallies, answers: IntArray, turns: IntArray) -> int:
        """How many of these queries come before the first that a budget does not allow."""
        costs = self._meter.add(tallies, answers, turns)
        budgets = dict(self.ledger.terms.budgets)
        readings = self._meter.readings(costs, self.ledger.budget.delta, self.conversion)
        over = [
            reading.unlock(reason="stopping as the papers do") > budgets[name].epsilon
            for name, reading in readings.items()
        ]
        exceeded = np.any(over, axis=0)
        return int(np.argmax(exceeded)) if exceeded.any() else len(exceeded)

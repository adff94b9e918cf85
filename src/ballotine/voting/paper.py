"""Paper mode: stop when the data-dependent cost reaches the budget, to reproduce papers.

The number of answers then depends on private votes without any noise, so no result of this mode
may be released. The ledger, the guarantee and the report say so.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ballotine.errors import InsufficientBudgetError
from ballotine.ledger.answers import Answer, as_answers
from ballotine.noise import QueryNoise
from ballotine.privacy.orders import DEFAULT_ORDERS
from ballotine.types import IntArray, Matrix
from ballotine.voting.meter import Meter
from ballotine.voting.session import Advance, Session
from ballotine.voting.tally import Tallies

CHUNK = 256


class PaperSession(Session):
    """Answers in order and stops before any group's data-dependent ε exceeds its budget.

    Attributes:
        stopped: True once a budget is exhausted.
    """

    def __init__(self, *parts: Any, **options: Any) -> None:
        super().__init__(*parts, **{**options, "chunk": CHUNK})
        self.stopped = False
        self._seen: dict[bytes, Answer] = {}
        self._meter = Meter(self.rules.plan, self.rules.bounds, DEFAULT_ORDERS)

    def _answer_all(
        self,
        todo: list[bytes],
        first: dict[bytes, int],
        rows: Matrix,
        known: dict[bytes, Answer],
        advance: Advance,
    ) -> None:
        """Meter every query again, in order, including those that were answered before."""
        stored = dict(known)
        known.clear()
        todo = [query for query in first if query not in self._seen]
        for start in range(0, len(todo), self.chunk):
            if self.stopped:
                break
            batch = todo[start : start + self.chunk]
            places = np.array([first[query] for query in batch], dtype=np.int64)
            self._metered(batch, rows[places], stored)
            advance(sum(query not in stored for query in batch))
        known.update({query: self._seen[query] for query in first if query in self._seen})

    def refusal(self) -> Exception:
        """Return the error that explains why no query was answered."""
        if self.ledger.spending().asked:
            return super().refusal()
        return InsufficientBudgetError(
            "by the papers' analysis, answering the first query costs more than the budget "
            "allows; nothing was charged. Use a larger budget or more noise",
            requested=math.inf,
            remaining=0.0,
        )

    def _metered(self, batch: list[bytes], rows: Matrix, stored: dict[bytes, Answer]) -> None:
        votes = self._votes(rows)
        self._tallied(votes, np.arange(len(batch)))
        if not self._seen and not self._begins(batch[0], rows[:1], stored):
            self.stopped = True
            return
        grant = self.ledger.reserve(batch, self.binding, run=self.run, seeded=self.noise.seeded)
        tallies = self._tallied(votes, grant.turns)
        drawn = self.rules.mechanism.release(tallies, QueryNoise(self.noise, grant.ids))
        for place, query in enumerate(grant.ids):
            if query in stored:
                drawn[place] = stored[query]
        head = self._affordable(self._meter, tallies, drawn, grant.turns)
        self.stopped = head < len(batch)
        standing = self.ledger.record(grant, drawn[:head], self.realised, run=self.run)
        self._seen.update(zip(grant.ids[:head], as_answers(standing), strict=True))

    def _begins(self, query: bytes, row: Matrix, stored: dict[bytes, Answer]) -> bool:
        """Return whether the budget affords one answer; if not, nothing is reserved."""
        if query in stored or self.ledger.pending([query]):
            return True
        spending = self.ledger.spending()
        number = spending.number_of(self.binding)
        turns = np.array([0 if number is None else spending.turns[number]])
        answered = self._constant(1, 1)
        meter = Meter(self.rules.plan, self.rules.bounds, DEFAULT_ORDERS)
        tallies = self._tallied(self._votes(row), turns)
        return self._affordable(meter, tallies, answered, turns) == 1

    def _affordable(
        self, meter: Meter, tallies: Tallies, answers: IntArray, turns: IntArray
    ) -> int:
        """Return how many of these queries come before the first that exceeds a budget."""
        costs = meter.add(tallies, answers, turns)
        budgets = dict(self.ledger.terms.budgets)
        delta = self.ledger.budget.delta
        readings = meter.readings(costs, delta, self.rules.conversion)
        over = [
            reading.unlock(reason="stopping as the papers do") > budgets[name].epsilon
            for name, reading in readings.items()
        ]
        exceeded = np.any(over, axis=0)
        return int(np.argmax(exceeded)) if exceeded.any() else len(exceeded)

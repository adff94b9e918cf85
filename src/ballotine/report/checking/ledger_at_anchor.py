"""The state of a ledger when a card or a receipt was made from it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from ballotine.ledger import Ledger, Spending
from ballotine.ledger.answers import Answer


@dataclass(frozen=True)
class LedgerAtAnchor:
    """The totals of a ledger up to a given entry.

    Attributes:
        spending: the totals.
        runs: how many runs had spent something.
        answers: how often each answer had been recorded.
    """

    spending: Spending
    runs: int
    answers: Counter[Answer]

    @classmethod
    def until(cls, ledger: Ledger, last: int) -> LedgerAtAnchor:
        """Replay the entries up to and including the given one."""
        entries = ledger.entries()
        spending = Spending.begin(next(entries))
        for entry in entries:
            if entry.seq > last:
                break
            spending.apply(entry)
        return cls(spending, len(spending.runs), ledger.answer_counts(last))

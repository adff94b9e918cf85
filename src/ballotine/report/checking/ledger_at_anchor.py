"""A ledger as it was when a card or a receipt was made from it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from ballotine.ledger import Ledger, Spending
from ballotine.ledger.answers import Answer


@dataclass(frozen=True)
class LedgerAtAnchor:
    """What the entries up to some entry add up to.

    Attributes:
        spending: the sum.
        runs: how many runs had spent.
        answers: how often each answer had been recorded.
    """

    spending: Spending
    runs: int
    answers: Counter[Answer]

    @classmethod
    def until(cls, ledger: Ledger, last: int) -> LedgerAtAnchor:
        """Add the entries up again, up to and with the given one."""
        entries = ledger.entries()
        spending = Spending.begin(next(entries))
        for entry in entries:
            if entry.seq > last:
                break
            spending.apply(entry)
        return cls(spending, len(spending.runs), ledger.answer_counts(last))

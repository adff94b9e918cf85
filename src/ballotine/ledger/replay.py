"""Following a ledger: what its entries add up to so far, and the head of its chain."""

from __future__ import annotations

from ballotine.errors import LedgerTamperedError
from ballotine.ledger import entries as chain
from ballotine.ledger.entries import Anchor, Entry
from ballotine.ledger.spending import Spending
from ballotine.ledger.store import View


class Replay:
    """An incremental replay of a ledger's entries.

    Attributes:
        spending: what the entries add up to.
        head: the last entry replayed.
        checkpoint: the number of the newest checkpoint, or 0.
    """

    spending: Spending

    def __init__(self) -> None:
        self.head = Anchor("", 0, chain.GENESIS)
        self.checkpoint = 0

    def catch_up(self, view: View) -> bool:
        """Apply the entries appended since the last call; returns whether terms were amended."""
        amended = False
        if not view.current and next(iter(view.rows(self.head.seq)), None) is not None:
            # Version 0.1 is still writing: its worst case applies after its last entry only.
            Replay.__init__(self)
        if self.head.seq == 0:
            self._start(view)
        for entry in chain.read_chain(view.rows(self.head.seq), self.head.seq, self.head.hash):
            self.apply(entry)
            amended = amended or entry.kind == "amend"
        if not view.current:  # show what it will be charged once it is migrated
            self.spending.assume_worst()
        return amended

    def apply(self, entry: Entry) -> None:
        """Apply the next entry."""
        self.spending.apply(entry)
        self._advance(entry)

    def _start(self, view: View) -> None:
        """Start at the newest checkpoint, or at the first entry."""
        found = view.newest("checkpoint")
        if found is not None:
            entry = chain.read(found)
            self.spending = Spending.from_state(entry.payload)
            self._advance(entry)
            return
        first = next(iter(view.rows()), None)
        if first is None:
            raise LedgerTamperedError("the ledger's first entry is missing")
        entry = next(chain.read_chain([first], 0, chain.GENESIS))
        self.spending = Spending.begin(entry)
        self._advance(entry)

    def _advance(self, entry: Entry) -> None:
        self.head = Anchor(self.spending.identity, entry.seq, entry.hash)
        if entry.kind == "checkpoint":
            self.checkpoint = entry.seq

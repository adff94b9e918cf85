"""Keeping up with a ledger: what its entries add up to, and where its chain stands."""

from __future__ import annotations

from ballotine.errors import LedgerTamperedError
from ballotine.ledger import entries as chain
from ballotine.ledger.entries import Anchor, Entry
from ballotine.ledger.spending import Spending
from ballotine.ledger.store import View


class Replay:
    """A replay that goes on from where it stood.

    Attributes:
        spending: what the entries add up to.
        head: the last of them.
        checkpoint: the number of the newest checkpoint, or 0.
    """

    spending: Spending

    def __init__(self) -> None:
        self.head = Anchor("", 0, chain.GENESIS)
        self.checkpoint = 0

    def follow(self, view: View) -> bool:
        """Take what was appended since the last look; returns whether terms were amended."""
        amended = False
        if not view.current and next(iter(view.rows(self.head.seq)), None) is not None:
            Replay.__init__(self)  # version 0.1 goes on: doubts come after its last entry
        if self.head.seq == 0:
            self._begin(view)
        for entry in chain.chained(view.rows(self.head.seq), self.head.seq, self.head.hash):
            self.take(entry)
            amended = amended or entry.kind == "amend"
        if not view.current:  # shown as it will be charged once it is brought up to date
            self.spending.distrust()
        return amended

    def take(self, entry: Entry) -> None:
        """Take one entry, the next one, into account."""
        self.spending.apply(entry)
        self._stand(entry)

    def _begin(self, view: View) -> None:
        """At the newest checkpoint, or at the first entry."""
        found = view.newest("checkpoint")
        if found is not None:
            entry = chain.read(found)
            self.spending = Spending.from_state(entry.payload)
            self._stand(entry)
            return
        first = next(iter(view.rows()), None)
        if first is None:
            raise LedgerTamperedError("the ledger has lost its first entry")
        entry = next(chain.chained([first], 0, chain.GENESIS))
        self.spending = Spending.begin(entry)
        self._stand(entry)

    def _stand(self, entry: Entry) -> None:
        self.head = Anchor(self.spending.identity, entry.seq, entry.hash)
        if entry.kind == "checkpoint":
            self.checkpoint = entry.seq

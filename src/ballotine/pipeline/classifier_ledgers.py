"""The ledgers of one `PateClassifier`, so that its guarantee covers all that it has released."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ballotine.data.identity import Records
from ballotine.errors import LedgerMismatchError
from ballotine.ledger import Ledger
from ballotine.ledger.terms import Promise
from ballotine.noise import NoiseSource


@dataclass
class ClassifierLedgers:
    """The ledgers that a classifier has in memory, and those that it has used.

    Attributes:
        held: ledgers in memory, by a fingerprint of their records.
        released: for every ledger, in memory or in a file, that paid for a release: its
            identity, and whether all noise was seeded.
    """

    held: dict[str, Ledger] = field(default_factory=dict)
    released: dict[str, bool] = field(default_factory=dict)

    def note_release(self, ledger: Ledger, noise: NoiseSource) -> None:
        """Note that this ledger is about to pay for a release."""
        before = self.released.get(ledger.identity, True)
        self.released[ledger.identity] = before and noise.seeded

    def open(
        self, path: str | Path | None, promise: Promise, records: Records, *, seeded: bool
    ) -> Ledger:
        """Open the ledger in a file, or the one in memory, which a second fit continues.

        Args:
            path: the file, or None.
            promise: the budget.
            records: the records of the data set.
            seeded: whether the noise comes from a seed. An experiment whose noise was always
                seeded may use many ledgers: its guarantee says so.
        """
        if path is not None:
            self._require_all(Ledger.identity_at(path) if self.released else None, seeded)
            return Ledger.open(path, promise, records.fingerprint)
        name = records.fingerprint(b"this object's records")
        known = self.held.get(name)
        if known is None and self.held and not seeded:
            raise LedgerMismatchError(
                "this object's ledger belongs to other records; use a new PateClassifier for these"
            )
        self._require_all(None if known is None else known.identity, seeded)
        if known is None:
            known = self.held[name] = Ledger.open(None, promise, records.fingerprint)
        else:
            known.agree(promise)
        return known

    def _require_all(self, identity: str | None, seeded: bool) -> None:
        """Refuse a ledger that does not count everything released so far."""
        others = [all_seeded for name, all_seeded in self.released.items() if name != identity]
        if others and not (seeded and all(others)):
            raise LedgerMismatchError(
                "this object has released answers through another ledger, and this one would not "
                "count them; continue with that ledger, or use a new PateClassifier and add up the "
                "two guarantees"
            )

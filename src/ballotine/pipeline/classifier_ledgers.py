"""The ledgers of one estimator, so that its guarantee counts everything it has released."""

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
    """The ledgers that an estimator keeps in memory, and all that it has released through.

    Attributes:
        held: ledgers in memory, by a fingerprint of their records.
        released: the ledgers, in memory or in files, that something was released through, by
            identity, and whether all of its noise was seeded.
    """

    held: dict[str, Ledger] = field(default_factory=dict)
    released: dict[str, bool] = field(default_factory=dict)

    def note_release(self, ledger: Ledger, noise: NoiseSource) -> None:
        """Note that something is about to be released through this ledger."""
        before = self.released.get(ledger.identity, True)
        self.released[ledger.identity] = before and noise.seeded

    def open(
        self, path: str | Path | None, promise: Promise, records: Records, *, seeded: bool
    ) -> Ledger:
        """The ledger in a file, or the one in memory, which a second fit continues.

        Args:
            path: the file, or None.
            promise: the budget that is asked for.
            records: which the ledger is about.
            seeded: whether noise comes from a seed. An experiment whose noise was always seeded
                may use many ledgers: its guarantee says so.
        """
        if path is not None:
            self._require_all(Ledger.identity_at(path) if self.released else None, seeded)
            return Ledger.open(path, promise, records.fingerprint)
        name = records.fingerprint(b"this object's records")
        known = self.held.get(name)
        if known is None and self.held and not seeded:
            raise LedgerMismatchError(
                "this object's ledger belongs to other records; make a new PateClassifier for these"
            )
        self._require_all(None if known is None else known.identity, seeded)
        if known is None:
            known = self.held[name] = Ledger.open(None, promise, records.fingerprint)
        else:
            known.agree(promise)
        return known

    def _require_all(self, identity: str | None, seeded: bool) -> None:
        """Refuse a ledger that does not hold everything released so far."""
        others = [all_seeded for name, all_seeded in self.released.items() if name != identity]
        if others and not (seeded and all(others)):
            raise LedgerMismatchError(
                "this object has released answers through another ledger, and this one would not "
                "count them; continue with that ledger, or make a new PateClassifier and add the "
                "two up"
            )

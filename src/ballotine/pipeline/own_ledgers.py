"""The ledgers of one estimator: what it has released is never left out of what it prints."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ballotine.data.identity import Records
from ballotine.errors import LedgerMismatchError
from ballotine.ledger import Ledger
from ballotine.ledger.terms import Promise
from ballotine.noise import NoiseSource


@dataclass
class OwnLedgers:
    """Ledgers in memory that live with an object, and all through which it has released.

    Attributes:
        held: those in memory, by a name of their records.
        released: names of ledgers, files or not, and whether all noise was seeded.
    """

    held: dict[str, Ledger] = field(default_factory=dict)
    released: dict[str, bool] = field(default_factory=dict)

    def note_release(self, ledger: Ledger, noise: NoiseSource) -> None:
        """The object is about to release something."""
        before = self.released.get(ledger.identity, True)
        self.released[ledger.identity] = before and noise.seeded

    def open(
        self, path: str | Path | None, promise: Promise, records: Records, *, seeded: bool
    ) -> Ledger:
        """The file's, or the object's own, which a second fit goes on with.

        Args:
            path: the file, or None.
            promise: what is asked for.
            records: whose ledger it is.
            seeded: whether noise comes from a seed. Experiments whose noise was seeded from the
                beginning may go through many ledgers: their guarantees say so.
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
        """Whatever was released is in this ledger."""
        others = [all_seeded for name, all_seeded in self.released.items() if name != identity]
        if others and not (seeded and all(others)):
            raise LedgerMismatchError(
                "this object has released answers through another ledger, and this one would not "
                "count them; go on with that ledger, or make a new PateClassifier and add the two "
                "up"
            )

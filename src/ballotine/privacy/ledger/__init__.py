"""The ledger: durable, append-only, tamper-evident; one per data set."""

from ballotine.privacy.ledger.book import Fingerprint, Ledger
from ballotine.privacy.ledger.chain import Anchor, Entry
from ballotine.privacy.ledger.spending import Events, Spending
from ballotine.privacy.ledger.verify import Verified, read_anchor, verify

__all__ = [
    "Anchor",
    "Entry",
    "Events",
    "Fingerprint",
    "Ledger",
    "Spending",
    "Verified",
    "read_anchor",
    "verify",
]

"""The ledger: durable, append-only, tamper-evident; one per data set."""

from ballotine.ledger.book import Fingerprint, Ledger
from ballotine.ledger.chain import Anchor, Entry
from ballotine.ledger.charge import EVERYONE, Charge, Events, Share
from ballotine.ledger.spending import Spending
from ballotine.ledger.terms import Mode, Terms
from ballotine.ledger.verify import Verified, read_anchor, verify

__all__ = [
    "EVERYONE",
    "Anchor",
    "Charge",
    "Entry",
    "Events",
    "Fingerprint",
    "Ledger",
    "Mode",
    "Share",
    "Spending",
    "Terms",
    "Verified",
    "read_anchor",
    "verify",
]

"""The ledger: durable, append-only, tamper-evident; one per data set."""

from ballotine.privacy.ledger.book import Fingerprint, Ledger
from ballotine.privacy.ledger.chain import Anchor, Entry
from ballotine.privacy.ledger.charge import EVERYONE, Charge, Events, Share
from ballotine.privacy.ledger.spending import Spending
from ballotine.privacy.ledger.terms import Mode, Terms
from ballotine.privacy.ledger.verify import Verified, read_anchor, verify

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

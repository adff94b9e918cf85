"""The ledger: durable, append-only, tamper-evident; one per data set.

`entries` are chained, a `store` keeps them, `spending` says what they add up to, and `book`
decides what may be written.
"""

from ballotine.ledger.binding import Binding, pool_digest
from ballotine.ledger.charge import EVERYONE, Charge, Events, GroupCharge
from ballotine.ledger.entries import Anchor, Entry
from ballotine.ledger.grant import Grant
from ballotine.ledger.ledger import Ledger
from ballotine.ledger.prepare import Fingerprint
from ballotine.ledger.spending import Spending
from ballotine.ledger.terms import Mode, Promise, Terms
from ballotine.ledger.verify import Verified, read_anchor, verify

__all__ = [
    "EVERYONE",
    "Anchor",
    "Binding",
    "Charge",
    "Entry",
    "Events",
    "Fingerprint",
    "Grant",
    "GroupCharge",
    "Ledger",
    "Mode",
    "Promise",
    "Spending",
    "Terms",
    "Verified",
    "pool_digest",
    "read_anchor",
    "verify",
]

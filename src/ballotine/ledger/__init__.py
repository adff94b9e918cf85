"""The ledger: durable, append-only and tamper-evident; one per data set.

A `store` keeps the `entries`, which form a hash chain. `spending` replays them into `totals`, and
`ledger` decides what may be appended.
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

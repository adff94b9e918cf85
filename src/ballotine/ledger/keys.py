"""The key under which a ledger remembers who is in which group.

A hash of a record's group is no secret without a key: there are few groups to guess from. The
key is made when a ledger first hears of groups, lies in the holder's own folder and never
travels with the ledger. Who has the ledger alone learns nothing about anybody's group.
"""

from __future__ import annotations

import secrets

from ballotine.errors import HolderKeyError, LedgerError
from ballotine.holder import create_private, holder_folder, read_private
from ballotine.ledger.ledger import Ledger

BYTES = 32


def group_key(ledger: Ledger) -> bytes:
    """The key of this ledger's groups; made on first use, never made twice."""
    if ledger.path is None:  # lives and dies with this process
        return ledger.keyed(b"groups")
    path = holder_folder() / "ledgers" / f"{ledger.identity}.key"
    if not path.exists():
        if any(binding.groups for binding in ledger.spending().bindings.values()):
            raise LedgerError(
                f"the ledger {ledger.path} has charged groups of records before, and the key by "
                f"which it knows them is not at {path}: bring that file from where the ledger "
                "was used, or nobody can tell whether records changed their group"
            )
        try:
            create_private(path, secrets.token_bytes(BYTES))
        except HolderKeyError:
            if not path.exists():  # else another process was first, and its key is the key
                raise
    key = read_private(path)
    if len(key) != BYTES:
        raise LedgerError(f"{path} does not hold a key; restore it from a copy")
    return key

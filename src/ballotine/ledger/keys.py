"""The key with which a ledger's group assignments are hashed.

Without a key, hashes of records' groups could be guessed, because there are few groups. The key is
created when a ledger first charges groups, is kept in the holder's own folder and is never stored
with the ledger. Whoever has only the ledger learns nothing about anybody's group.
"""

from __future__ import annotations

import secrets

from ballotine.errors import HolderKeyError, LedgerError
from ballotine.holder import create_private, holder_folder, read_private
from ballotine.ledger.ledger import Ledger

BYTES = 32


def group_key(ledger: Ledger) -> bytes:
    """The key of this ledger's groups, created on first use."""
    if ledger.path is None:  # in memory: no other process needs the key
        return ledger.keyed(b"groups")
    path = holder_folder() / "ledgers" / f"{ledger.identity}.key"
    if not path.exists():
        if any(binding.groups for binding in ledger.spending().bindings.values()):
            raise LedgerError(
                f"the ledger {ledger.path} has charged groups of records before, but its key is "
                f"not at {path}: copy that file from the machine where the ledger was used; "
                "without it nobody can tell whether records changed groups"
            )
        try:
            create_private(path, secrets.token_bytes(BYTES))
        except HolderKeyError:
            if not path.exists():  # otherwise another process created it first
                raise
    key = read_private(path)
    if len(key) != BYTES:
        raise LedgerError(f"{path} does not hold a key; restore it from a backup")
    return key

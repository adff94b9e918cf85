"""Preparing a store for use: creating a ledger, migrating it, or amending unused terms."""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Callable

from ballotine.errors import LedgerError
from ballotine.ledger import entries as chain
from ballotine.ledger.entries import Anchor
from ballotine.ledger.store import Store, Transaction, View
from ballotine.ledger.terms import Promise, Terms

Fingerprint = Callable[[bytes], str]
"""Returns the fingerprint of the private data under a salt that only the ledger holds."""

FORMAT = 2


def prepare_store(
    store: Store,
    promise: Promise | None = None,
    fingerprint: Fingerprint | None = None,
    settled: Terms | None = None,
) -> None:
    """Create a new ledger, migrate an old one, or amend one that has paid for nothing.

    Args:
        store: where the ledger is kept.
        promise: what it must promise; None accepts any existing terms.
        fingerprint: of its data, for a new ledger.
        settled: the settled terms of the promise, if known already.
    """
    with store.reading() as view:
        ready = not view.empty and view.current
        terms = _unspent_terms(view) if ready else None
    if promise is not None and (not ready or (terms and promise.disagreement(terms))):
        settled = settled or promise.settle()  # may be slow, so not inside the transaction
    elif ready:
        return
    with store.writing() as tx:
        if tx.empty:
            if settled is None:
                raise LedgerError(f"there is no ledger at {store.path}")
            tx.upgrade(1)
            _write_first_entry(tx, settled, fingerprint)
            return
        head = _last(tx)
        if not tx.current:
            row = chain.next_row(head, "migrate", {"format": FORMAT})
            tx.append(row)
            tx.upgrade(row[0])
            head = Anchor(head.ledger, row[0], row[5])
        terms = _unspent_terms(tx)
        if promise and settled and terms and promise.disagreement(terms):
            tx.append(chain.next_row(head, "amend", settled.to_dict()))


def _unspent_terms(view: View) -> Terms | None:
    """The terms of a ledger that has paid for nothing; None if it has."""
    if view.newest("reserve") is not None:
        return None
    found = view.newest("amend") or view.row(1)
    return None if found is None else Terms.from_dict(chain.read(found).payload)


def _last(view: View) -> Anchor:
    last = (0, chain.GENESIS)
    for row in view.rows():
        last = (row[0], row[5])
    return Anchor("", *last)


def _write_first_entry(tx: Transaction, terms: Terms, fingerprint: Fingerprint | None) -> None:
    """Write the terms, and the link to the data set."""
    salt = secrets.token_bytes(32)
    mark = "" if fingerprint is None else fingerprint(salt)
    tx.set_meta("salt", salt)
    tx.set_meta("fingerprint", mark.encode())
    payload = {
        **terms.to_dict(),
        "data": chain.digest_of([salt, mark.encode()]),
        "format": FORMAT,
        "ledger": str(uuid.uuid4()),
    }
    tx.append(chain.next_row(Anchor("", 0, chain.GENESIS), "open", payload))

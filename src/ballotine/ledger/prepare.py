"""A ledger's beginnings: founding it, bringing it to this version, another budget before use."""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Callable

from ballotine.errors import LedgerError
from ballotine.ledger import entries as chain
from ballotine.ledger.entries import Anchor
from ballotine.ledger.store import Pen, Store, View
from ballotine.ledger.terms import Promise, Terms

Fingerprint = Callable[[bytes], str]
"""Gives the fingerprint of the private data under a salt that only the ledger knows."""

FORMAT = 2


def bring_up_to_date(
    store: Store,
    promise: Promise | None = None,
    fingerprint: Fingerprint | None = None,
    settled: Terms | None = None,
) -> None:
    """Found a new ledger, bring an old one to this version, amend one that paid for nothing.

    Args:
        store: its home.
        promise: what is asked of it; None takes it as it is.
        fingerprint: of its data, for a new one.
        settled: the terms of that promise, where they are known already.
    """
    with store.reading() as view:
        ready = not view.empty and view.current
        terms = _unspent_terms(view) if ready else None
    if promise is not None and (not ready or (terms and promise.disagreement(terms))):
        settled = settled or promise.settle()  # this may take a while: nobody waits for us
    elif ready:
        return
    with store.writing() as pen:
        if pen.empty:
            if settled is None:
                raise LedgerError(f"there is no ledger at {store.path}")
            pen.upgrade(1)
            _found(pen, settled, fingerprint)
            return
        head = _last(pen)
        if not pen.current:
            row = chain.following(head, "migrate", {"format": FORMAT})
            pen.append(row)
            pen.upgrade(row[0])
            head = Anchor(head.ledger, row[0], row[5])
        terms = _unspent_terms(pen)
        if promise and settled and terms and promise.disagreement(terms):
            pen.append(chain.following(head, "amend", settled.to_dict()))


def _unspent_terms(view: View) -> Terms | None:
    """The terms of a ledger that has paid for nothing; None for any other."""
    if view.newest("reserve") is not None:
        return None
    found = view.newest("amend") or view.row(1)
    return None if found is None else Terms.from_dict(chain.read(found).payload)


def _last(view: View) -> Anchor:
    last = (0, chain.GENESIS)
    for row in view.rows():
        last = (row[0], row[5])
    return Anchor("", *last)


def _found(pen: Pen, terms: Terms, fingerprint: Fingerprint | None) -> None:
    """Write the first entry: the promise, and whose data it is about."""
    salt = secrets.token_bytes(32)
    mark = "" if fingerprint is None else fingerprint(salt)
    pen.set_meta("salt", salt)
    pen.set_meta("fingerprint", mark.encode())
    payload = {
        **terms.to_dict(),
        "data": chain.digest_of([salt, mark.encode()]),
        "format": FORMAT,
        "ledger": str(uuid.uuid4()),
    }
    pen.append(chain.following(Anchor("", 0, chain.GENESIS), "open", payload))

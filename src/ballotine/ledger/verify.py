"""Verifying a whole ledger, and comparing it with the anchor of a card.

Everything is read from one snapshot, entry by entry, so others may write meanwhile and memory use
does not grow with the ledger.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from ballotine.errors import LedgerError, LedgerTamperedError
from ballotine.ledger import entries as chain
from ballotine.ledger.binding import charge_from_json, reservation_digest
from ballotine.ledger.charge import Charge
from ballotine.ledger.entries import Anchor, Entry
from ballotine.ledger.ledger import Ledger
from ballotine.ledger.spending import Spending
from ballotine.ledger.store import Stored, View
from ballotine.ledger.terms import Mode


@dataclass(frozen=True)
class Verified:
    """What a successful verification covered."""

    entries: int
    queries: int
    anchored: bool
    head: Anchor


def verify(
    ledger: Ledger,
    anchor: Anchor | None = None,
    watch: Callable[[Spending, Entry], None] = lambda *_: None,
) -> Verified:
    """Raise LedgerTamperedError unless the ledger is consistent.

    The hash chain reveals edits of entries, the digests in it edits of queries and answers, and
    the anchor of a card a truncated ledger or an older copy.

    Args:
        ledger: the ledger to verify.
        anchor: the head of the ledger when a card was written.
        watch: called after each entry, with the totals so far.
    """
    ledger.store.check()
    with ledger.store.reading() as view:
        audit = _Audit(view, anchor)
        for entry in chain.read_chain(view.rows(), 0, chain.GENESIS):
            audit.take(entry)
            watch(audit.spending, entry)
        audit.finish()
    return Verified(audit.seq, audit.queries, anchor is not None, audit.head)


def read_anchor(card: Path) -> Anchor:
    """Read the anchor of a privacy card (card.json)."""
    try:
        stated = json.loads(card.read_text(encoding="utf-8"))["ledger"]
        return Anchor(str(stated["id"]), int(stated["seq"]), str(stated["hash"]))
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as problem:
        raise LedgerError(f"{card} is not a readable privacy card") from problem


class _Audit:
    """Replays entries and checks them against the stored queries."""

    def __init__(self, view: View, anchor: Anchor | None) -> None:
        self._view = view
        self._anchor = anchor
        self._marked = {
            "reserve": _QueriesByMark(view.marked("reserved")),
            "record": _QueriesByMark(view.marked("recorded")),
            "void": _QueriesByMark(view.marked("fenced")),
            "undrawn": _QueriesByMark(view.marked("idle")),
        }
        self.spending: Spending
        self.head = Anchor("", 0, chain.GENESIS)
        self.queries = self._answers = self._answered = 0

    @property
    def seq(self) -> int:
        return self.head.seq

    def take(self, entry: Entry) -> None:
        if entry.seq == 1:
            self.spending = Spending.begin(entry)
            self._check_data(entry)
        if entry.kind == "checkpoint" and entry.payload != json.loads(
            chain.canonical(self.spending.to_state())
        ):
            raise LedgerTamperedError(
                f"checkpoint {entry.seq} of the ledger differs from what was spent"
            )
        self.spending.apply(entry)
        self._check_budget(entry)
        self._check_queries(entry)
        self.head = Anchor(self.spending.identity, entry.seq, entry.hash)
        if self._anchor is not None and self._anchor.seq == entry.seq:
            self._check_anchor(self._anchor)

    def finish(self) -> None:
        """Raise if queries are left over, or if the card is newer than the ledger."""
        if self.seq == 0:
            raise LedgerTamperedError("the ledger's first entry is missing")
        if any(marked.left for marked in self._marked.values()) or self._answers != self._answered:
            raise LedgerTamperedError("the ledger contains queries that no entry accounts for")
        if self._anchor is not None and self._anchor.seq > self.seq:
            self._check_owner(self._anchor)
            raise LedgerTamperedError(
                f"the ledger is older than its card: it ends at entry {self.seq}, but the card "
                f"names entry {self._anchor.seq}; it was truncated or restored from an old copy"
            )

    def _check_anchor(self, anchor: Anchor) -> None:
        self._check_owner(anchor)
        if anchor.hash != self.head.hash:
            raise LedgerTamperedError("the ledger's history differs from the one its card names")

    def _check_owner(self, anchor: Anchor) -> None:
        if anchor.ledger != self.spending.identity:
            raise LedgerTamperedError("the card belongs to another ledger")

    def _check_data(self, entry: Entry) -> None:
        facts = [self._view.meta(key) for key in ("salt", "fingerprint")]
        found = chain.digest_of([fact for fact in facts if fact is not None])
        if None in facts or entry.payload.get("data") != found:
            raise LedgerTamperedError("the ledger's link to its data set was changed")

    def _check_budget(self, entry: Entry) -> None:
        """Raise if a payment took the cost above the budget."""
        pays = entry.kind == "reserve" or (entry.kind == "publish" and "account" in entry.payload)
        if not pays or self.spending.terms.mode is Mode.PAPER:
            return
        if any(account.exceeded() for account in self.spending.accounts.values()):
            raise LedgerTamperedError(f"entry {entry.seq} of the ledger exceeds its budget")

    def _check_queries(self, entry: Entry) -> None:
        if entry.kind == "migrate":  # queries pending at that point are fenced, and stay charged
            self._marked["void"].take(entry.seq)
        if entry.kind not in self._marked:
            return
        rows = self._marked[entry.kind].take(entry.seq)
        if entry.kind == "record":
            self._answered += len(rows)
            digest = chain.digest_of([row[1] + bytes(row[4] or b"") for row in rows])
        else:
            digest = reservation_digest([(row[1], row[3]) for row in rows], self._charge(entry))
        if entry.kind == "reserve":
            self.queries += len(rows)
            self._answers += sum(row[4] is not None for row in rows)
        key = "answers" if entry.kind == "record" else "ids"
        account = entry.payload.get("account", 0)
        if (
            len(rows) != entry.payload["queries"]
            or digest != entry.payload[key]
            or any(row[2] != account for row in rows)
            or not self._in_turn(entry, rows)
        ):
            raise LedgerTamperedError(
                f"queries or answers of ledger entry {entry.seq} were changed"
            )

    def _in_turn(self, entry: Entry, rows: list[Stored]) -> bool:
        """Whether turns are consecutive; a digest covers them only if teachers take turns."""
        if entry.kind != "reserve" or "account" not in entry.payload:  # version 0.1
            return True
        end = self.spending.turns[entry.payload["account"]]
        return sorted(row[3] for row in rows) == list(range(end - len(rows), end))

    def _charge(self, entry: Entry) -> Charge:
        if "account" in entry.payload:
            return self.spending.bindings[entry.payload["account"]].charge
        return charge_from_json(entry.payload["events"])


class _QueriesByMark:
    """Queries that carry a mark, taken mark by mark."""

    def __init__(self, rows: Iterator[Stored]) -> None:
        self._groups = groupby(rows, key=itemgetter(0))
        self._next: tuple[int, list[Stored]] | None = None
        self._step()

    @property
    def left(self) -> bool:
        return self._next is not None

    def take(self, mark: int) -> list[Stored]:
        if self._next is None or self._next[0] != mark:
            return []
        rows = self._next[1]
        self._step()
        return rows

    def _step(self) -> None:
        found = next(self._groups, None)
        self._next = None if found is None else (found[0], list(found[1]))

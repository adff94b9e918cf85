"""Checking a whole ledger, and holding it against a card that was issued from it."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ballotine.errors import LedgerError, LedgerTamperedError
from ballotine.ledger import chain, schema
from ballotine.ledger.book import Ledger
from ballotine.ledger.chain import Anchor, Entry
from ballotine.ledger.spending import Spending, charge_from, reservation_digest
from ballotine.ledger.terms import Mode


@dataclass(frozen=True)
class Verified:
    """What a successful verification looked at."""

    entries: int
    queries: int
    anchored: bool
    head: Anchor


def verify(ledger: Ledger, anchor: Anchor | None = None) -> Verified:
    """Raise LedgerTamperedError unless every part of the ledger fits every other.

    The chain shows edits of entries; the digests in it show edits of queries and
    answers; the anchor of a card shows a truncated or restored older copy.
    """
    entries = list(ledger.entries())
    connection = ledger._connection
    with schema.translated(ledger.path):
        _check_first(ledger, entries)
        _check_budget(ledger, entries)
        _check_queries(connection, entries)
    if anchor is not None:
        check_anchor(ledger, entries, anchor)
    queries = connection.execute("SELECT count(*) FROM queries").fetchone()[0]
    return Verified(len(entries), int(queries), anchor is not None, ledger.head())


def read_anchor(card: Path) -> Anchor:
    """The anchor that a privacy card (card.json) carries."""
    try:
        stated = json.loads(card.read_text(encoding="utf-8"))["ledger"]
        return Anchor(str(stated["id"]), int(stated["seq"]), str(stated["hash"]))
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise LedgerError(f"{card} is not a readable privacy card") from problem


def check_anchor(ledger: Ledger, entries: list[Entry], anchor: Anchor) -> None:
    """The ledger must still contain the entry that a card names."""
    if anchor.ledger != ledger.identity:
        raise LedgerTamperedError("the card was issued from another ledger than this one")
    if anchor.seq > len(entries):
        raise LedgerTamperedError(
            f"the ledger is older than its card: it ends at entry {len(entries)}, the card saw "
            f"entry {anchor.seq}; it was truncated or restored from an old copy"
        )
    if entries[anchor.seq - 1].hash != anchor.hash:
        raise LedgerTamperedError("the ledger's history differs from the one its card saw")


def _check_first(ledger: Ledger, entries: list[Entry]) -> None:
    stated = chain.digest_of([ledger._meta("salt"), ledger._meta("fingerprint")])
    if entries[0].kind != "open" or entries[0].payload["data"] != stated:
        raise LedgerTamperedError("the ledger's link to its data set was changed")


def _check_budget(ledger: Ledger, entries: list[Entry]) -> None:
    """Replay: at no entry may the cost have been above the promise."""
    spending = Spending(ledger.terms)
    for entry in entries:
        spending.apply(entry)
        if entry.kind != "reserve" or ledger.terms.mode is Mode.PAPER:
            continue
        if any(account.exceeded() for account in spending.accounts.values()):
            raise LedgerTamperedError(f"entry {entry.seq} of the ledger exceeds its budget")


def _check_queries(connection: sqlite3.Connection, entries: list[Entry]) -> None:
    reserved = _grouped(connection, "reserved", "turn")
    recorded = _grouped(connection, "recorded", "answer")
    for entry in entries:
        if entry.kind == "reserve":
            rows = reserved.pop(entry.seq, [])
            charge = charge_from(entry.payload["events"])
            _check_group(entry, len(rows), reservation_digest(rows, charge), "ids")
        elif entry.kind == "record":
            rows = recorded.pop(entry.seq, [])
            digest = chain.digest_of(sorted(query + bytes(answer or b"") for query, answer in rows))
            _check_group(entry, len(rows), digest, "answers")
    stray = connection.execute(
        "SELECT count(*) FROM queries WHERE (answer IS NULL) != (recorded IS NULL)"
    ).fetchone()[0]
    if reserved or recorded or stray:
        raise LedgerTamperedError("the ledger holds queries that no entry accounts for")


def _grouped(
    connection: sqlite3.Connection, column: str, value: str
) -> dict[int, list[tuple[bytes, Any]]]:
    groups: dict[int, list[tuple[bytes, Any]]] = {}
    rows = connection.execute(
        f"SELECT {column}, id, {value} FROM queries WHERE {column} IS NOT NULL"
    )
    for seq, query, rest in rows:
        groups.setdefault(seq, []).append((bytes(query), rest))
    return groups


def _check_group(entry: Entry, number: int, digest: str, key: str) -> None:
    if number != entry.payload["queries"] or digest != entry.payload[key]:
        raise LedgerTamperedError(f"queries or answers of ledger entry {entry.seq} were changed")

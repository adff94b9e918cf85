"""The hash chain over a ledger's entries: what makes an edit visible."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from ballotine.errors import LedgerTamperedError

GENESIS = "0" * 64


@dataclass(frozen=True)
class Entry:
    """One line of the ledger."""

    seq: int
    kind: str
    time: str
    payload: dict[str, Any]
    hash: str


@dataclass(frozen=True)
class Anchor:
    """Where a ledger stood when a card was written: a later ledger must contain it."""

    ledger: str
    seq: int
    hash: str


def canonical(payload: dict[str, Any]) -> str:
    """One text per payload, so that one payload has one hash."""
    return json.dumps(payload, sort_keys=True, separators=(",", ":"), allow_nan=False)


def entry_hash(previous: str, seq: int, kind: str, time: str, payload: str) -> str:
    """SHA-256 over the previous hash and everything the entry says."""
    parts = [previous, str(seq), kind, time, payload]
    text = "\0".join(f"{len(part)}:{part}" for part in parts)
    return hashlib.sha256(text.encode()).hexdigest()


def append(connection: sqlite3.Connection, head: Anchor, kind: str, payload: dict[str, Any]) -> int:
    """Add an entry after ``head``; the caller holds the write transaction."""
    seq = head.seq + 1
    time = datetime.now(UTC).isoformat(timespec="seconds")
    text = canonical(payload)
    digest = entry_hash(head.hash, seq, kind, time, text)
    connection.execute(
        "INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?)", (seq, kind, time, text, head.hash, digest)
    )
    return seq


def read(connection: sqlite3.Connection, after: int, previous: str) -> Iterator[Entry]:
    """Entries after ``after``, each checked against the hash before it."""
    rows = connection.execute("SELECT * FROM entries WHERE seq > ? ORDER BY seq", (after,))
    for position, (seq, kind, time, text, link, digest) in enumerate(rows, start=after + 1):
        if seq != position or link != previous or digest != entry_hash(link, seq, kind, time, text):
            raise LedgerTamperedError(
                f"the ledger was changed by hand: entry {position} does not fit the chain; "
                "restore the untouched file, and answer nothing from this one"
            )
        yield Entry(seq, kind, time, json.loads(text), digest)
        previous = digest


def digest_of(parts: Iterable[bytes]) -> str:
    """SHA-256 of a sequence of byte strings, lengths included."""
    running = hashlib.sha256()
    for part in parts:
        running.update(len(part).to_bytes(8, "big"))
        running.update(part)
    return running.hexdigest()

"""Entries and the hash chain that makes edits to them detectable."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeAlias

from ballotine.errors import LedgerTamperedError

GENESIS = "0" * 64

Row: TypeAlias = tuple[int, str, str, str, str, str]
"""An entry as stored: seq, kind, time, payload, previous hash, hash."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of the ledger."""

    seq: int
    kind: str
    time: str
    payload: dict[str, Any]
    hash: str

    @property
    def seeded(self) -> bool:
        """Whether the noise that it pays for or records came from a seed."""
        fields = self.payload["statement"] if self.kind == "publish" else self.payload
        return self.kind in ("reserve", "record", "publish") and bool(fields.get("seeded"))

    def to_dict(self) -> dict[str, Any]:
        """The entry as JSON values, for archives and auditors."""
        return {name: getattr(self, name) for name in ("seq", "kind", "time", "payload", "hash")}


@dataclass(frozen=True)
class Anchor:
    """The head of a ledger when a card was written; later states must contain this entry."""

    ledger: str
    seq: int
    hash: str


def canonical(payload: dict[str, Any]) -> str:
    """The payload as canonical JSON, so that equal payloads have equal hashes."""
    return json.dumps(payload, sort_keys=True, separators=(",", ":"), allow_nan=False)


def entry_hash(previous: str, seq: int, kind: str, time: str, payload: str) -> str:
    """SHA-256 of the previous hash and all fields of the entry."""
    parts = (previous, str(seq), kind, time, payload)
    text = "\0".join([f"{len(part)}:{part}" for part in parts])
    return hashlib.sha256(text.encode()).hexdigest()


def next_row(head: Anchor, kind: str, payload: dict[str, Any]) -> Row:
    """Build the entry that follows ``head``."""
    seq = head.seq + 1
    time = datetime.now(UTC).isoformat(timespec="seconds")
    text = canonical(payload)
    return seq, kind, time, text, head.hash, entry_hash(head.hash, seq, kind, time, text)


def read(row: Row) -> Entry:
    """Read a row, and check its hash."""
    seq, kind, time, text, previous, digest = row
    if digest != entry_hash(previous, seq, kind, time, text):
        raise broken(seq)
    try:
        payload = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise broken(seq) from problem
    if not isinstance(payload, dict):
        raise broken(seq)
    return Entry(seq, kind, time, payload, digest)


def read_chain(rows: Iterable[Row], after: int, previous: str) -> Iterator[Entry]:
    """Read the entries after ``after``, checking each against the previous hash."""
    for position, row in enumerate(rows, start=after + 1):
        if row[0] != position or row[4] != previous:
            raise broken(position)
        yield read(row)
        previous = row[5]


def broken(position: int) -> LedgerTamperedError:
    """The error for an entry that was edited, removed or inserted."""
    return LedgerTamperedError(
        f"the ledger was changed by hand: entry {position} breaks the hash chain; "
        "restore the original file, and do not answer from this one"
    )


def digest_of(parts: Iterable[bytes]) -> str:
    """SHA-256 of a sequence of byte strings and their lengths."""
    running = hashlib.sha256()
    for part in parts:
        running.update(len(part).to_bytes(8, "big"))
        running.update(part)
    return running.hexdigest()

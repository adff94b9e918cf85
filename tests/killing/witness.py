"""What a process notes about itself before it is killed, and the moments at which it may be.

It runs in the forked child alone. Every note is one write to a file of its own, so that what
was noted stays noted. What the ledger hands out is noted as having left: the earliest point.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BATCH = 8
"""Queries paid for at once: few, so that there are many moments between payments."""
TOUCHES = frozenset({"open", "os.mkdir", "os.rename", "os.remove", "os.link", "os.rmdir"})


@dataclass
class Clock:
    """Counts moments: file operations in the world, and statements of the ledger.

    Attributes:
        die_at: the moment before which the process kills itself; 0 for never.
        commits: a pipe that gets one byte whenever something written is about to be committed.
    """

    world: str
    die_at: int = 0
    commits: int | None = None
    moments: int = 0
    committed: int = 0
    writing: bool = False

    def install(self) -> None:
        connect = sqlite3.connect

        def traced(*arguments: Any, **options: Any) -> sqlite3.Connection:
            connection: sqlite3.Connection = connect(*arguments, **options)
            connection.set_trace_callback(self._stated)
            return connection

        sqlite3.connect = traced  # type: ignore[assignment]
        sys.addaudithook(self._heard)

    def _heard(self, event: str, details: tuple[Any, ...]) -> None:
        if event in TOUCHES and self._here(details[0]):
            self._tick()

    def _here(self, path: object) -> bool:
        if not isinstance(path, str | bytes | os.PathLike):
            return False
        text = os.fsdecode(path)
        return text.startswith(self.world) or not text.startswith("/")

    def _stated(self, statement: str) -> None:
        self._tick()
        if statement == "COMMIT" and self.writing:
            self.committed += 1
            if self.commits is not None:
                os.write(self.commits, b".")
        if statement.startswith(("BEGIN", "COMMIT", "ROLLBACK")):
            self.writing = statement == "BEGIN IMMEDIATE"

    def _tick(self) -> None:
        self.moments += 1
        if self.moments == self.die_at:
            os.kill(os.getpid(), signal.SIGKILL)


class Notes:
    """A file of lines that survives its writer."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)

    def write(self, kind: str, content: Any) -> None:
        os.write(self._file, (json.dumps({kind: content}) + "\n").encode())


def watch(notes: Notes) -> None:
    """Note what is asked, for what noise is drawn, and what the ledger hands out."""
    from ballotine.ledger import Ledger
    from ballotine.ledger.reader import LedgerReader
    from ballotine.noise import QueryNoise

    record, lookup, begin = Ledger.record, LedgerReader.lookup, QueryNoise.__init__

    def recorded(self: Any, grant: Any, *rest: Any, **options: Any) -> Any:
        standing = record(self, grant, *rest, **options)
        notes.write("left", _named(zip(grant.ids, standing.tolist(), strict=False)))
        return standing

    def looked_up(self: Any, ids: Sequence[bytes]) -> Any:
        found = lookup(self, ids)
        notes.write("asked", [name.hex() for name in ids])
        notes.write("left", _named(found.items()))
        return found

    def drawing(self: Any, origin: Any, keys: Sequence[bytes]) -> None:
        notes.write("drawn", [name.hex() for name in keys])
        begin(self, origin, keys)

    Ledger.record, LedgerReader.lookup = recorded, looked_up  # type: ignore[method-assign]
    QueryNoise.__init__ = drawing  # type: ignore[method-assign]


def small_batches() -> None:
    """Let commands pay for few queries at once."""
    from ballotine.voting import Session, saved

    saved.CHUNK = BATCH
    Session.open.__func__.__kwdefaults__["chunk"] = BATCH  # type: ignore[attr-defined]


def command_line(arguments: Sequence[str], ended: Callable[[], None]) -> int:
    """The command from ``main`` to its exit code."""
    from ballotine.cli import main

    sys.argv = ["ballotine", *arguments]
    try:
        main()
    except SystemExit as end:
        code = end.code
    sys.stdout.flush()
    sys.stderr.flush()
    ended()
    return code if isinstance(code, int) else int(code is not None)


def _named(pairs: Any) -> dict[str, Any]:
    return {name.hex(): answer for name, answer in pairs}

"""What an interrupted run may take up again: results, each with a mark of what made it.

A mark is a digest of everything a result follows from. One that does not match, because a
file or a setting was changed in between, means that the result is made again.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np

from ballotine.errors import RunFolderError
from ballotine.files import produce_atomic, write_atomic
from ballotine.pipeline.folder import RunFolder
from ballotine.types import Table


def mark_of(*parts: bytes | str | Table) -> str:
    """A digest that changes when any part does."""
    seal = hashlib.sha256(b"ballotine/kept/1\0")
    for part in parts:
        if isinstance(part, np.ndarray):
            head = f"{part.dtype.str}{part.shape}".encode()
            seal.update(len(head).to_bytes(8, "big") + head)
            seal.update(np.ascontiguousarray(part).data)
        else:
            data = part.encode() if isinstance(part, str) else part
            seal.update(bytes(8) + len(data).to_bytes(8, "big") + data)
    return seal.hexdigest()


def is_kept(folder: RunFolder, what: Path, mark: str) -> bool:
    """Whether this result exists and was made from the same things."""
    note = folder.mark(what)
    return what.exists() and note.is_file() and note.read_text(encoding="ascii") == mark


def keep(folder: RunFolder, what: Path, mark: str) -> None:
    """Note what a finished result was made from."""
    write_atomic(folder.mark(what), mark, private=True)


def forget(folder: RunFolder, what: Path) -> None:
    """Let go of a mark before its result is made again."""
    folder.mark(what).unlink(missing_ok=True)


def keep_ballots(folder: RunFolder, ballots: Table, mark: str) -> None:
    """Save ballots for a later resumption."""
    forget(folder, folder.ballots)
    produce_atomic(
        folder.ballots, lambda stream: np.save(stream, ballots, allow_pickle=False), private=True
    )
    keep(folder, folder.ballots, mark)


def kept_ballots(folder: RunFolder, mark: str) -> Table | None:
    """The ballots of an interrupted run, if they are on this pool and by these teachers."""
    if not is_kept(folder, folder.ballots, mark):
        return None
    try:
        ballots: Table = np.load(folder.ballots, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    return ballots


def claim_teachers(folder: RunFolder, mark: str) -> None:
    """Refuse a folder whose teachers were trained on other shares or with other settings."""
    note = folder.mark(folder.teachers)
    if note.is_file() and note.read_text(encoding="ascii") != mark:
        raise RunFolderError(
            f"the teachers in {folder.root} were trained with other settings or on other rows; "
            "start a new run, or restore what was changed"
        )
    if not note.is_file():
        keep(folder, folder.teachers, mark)

"""What an interrupted run may take up again: results, each with a mark of what made it.

A mark is a digest of everything a result follows from. One that does not match, because a
file or a setting was changed in between, means that the result is made again.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np

from ballotine.archives import load_array
from ballotine.errors import RunFolderError
from ballotine.files import produce_atomic, write_atomic
from ballotine.pipeline.folder import RunFolder
from ballotine.types import Matrix


def mark_of(*parts: bytes | str | Matrix) -> str:
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
    return what.exists() and _noted(folder, what) == mark.encode()


def _noted(folder: RunFolder, what: Path) -> bytes | None:
    """The mark as it lies there, whatever its bytes are; None without one."""
    note = folder.mark(what)
    return note.read_bytes() if note.is_file() else None


def keep(folder: RunFolder, what: Path, mark: str) -> None:
    """Note what a finished result was made from."""
    write_atomic(folder.mark(what), mark, private=True)


def forget(folder: RunFolder, what: Path) -> None:
    """Let go of a mark before its result is made again."""
    folder.mark(what).unlink(missing_ok=True)


def keep_ballots(folder: RunFolder, ballots: Matrix, mark: str) -> None:
    """Save ballots for a later resumption."""
    forget(folder, folder.ballots)
    produce_atomic(
        folder.ballots, lambda stream: np.save(stream, ballots, allow_pickle=False), private=True
    )
    keep(folder, folder.ballots, mark_of(mark, ballots))


def kept_ballots(folder: RunFolder, mark: str) -> Matrix | None:
    """The ballots of an interrupted run, if they are on this pool and by these teachers.

    A spoilt file is no ballot that anybody cast: these are cast again.
    """
    try:
        ballots: Matrix = load_array(folder.ballots)
    except Exception:  # whatever the damage: NumPy fails in many ways
        return None
    return ballots if is_kept(folder, folder.ballots, mark_of(mark, ballots)) else None


def claim_teachers(folder: RunFolder, mark: str) -> None:
    """Refuse a folder whose teachers were trained on other shares or with other settings."""
    noted = _noted(folder, folder.teachers)
    if noted is not None and noted != mark.encode():
        raise RunFolderError(
            f"the teachers in {folder.root} were trained with other settings or on other rows; "
            "start a new run, or restore what was changed"
        )
    if noted is None:
        keep(folder, folder.teachers, mark)

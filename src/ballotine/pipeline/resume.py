"""Results that a resumed run reuses from its folder.

Each is stored with a digest of its inputs, and is computed again if a file or a setting has
changed in between.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ballotine.archives import load_array
from ballotine.errors import RunFolderError
from ballotine.files import produce_atomic, write_atomic
from ballotine.pipeline.folder import RunFolder
from ballotine.types import Matrix


def digest_of(*parts: bytes | str | Matrix) -> str:
    """Return a digest that changes when any part does."""
    digest = hashlib.sha256(b"ballotine/kept/1\0")
    for part in parts:
        if isinstance(part, np.ndarray):
            head = f"{part.dtype.str}{part.shape}".encode()
            digest.update(len(head).to_bytes(8, "big") + head)
            digest.update(np.ascontiguousarray(part).data)
        else:
            data = part.encode() if isinstance(part, str) else part
            digest.update(bytes(8) + len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()


def is_current(folder: RunFolder, result: Path, digest: str) -> bool:
    """Whether this result exists and was computed from the same inputs."""
    return result.exists() and _stored_digest(folder, result) == digest.encode()


def save_result(
    folder: RunFolder, result: Path, digest: str, write: Callable[[Path], object]
) -> None:
    """Write a result, and then the digest of its inputs.

    The old digest is removed first: a crash must not leave it beside the new result.
    """
    stored = folder.digest_file(result)
    stored.unlink(missing_ok=True)
    write(result)
    write_atomic(stored, digest, private=True)


def save_ballots(folder: RunFolder, ballots: Matrix, digest: str) -> None:
    """Store ballots, so that a resumed run need not cast them again."""

    def write(path: Path) -> None:
        produce_atomic(
            path, lambda stream: np.save(stream, ballots, allow_pickle=False), private=True
        )

    save_result(folder, folder.ballots, digest_of(digest, ballots), write)


def load_ballots(folder: RunFolder, digest: str) -> Matrix | None:
    """Return the ballots of an interrupted run, if pool and teachers are the same.

    A damaged file is ignored: it may contain ballots that no teacher cast.
    """
    try:
        ballots: Matrix = load_array(folder.ballots)
    except Exception:  # whatever the damage: NumPy fails in many ways
        return None
    return ballots if is_current(folder, folder.ballots, digest_of(digest, ballots)) else None


def bind_teachers(folder: RunFolder, digest: str) -> None:
    """Store the digest of the teachers' inputs; refuse a folder with other teachers."""
    stored = _stored_digest(folder, folder.teachers)
    if stored is None:
        write_atomic(folder.digest_file(folder.teachers), digest, private=True)
    elif stored != digest.encode():
        raise RunFolderError(
            f"the teachers in {folder.root} were trained with other settings or on other rows; "
            "start a new run, or restore what was changed"
        )


def _stored_digest(folder: RunFolder, result: Path) -> bytes | None:
    """Return the stored digest, which may be damaged, or None."""
    path = folder.digest_file(result)
    return path.read_bytes() if path.is_file() else None

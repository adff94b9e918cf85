"""Write files atomically: a crash leaves the old file or the new one, never part of one."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from ballotine.errors import RunFolderError

OWNER_ONLY, READABLE = 0o600, 0o644
_NEW = (
    os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
)
"""An existing file, or a link planted by someone else, is an error."""


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file of any size, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def write_atomic(path: Path, content: bytes | str, *, private: bool = False) -> None:
    """Replace a file in one step; it is on disk when the call returns."""
    data = content.encode() if isinstance(content, str) else content
    produce_atomic(path, lambda stream: stream.write(data), private=private)


def produce_atomic(
    path: Path, produce: Callable[[BinaryIO], object], *, private: bool = False
) -> None:
    """Let ``produce`` write a new file under an unpredictable name, then move it into place.

    An existing file at ``path`` is replaced, never written through: if it is a link, its target
    does not change.

    Args:
        path: where the file belongs.
        produce: writes into the stream. It is not given the name, so that the file cannot be
            swapped in the meantime.
        private: readable by the owner only.
    """
    # The temporary name does not contain the file's own name, which may have the maximal length.
    partial = path.parent / f".{secrets.token_hex(16)}.partial"
    try:
        stream = open_new(partial, private=private)
        try:
            with stream:
                produce(stream)
                stream.flush()
                os.fsync(stream.fileno())
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)
    except OSError as problem:
        raise RunFolderError(
            f"{path} cannot be written ({problem.strerror or problem}); earlier results are kept"
        ) from problem


def require_writable(path: Path) -> None:
    """Check, before any budget is spent, that a file can be written at this path."""
    if path.is_dir():
        raise RunFolderError(f"{path} is a folder; give the path of a file")
    probe = path.parent / f".{secrets.token_hex(16)}.partial"
    try:
        open_new(probe, private=True).close()
        probe.unlink()
    except OSError as problem:
        raise RunFolderError(
            f"{path} cannot be written ({problem.strerror or problem}); choose another path"
        ) from problem


def open_new(path: Path, *, private: bool = False) -> BinaryIO:
    """Create a file and open it for writing; an existing file or link is an error."""
    return os.fdopen(os.open(path, _NEW, OWNER_ONLY if private else READABLE), "w+b")

"""Writing files so that a crash leaves the old one or the new one, never half of one."""

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
"""A file that is there already, or a link that somebody planted, is an error."""


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, whatever its size, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def write_atomic(path: Path, content: bytes | str, *, private: bool = False) -> None:
    """Replace a file in one step, on disk when the call returns."""
    data = content.encode() if isinstance(content, str) else content
    produce_atomic(path, lambda stream: stream.write(data), private=private)


def produce_atomic(
    path: Path, produce: Callable[[BinaryIO], object], *, private: bool = False
) -> None:
    """Let ``produce`` fill a new file under a name nobody can guess, then move it into place.

    What stands at ``path`` is replaced, never written through: a link there stays without
    effect on what it points to.

    Args:
        path: where the file belongs.
        produce: writes into the stream. It gets no name, so that nothing can be put in the
            place of the file meanwhile.
        private: for the owner's eyes only.
    """
    # The name does not contain the file's own: that may be as long as names can be.
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
            f"{path} cannot be written ({problem.strerror or problem}); nothing before it is lost"
        ) from problem


def require_writable(path: Path) -> None:
    """Refuse, before anything is spent, a place where no file could be written."""
    if path.is_dir():
        raise RunFolderError(f"{path} is a folder; name a file to write to")
    probe = path.parent / f".{secrets.token_hex(16)}.partial"
    try:
        open_new(probe, private=True).close()
        probe.unlink()
    except OSError as problem:
        raise RunFolderError(
            f"{path} cannot be written ({problem.strerror or problem}); name another place"
        ) from problem


def open_new(path: Path, *, private: bool = False) -> BinaryIO:
    """A file that did not exist before, open for writing; an existing one or a link is an error."""
    return os.fdopen(os.open(path, _NEW, OWNER_ONLY if private else READABLE), "w+b")

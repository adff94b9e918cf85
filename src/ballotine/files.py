"""Writing files so that a crash leaves the old one or the new one, never half of one."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

from ballotine.errors import RunFolderError


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, whatever its size, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def write_atomic(path: Path, content: bytes | str, *, private: bool = False) -> None:
    """Replace a file in one step, on disk when the call returns."""
    data = content.encode() if isinstance(content, str) else content
    produce_atomic(path, lambda partial: partial.write_bytes(data), private=private)


def produce_atomic(path: Path, produce: Callable[[Path], object], *, private: bool = False) -> None:
    """Let ``produce`` write a file under a temporary name, then move it into place."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        descriptor = os.open(
            partial, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600 if private else 0o644
        )
        os.close(descriptor)
        produce(partial)
        with partial.open("rb") as written:
            os.fsync(written.fileno())
        partial.replace(path)
    except OSError as problem:
        raise RunFolderError(
            f"{path} cannot be written ({problem.strerror or problem}); nothing before it is lost"
        ) from problem
    finally:
        partial.unlink(missing_ok=True)

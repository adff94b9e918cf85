"""The holder's own folder, for secrets that belong to a person or an office, not to a run.

It is outside of run folders and ledgers, so that a copy of a run folder or of a ledger never
contains a secret of the holder.
"""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path

from ballotine.errors import HolderKeyError

HOME = "BALLOTINE_HOME"
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def holder_folder() -> Path:
    """Return the folder of the holder's secrets: BALLOTINE_HOME, or the user's settings folder.

    The folder need not exist; `create_private` creates it.
    """
    if named := os.environ.get(HOME):
        return Path(named).absolute()
    # The XDG specification: a path that is not absolute is ignored.
    if (base := os.environ.get("XDG_CONFIG_HOME")) and Path(base).is_absolute():
        return Path(base) / "ballotine"
    try:
        return Path.home() / ".config" / "ballotine"
    except RuntimeError as problem:
        raise HolderKeyError(
            f"there is no home folder for the holder's key: set {HOME} to a folder"
        ) from problem


def create_private(path: Path, content: bytes) -> None:
    """Write a new file atomically, readable by its owner only.

    Raises:
        HolderKeyError: the file exists (it is not changed) or cannot be written.
    """
    partial = path.with_name(f".{path.name}.{secrets.token_hex(8)}.partial")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            _write_new(partial, content)
            # Unlike a rename, a link never replaces an existing file.
            os.link(partial, path)
        finally:
            partial.unlink(missing_ok=True)
    except OSError as problem:
        if isinstance(problem, FileExistsError) and os.path.lexists(path):
            raise HolderKeyError(f"{path} exists already and was not changed") from None
        raise HolderKeyError(f"{path} cannot be written ({problem.strerror})") from problem


def read_private(path: Path) -> bytes:
    """Read a secret; a file that others may read or write is refused."""
    try:
        with path.open("rb") as stream:
            mode = os.fstat(stream.fileno()).st_mode
            if os.name == "posix" and mode & _OTHERS:
                raise HolderKeyError(
                    f"{path} may be read or written by users other than its owner: run chmod 600 "
                    "on it, and make a new key if someone may have read it"
                )
            return stream.read()
    except OSError as problem:
        raise HolderKeyError(f"{path} cannot be read ({problem.strerror})") from problem


def _write_new(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(descriptor)

"""The holder's own folder: secrets that belong to a person or an office, not to a run.

It lies outside every run and beside no ledger, so that neither a copied run folder nor a
copied ledger carries a secret of the holder's away.
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
    """Where the holder's secrets are kept: BALLOTINE_HOME, or the user's settings folder.

    The folder need not exist; `create_private` makes it.
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
            f"there is no home folder for the holder's key: name a folder in {HOME}"
        ) from problem


def create_private(path: Path, content: bytes) -> None:
    """Write a new file, readable by its owner alone, whole or not at all.

    Raises:
        HolderKeyError: the file exists, which is then left as it is, or cannot be written.
    """
    partial = path.with_name(f".{path.name}.{secrets.token_hex(8)}.partial")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            _write_new(partial, content)
            # Unlike a rename, a link never takes the place of a file that is there already.
            os.link(partial, path)
        finally:
            partial.unlink(missing_ok=True)
    except OSError as problem:
        if isinstance(problem, FileExistsError) and os.path.lexists(path):
            raise HolderKeyError(f"{path} exists already and was left as it is") from None
        raise HolderKeyError(f"{path} cannot be written ({problem.strerror})") from problem


def read_private(path: Path) -> bytes:
    """Read a secret; one that others may read is refused, because it is none."""
    try:
        with path.open("rb") as stream:
            mode = os.fstat(stream.fileno()).st_mode
            if os.name == "posix" and mode & _OTHERS:
                raise HolderKeyError(
                    f"{path} may be read or written by others than its owner: chmod 600 it, and "
                    "make a new one if somebody may have read it"
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

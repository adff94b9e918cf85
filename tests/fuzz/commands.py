"""One input: files and arguments, fed to the real command line in this process, and judged."""

from __future__ import annotations

import gc
import io
import json
import logging
import os
import resource
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

from ballotine.cli import main
from ballotine.pipeline.folder import close_log
from ballotine.privacy.conversion import OrderGridWarning
from tests.fuzz.damage import MARK

DOCUMENTED = {0, 1, 2, 3, 4, 5, 6}
"""Exit codes that an input may end with; 70 is a bug of ours."""

ROOM = 3 << 30
"""How much more memory one input may ask for, in bytes: far above what these small files need."""

LEDGER = "book.sqlite"
UNFINISHED = (".partial", ".new")
SPENDING = (("vote",), ("run",))
PAID = ("charged_epsilon", "pending", "queries")


@dataclass(frozen=True)
class Case:
    """An input.

    Attributes:
        target: which generator made it.
        arguments: what is typed.
        files: what lies in the folder; arguments name these.
        keeps: what may be new in the folder although the command failed.
    """

    target: str
    arguments: tuple[str, ...]
    files: dict[str, bytes] = field(default_factory=dict)
    keeps: tuple[str, ...] = ()


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str


def judge(case: Case) -> tuple[Ended, list[str]]:
    """Carry out an input in a folder of its own; what is wrong with how it ended."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as name, _inside(Path(name)) as folder:
        for path, content in case.files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
        before = _names(folder)
        spends = case.arguments[:1] in SPENDING
        paid = _paid(folder) if spends else {}
        ended = call(case.arguments)
        faults = _said(ended)
        if ended.code:
            faults += _left(folder, before, case.keeps)
            if spends and not _handed_out(folder, before):
                faults += _burnt(paid, _paid(folder))
        return ended, faults


def call(arguments: tuple[str, ...]) -> Ended:
    """The command line from ``main`` to its exit code; every warning is an error."""
    out, err = io.StringIO(), io.StringIO()
    with (
        patch.object(sys, "argv", ["ballotine", *arguments]),
        redirect_stdout(out),
        redirect_stderr(err),
        warnings.catch_warnings(),
        _bounded(),
    ):
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", OrderGridWarning)  # ours, and in a sentence
        try:
            main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
        finally:
            close_log()
    return Ended(code, out.getvalue(), err.getvalue())


def _said(ended: Ended) -> list[str]:
    said, faults = ended.out + ended.err, []
    if ended.code not in DOCUMENTED:
        faults.append(f"exit code {ended.code}: {ended.err.strip()[-300:]}")
    if "Traceback" in said:
        faults.append("a traceback")
    if MARK in said:
        faults.append("a private value is shown")
    if ended.code > 1 and not _one_sentence(ended.err):
        faults.append(f"not one sentence: {ended.err.strip()[-300:]!r}")
    return faults


def _one_sentence(err: str) -> bool:
    lines = err.splitlines()
    usage = any(line.startswith("Usage:") for line in lines)
    return usage or sum(line.startswith("error: ") for line in lines) == 1


def _left(folder: Path, before: set[str], keeps: tuple[str, ...]) -> list[str]:
    new = {name for name in _names(folder) - before if not name.startswith(keeps or ("\0",))}
    unfinished = {name for name in new if name.endswith(UNFINISHED)}
    # A run that has begun may be resumed: its folder says what it is.
    runs = {name for name in new if (folder / name / "run.toml").is_file()}
    begun = {run for run in runs if (folder / run / "private" / "teachers").is_dir()}
    left = {name for name in new if not any(_on_one_way(name, run) for run in begun)}
    left -= {name for name in left if begun and _is_ledger(folder / name)}
    return [f"left behind: {sorted(left | unfinished)[:5]}"] if left | unfinished else []


def _is_ledger(path: Path) -> bool:
    return path.is_file() and path.read_bytes()[:15] == b"SQLite format 3"


def _on_one_way(name: str, run: str) -> bool:
    """Whether something is a run's folder, in it, or above it."""
    return f"{name}/".startswith(f"{run}/") or f"{run}/".startswith(f"{name}/")


def _paid(folder: Path) -> dict[str, dict[str, float]]:
    """What each ledger that can be read has paid for, by its name."""
    found = {}
    for name in sorted(_names(folder)):
        if _is_ledger(folder / name):
            shown = call(("ledger", "show", name, "--json"))
            facts = {} if shown.code else json.loads(shown.out)  # no terms yet: nothing paid
            found[name] = {key: facts.get(key, 0) for key in PAID}
    return found


def _burnt(before: dict[str, dict[str, float]], after: dict[str, dict[str, float]]) -> list[str]:
    """A command that failed has spent nothing."""
    nothing = dict.fromkeys(PAID, 0)
    return [
        f"budget burnt: {spent}"
        for name, facts in after.items()
        if (spent := {k: v for k, v in facts.items() if v > before.get(name, nothing)[k]})
    ]


def _handed_out(folder: Path, before: set[str]) -> bool:
    """Answers that lie in a run's folder were paid for with reason, whatever failed later."""
    return any(name.endswith("answers.parquet") for name in _names(folder) - before)


def _names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


@contextmanager
def _inside(folder: Path) -> Iterator[Path]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        # One core: teachers train in this process, and no worker has to be started.
        alone = {"NO_COLOR": "1", "COLUMNS": "200", "LOKY_MAX_CPU_COUNT": "1"}
        with patch.dict(os.environ, alone):
            for name in ("BALLOTINE_DATA", "BALLOTINE_DEBUG"):
                os.environ.pop(name, None)
            yield folder
    finally:
        os.chdir(before)
        logging.getLogger("ballotine").setLevel(logging.NOTSET)


@contextmanager
def _bounded() -> Iterator[None]:
    """Who asks for much more memory than the input has gets a MemoryError, which is a bug."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    gc.collect(0)
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:
        yield
        return
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + ROOM, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))

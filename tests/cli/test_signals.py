"""Real processes and signals: one message, no worker left, and a run that can be resumed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from tests.cli.test_students import MARKED, with_student
from tests.conftest import Command

PATIENCE = 120.0
"""A timeout for loaded machines; no test waits for a fixed time."""

HELD = """
import os, time
from pathlib import Path
from sklearn.linear_model import LogisticRegression

class Held(LogisticRegression):
    '''Learns nothing as long as there is a file that says so, as a long training would.'''

    def fit(self, X, y):
        if Path("hold").exists():
            Path(f"working-{os.getpid()}").touch()
            while Path("hold").exists():
                time.sleep(0.05)
        return super().fit(X, y)
"""


def until(met: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not met():
        assert time.monotonic() < deadline, f"in vain: {what}"
        time.sleep(0.02)


def size(path: Path) -> int:
    """The size of a file; 0 if it has just been removed."""
    with suppress(FileNotFoundError):
        return path.stat().st_size
    return 0


def at_work(pid: int) -> bool:
    """Whether a process is alive; a zombie is not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts the command line as a separate process, and cleans up."""
    if not Path("/proc/self/stat").exists():
        pytest.skip("needs /proc to see who is at work")
    started: list[subprocess.Popen[str]] = []

    def call(*arguments: str) -> subprocess.Popen[str]:
        path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
        process = subprocess.Popen(
            [sys.executable, "-m", "ballotine", *arguments],
            cwd=tmp_path,
            env={**os.environ, "NO_COLOR": "1", "COLUMNS": "200", "PYTHONPATH": path},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        started.append(process)
        return process

    yield call
    (tmp_path / "hold").unlink(missing_ok=True)
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def held(table: Path) -> Path:
    """A run whose teachers train on two workers for as long as there is a file ``hold``."""
    (table / "held.py").write_text(HELD)
    (table / "hold").touch()
    text = (table / "run.toml").read_text()
    text = text.replace('"logistic-regression"', '"held.Held"').replace("jobs = 1", "jobs = 2")
    (table / "run.toml").write_text(text)
    return table


def workers(folder: Path) -> list[int]:
    return [int(path.name.partition("-")[2]) for path in folder.glob("working-*")]


def ended(process: subprocess.Popen[str]) -> str:
    _, complaint = process.communicate(timeout=PATIENCE)
    assert "Traceback" not in complaint
    return complaint


@pytest.mark.parametrize(
    ("jobs", "signals", "code", "words"),
    [
        (1, [signal.SIGINT], 130, "interrupted"),
        (2, [signal.SIGINT], 130, "interrupted"),
        (1, [signal.SIGTERM], 143, "ended by SIGTERM"),
        (1, [signal.SIGHUP, signal.SIGTERM], 129, "ended by SIGHUP"),
        (2, [signal.SIGTERM] * 4, 143, "ended by SIGTERM"),
    ],
    ids=[
        "ctrl-c",
        "ctrl-c and workers",
        "sigterm",
        "a lost terminal",
        "sigterm again and again and workers",
    ],
)
def test_a_run_ends_in_order_and_its_workers_with_it(
    held: Path,
    start: Start,
    jobs: int,
    signals: list[int],
    code: int,
    words: str,
) -> None:
    text = (held / "run.toml").read_text()
    (held / "run.toml").write_text(text.replace("jobs = 2", f"jobs = {jobs}"))
    process = start("run", "run.toml", "--quiet")
    until(lambda: len(workers(held)) == jobs, "everybody at work")
    at = workers(held)
    assert all(map(at_work, at))
    for number in signals:
        process.send_signal(number)
    complaint = ended(process)
    assert (process.returncode, complaint) == (
        code,
        f"error: {words}; continue with: ballotine run --resume {held / 'out'}\n",
    )
    assert not any(map(at_work, at)), "workers are gone when the process is"
    (held / "hold").unlink()
    resumed = start("run", "--resume", "out", "--quiet")
    complaint = ended(resumed)
    assert (resumed.returncode, complaint) == (0, "")


def test_a_signal_to_every_process_of_a_terminal_is_one_sentence(held: Path, start: Start) -> None:
    process = start("run", "run.toml", "--quiet")
    until(lambda: len(workers(held)) == 2, "two workers at work")
    os.killpg(process.pid, signal.SIGINT)
    complaint = ended(process)
    assert process.returncode == 130
    assert complaint.count("\n") == 1
    assert not any(map(at_work, workers(held)))


def test_workers_of_a_killed_process_leave_too(held: Path, start: Start) -> None:
    process = start("run", "run.toml", "--quiet")
    until(lambda: len(workers(held)) == 2, "two workers at work")
    process.kill()
    process.wait()
    until(lambda: not any(map(at_work, workers(held))), "the workers leave")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_votes_end_in_order_and_the_ledger_is_whole(
    tmp_path: Path, start: Start, ballotine: Command, number: int, code: int
) -> None:
    votes = np.random.default_rng(0).integers(0, 3, (400_000, 20), dtype=np.uint8)
    np.save(tmp_path / "votes.npy", votes)
    process = start(
        *("vote", "votes.npy", "-m", "gnmax", "--sigma", "4000", "--epsilon", "8"),
        *("--delta", "1e-5", "--classes", "3", "--ledger", "book.sqlite"),
    )
    until(lambda: sum(map(size, tmp_path.glob("book*"))) > 500_000, "entries")
    process.send_signal(number)
    complaint = ended(process)
    assert process.returncode == code, complaint
    assert complaint.splitlines()[-1].startswith("error: ")
    assert "nothing that was paid for is lost" in complaint
    verified = ballotine("ledger", "verify", "book.sqlite")
    assert verified.returncode == 0, verified.stderr


@pytest.mark.neural
def test_sigterm_does_not_cut_a_students_training_short(
    table: Path, start: Start, ballotine: Command
) -> None:
    """Ctrl-C accepts the current weights; SIGTERM leaves the rest for later."""
    (table / "marked.py").write_text(MARKED)
    with_student(table, "marked.Marked", "epochs = 1000000")
    process = start("run", "run.toml", "--quiet")
    until((table / "epochs").exists, "an epoch")
    process.send_signal(signal.SIGTERM)
    complaint = ended(process)
    assert process.returncode == 143, complaint
    assert not (table / "out" / "student.skops").exists()
    assert not (table / "out" / "card.json").exists()
    text = (table / "out" / "run.toml").read_text()
    (table / "out" / "run.toml").write_text(text.partition("[student]")[0])
    assert ballotine("run", "--resume", "out", "--quiet").returncode == 0

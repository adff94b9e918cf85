"""Lives of real processes, and how they are cut short.

Most are forked from a process that has imported everything already, which saves seconds each;
some are started as anybody would start them.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from tests.killing.witness import Clock, Notes, command_line, small_batches, watch

LONGEST = 300.0
"""Seconds after which a process is said to hang, on the slowest machine."""
PAUSE = 0.0005

ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "NO_COLOR": "1",
    "COLUMNS": "200",
}


@dataclass(frozen=True)
class Cut:
    """When a life is to end; the first that applies.

    Attributes:
        moment: before the so-manyeth file operation or statement of the ledger (forked only).
        commit: while the so-manyeth transaction is being committed (forked), or when the
            ledger's log has grown so often (started).
        delay: seconds after that, or after the start if there is no such condition.
        whole: never.
        started: by a new Python rather than a fork.
    """

    moment: int = 0
    commit: int = 0
    delay: float = 0.0
    whole: bool = False
    started: bool = False


@dataclass
class Life:
    """A process under way, or over.

    Attributes:
        code: its exit code once it is over; None after a kill.
        killed: whether a SIGKILL of ours ended it.
    """

    pid: int
    cut: Cut
    place: Path
    ledger: Path
    born: float
    commits: int = -1
    code: int | None = None
    killed: bool = False
    hung: bool = False

    def output(self) -> str:
        """What it printed, errors last."""
        return "".join(
            path.read_text(errors="replace")
            for path in (self.place / "stdout", self.place / "stderr")
            if path.exists()
        )


def begin(arguments: tuple[str, ...], world: Path, place: Path, ledger: Path, cut: Cut) -> Life:
    """Start a life in ``world``; its outputs and notes go to ``place``."""
    place.mkdir(parents=True)
    environment = {**os.environ, **ENVIRONMENT, "BALLOTINE_HOME": str(world / "home")}
    born = time.monotonic()
    if cut.started:
        with (place / "stdout").open("wb") as out, (place / "stderr").open("wb") as err:
            child = subprocess.Popen(
                [sys.executable, "-m", "ballotine", *arguments],
                cwd=world, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
            )  # fmt: skip
        child.returncode = 0  # waited for below, by its number
        return Life(child.pid, cut, place, ledger, born)
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        _live(arguments, world, place, Clock(str(world), cut.moment, writing), environment)
    os.close(writing)
    return Life(pid, cut, place, ledger, born, reading)


def finish(life: Life) -> Life:
    """Wait for a life's end, and bring it about when its time has come."""
    if not life.cut.whole:
        _wait_for_its_time(life)
        if life.code is None and not life.cut.moment:
            os.kill(life.pid, signal.SIGKILL)
    while life.code is None and not life.killed:
        if time.monotonic() - life.born > LONGEST:
            life.hung = True
            os.kill(life.pid, signal.SIGKILL)
        _look(life, PAUSE)
    if life.commits >= 0:
        os.close(life.commits)
    return life


def _live(
    arguments: tuple[str, ...], world: Path, place: Path, clock: Clock, environment: dict[str, str]
) -> NoReturn:
    code = 70
    try:
        os.environ.update(environment)
        os.chdir(world)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        for number, name in ((1, "stdout"), (2, "stderr")):
            os.dup2(os.open(place / name, os.O_CREAT | os.O_WRONLY | os.O_APPEND), number)
        notes = Notes(place / "notes")
        small_batches()
        watch(notes)
        clock.install()
        code = command_line(
            arguments, lambda: notes.write("whole", [clock.moments, clock.committed])
        )
    finally:
        os._exit(code)


def _wait_for_its_time(life: Life) -> None:
    cut = life.cut
    if cut.moment:
        return
    if cut.commit:
        grown = _commits(life) if life.commits >= 0 else _growth(life)
        if not grown:
            return
        until = time.monotonic() + cut.delay
    else:
        until = life.born + cut.delay
    while life.code is None and (left := until - time.monotonic()) > 0:
        _look(life, min(left, 0.01))


def _commits(life: Life) -> bool:
    """Wait until that many commits have begun; False if the life is over before."""
    seen = 0
    while seen < life.cut.commit:
        ready, _, _ = select.select([life.commits], [], [], LONGEST)
        found = os.read(life.commits, 1) if ready else b""
        if not found:  # the other end is closed: the process is gone, or hangs
            return False
        seen += 1
    return True


def _growth(life: Life) -> bool:
    """Wait until the ledger's log has grown that often; False if the life is over before."""
    log, size, grown = life.ledger.with_name(life.ledger.name + "-wal"), 0, 0
    while grown < life.cut.commit:
        _look(life, PAUSE)
        if life.code is not None or time.monotonic() - life.born > LONGEST:
            return False
        found = log.stat().st_size if log.exists() else 0
        grown += found > size
        size = found
    return True


def _look(life: Life, pause: float) -> None:
    """Whether it is over; else wait a moment."""
    pid, status = os.waitpid(life.pid, os.WNOHANG)
    if not pid:
        time.sleep(pause)
    elif os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        life.killed = True
    else:
        life.code = os.waitstatus_to_exitcode(status)

"""Commands are killed at any point of their lives: nothing spent is lost, and there is a way on.

The long form is experiments/kills.py: the same processes, the same judge, 1,000 kills.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from itertools import count
from pathlib import Path

import pytest

from ballotine.pipeline import RunFile, create_folder, open_folder
from tests.killing.witness import Clock

PROJECT = Path(__file__).parents[2]
KILLS = 18
SCENARIOS = ("run-rounds", "vote-vanishing", "vote-two-at-once", "run-weighting", "vote-fixed")


@pytest.mark.neural
def test_killed_commands_lose_nothing_and_always_finish() -> None:
    done = subprocess.run(
        [
            sys.executable, "-m", "experiments.kills", "--kills", str(KILLS), "--per-ledger", "4",
            "--scenarios", *SCENARIOS,
        ],
        cwd=PROJECT,
        capture_output=True,
        text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    kills, _, faults = done.stdout.splitlines()[-1].partition(" kills, ")
    assert int(kills) >= KILLS
    assert faults == "0 under-reports, 0 second answers, 0 dead ends"


def killed_before(moment: int, settings: RunFile, world: Path) -> bool:
    """Make a run's folder in a process that dies before its so-manyeth file operation."""
    child = os.fork()
    if child == 0:
        try:
            Clock(str(world), die_at=moment).install()
            create_folder(settings)
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


def test_a_run_killed_while_its_folder_is_made_goes_on_or_starts_anew(table: Path) -> None:
    settings = RunFile.load(table / "run.toml")
    for moment in count(1):
        killed = killed_before(moment, settings, table)
        if (table / "out").exists():
            open_folder(table / "out")
        else:
            create_folder(settings)
        shutil.rmtree(table / "out")
        if not killed:
            break
    assert moment > 4, "folder, private part and run file are made one after the other"

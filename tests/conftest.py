"""What several rooms need: small made-up tables and a way to run the command line."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from uuid import uuid4

# One thread for each process of the suite: several are slower on small matrices, and far slower
# where processes compete. It must be said before NumPy and torch are loaded.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# A console that is made while a width is set keeps that width for good.
os.environ.pop("COLUMNS", None)

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from mpmath import mp

import ballotine.cli.console
from ballotine.cli import main

# How long an example takes says something about the machine, not about the code. Examples are the
# same each time, so that a change is not refused by chance; BALLOTINE_EXPLORE=1 draws new ones.
settings.register_profile(
    "any machine",
    deadline=None,
    derandomize="BALLOTINE_EXPLORE" not in os.environ,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("any machine")


NEEDS_TORCH = (
    "features",
    "neural",
    "pipeline/test_together.py",
    "students/neural",
    "students/test_trained.py",
    "teachers/test_engine_ray.py",
    "teachers/ttac",
)
"""Files and folders that are skipped as a whole where torch is not installed.

A single test of another file is marked ``neural`` and imports what it needs itself.
"""
WITHOUT_TORCH = "needs torch: pip install 'ballotine[neural]'"


class SkippedModule(pytest.Module):
    """A module that is reported as skipped without being imported."""

    def collect(self) -> Iterator[pytest.Item | pytest.Collector]:
        pytest.skip(WITHOUT_TORCH, allow_module_level=True)


def pytest_pycollect_makemodule(
    module_path: Path, parent: pytest.Collector
) -> pytest.Module | None:
    """Skip the modules that cannot be imported without torch."""
    here = Path(__file__).parent
    if find_spec("torch") or not any(module_path.is_relative_to(here / p) for p in NEEDS_TORCH):
        return None
    skipped: pytest.Module = SkippedModule.from_parent(parent, path=module_path)
    return skipped


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip the tests that are marked ``neural`` likewise."""
    if item.get_closest_marker("neural") and find_spec("torch") is None:
        pytest.skip(WITHOUT_TORCH)


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    returncode: int
    stdout: str
    stderr: str


Command = Callable[..., Ended]

HEADER = "age,income,region,label"
REGIONS = ("north", "south")


def write_table(path: Path, rows: int, seed: int, labelled: bool = True) -> None:
    """Made-up people: the label follows from age, income and region, with some noise."""
    draw = np.random.default_rng(seed)
    lines = [HEADER if labelled else HEADER.rpartition(",")[0]]
    for _ in range(rows):
        age, income = draw.integers(18, 90), draw.normal(40, 12)
        region = REGIONS[int(draw.integers(2))]
        score = (age - 54) / 20 + (income - 40) / 10 + (region == "south") + draw.normal(0, 0.3)
        cells = [str(age), f"{income:.2f}", region]
        lines.append(",".join([*cells, "yes" if score > 0.5 else "no"] if labelled else cells))
    path.write_text("\n".join(lines) + "\n")


def path_with(folder: Path) -> str:
    """The import path of a child process, with one more folder at its beginning."""
    return os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])


def wait_for(mark: Path, process: subprocess.Popen[str]) -> None:
    """Wait until a process has left a mark, however long that takes on a busy machine."""
    while not mark.exists():
        assert process.poll() is None, f"it ended with {process.returncode} before {mark.name}"
        time.sleep(0.02)


RUNFILE = """
[run]
name = "table"
folder = "out"
[data]
private = "private.csv"
public = "public.csv"
test = "test.csv"
target = "label"
[teachers]
number = 20
kind = "logistic-regression"
options = { C = 100.0 }
jobs = 1
[voting]
mechanism = "confident-gnmax"
sigma = 5.0
threshold = 14.0
sigma_threshold = 8.0
[budget]
epsilon = 6.0
delta = 1e-5
ledger = "private.ledger.sqlite"
"""


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A folder with a private, a public and a test table, and a run file."""
    write_table(tmp_path / "private.csv", 600, 1)
    write_table(tmp_path / "public.csv", 150, 2, labelled=False)
    write_table(tmp_path / "test.csv", 120, 3)
    (tmp_path / "run.toml").write_text(RUNFILE)
    return tmp_path


@pytest.fixture
def ballotine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Runs the command line in the test's folder, from ``main`` to its exit code."""

    def call(*arguments: object, **environment: str) -> Ended:
        for name, value in {"NO_COLOR": "1", "COLUMNS": "200", **environment}.items():
            monkeypatch.setenv(name, value)
        monkeypatch.delenv("BALLOTINE_DATA", raising=False)
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", ["ballotine", *map(str, arguments)])
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as end:
            main()
        return Ended(int(end.value.code or 0), out.getvalue(), err.getvalue())

    return call


@pytest.fixture(scope="session", autouse=True)
def default_signals() -> None:
    """Undo what nohup, or a shell in the background, makes every process inherit."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(scope="session", autouse=True)
def homes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """No test reads or writes the real holder's key, whatever runs before it."""
    folder = tmp_path_factory.mktemp("homes")
    os.environ["BALLOTINE_HOME"] = str(folder / "shared")
    os.environ.pop("BALLOTINE_KEY_PASSPHRASE", None)
    return folder


@pytest.fixture(autouse=True)
def own_home(homes: Path) -> Iterator[Path]:
    """Each test has a holder's folder of its own, which does not exist yet."""
    before = os.environ["BALLOTINE_HOME"]
    os.environ["BALLOTINE_HOME"] = str(home := homes / uuid4().hex)
    yield home
    os.environ["BALLOTINE_HOME"] = before
    os.environ.pop("BALLOTINE_KEY_PASSPHRASE", None)


@pytest.fixture(autouse=True)
def own_precision() -> Iterator[None]:
    """A test that works with more digits must not slow down those after it."""
    before = mp.dps
    yield
    mp.dps = before

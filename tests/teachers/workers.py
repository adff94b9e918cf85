"""Work that engines are tested with: it must be importable by their workers."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_info

from ballotine.types import FloatArray


def square(number: int) -> int:
    return number * number


def fail(number: int) -> int:
    raise RuntimeError(f"task {number}")


def describe(table: FloatArray, row: int) -> tuple[int, int, bool, float]:
    """Who works, on what: the process, its threads, whether its table is read-only, a sum."""
    threads = max((pool["num_threads"] for pool in threadpool_info()), default=1)
    return os.getpid(), threads, not table.flags.writeable, float(table[row].sum())


def memory(table: FloatArray, number: int) -> tuple[int, tuple[float, float]]:
    """The process, and what it holds alone and shared with others after reading it all, in MB."""
    assert np.isfinite(sum(float(row.sum()) for row in table))
    time.sleep(0.05)  # so that no worker takes every task
    lines = Path("/proc/self/status").read_text().splitlines()
    found = dict(line.split(":", 1) for line in lines)
    own, shared = (int(found[name].split()[0]) / 1e3 for name in ("RssAnon", "RssShmem"))
    return os.getpid(), (own, shared)


def die_once(folder: Path, number: int) -> tuple[int, int]:
    """Task 3 ends its process the first time; every run of every task leaves a line."""
    with (folder / "runs").open("a") as file:
        file.write(f"{number}\n")
    if number == 3 and not (folder / "died").exists():
        (folder / "died").touch()
        time.sleep(0.3)  # the others are at work by now
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.1)
    return number, os.getpid()


def die(number: int) -> int:
    if number == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


class Deadly(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Ends its process when it is taught or asked the marked record, as lack of memory would."""

    def fit(self, X: Any, y: Any) -> Self:
        if np.any(X == 1e6):
            os.kill(os.getpid(), signal.SIGKILL)
        self.model_ = LogisticRegression().fit(X, y)
        return self

    def predict(self, X: Any) -> Any:
        if np.any(X == 1e6):
            os.kill(os.getpid(), signal.SIGKILL)
        return self.model_.predict(X)

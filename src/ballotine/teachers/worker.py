"""What a process does before it works on tasks: one thread, and memory that stays."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

from ballotine.teachers.shared import Shared

Task = TypeVar("Task")
Result = TypeVar("Result")

ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"), "1"
)
"""The environment of a worker: libraries read it when they are loaded."""

LOOK_SECONDS = 0.5
"""How often a worker looks whether its parent is still there."""

TRIM_THRESHOLD, TOP_PAD, MMAP_THRESHOLD = -1, -2, -3  # the names that malloc.h gives


def begin(parent: int) -> None:
    """What a worker of this machine does first: it belongs to its parent, alive or dead.

    A Ctrl-C reaches every process of a terminal; what it means is the parent's to decide. A
    parent that was killed cannot end its workers, so they look for themselves.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_leave_with, args=(parent,), daemon=True).start()


def _leave_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(LOOK_SECONDS)
    os._exit(1)


def work_on(work: Shared[Callable[[Task], Result]], task: Task) -> Result:
    """One task, in a worker of this machine."""
    return work_alone(work.value, task)


def work_alone(work: Callable[[Task], Result], task: Task) -> Result:
    """One task in a process that does nothing else, with one thread."""
    keep_memory()
    if (torch := sys.modules.get("torch")) is not None:
        torch.set_num_threads(1)
    return work(task)


@lru_cache(maxsize=1)
def keep_memory() -> bool:
    """Ask the C library not to give freed memory back; tell whether it could.

    A training step frees and takes the same few megabytes again and again. By default each of
    them goes back to the system and comes again page by page, which can take half of the time.
    """
    try:
        set_option = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # not glibc
        return False
    options = ((MMAP_THRESHOLD, 1 << 30), (TRIM_THRESHOLD, (1 << 31) - 1), (TOP_PAD, 1 << 24))
    taken = [set_option(option, value) == 1 for option, value in options]
    return all(taken)


@contextmanager
def one_thread(controller: ThreadpoolController) -> Iterator[None]:
    """One thread for a while, as workers have: results then do not depend on where they are made.

    Args:
        controller: of the libraries that are loaded.
    """
    torch: Any = sys.modules.get("torch")
    threads = None if torch is None else torch.get_num_threads()
    with controller.limit(limits=1):
        if torch is not None:
            torch.set_num_threads(1)
        try:
            yield
        finally:
            if torch is not None:
                torch.set_num_threads(threads)

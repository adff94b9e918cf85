"""Worker processes: they use one thread, keep freed memory, and exit with their parent."""

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
"""The environment of a worker; libraries read it when they load."""

POLL_SECONDS = 0.5
"""How often a worker checks whether its parent is alive."""

TRIM_THRESHOLD, TOP_PAD, MMAP_THRESHOLD = -1, -2, -3  # from malloc.h


def start_worker(parent: int) -> None:
    """Initialise a local worker, so that it exits when its parent does and not before.

    Ctrl-C reaches every process of a terminal; only the parent handles it. A parent that was
    killed cannot stop its workers, so they check whether it is alive.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_exit_with, args=(parent,), daemon=True).start()


def _exit_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(POLL_SECONDS)
    os._exit(1)


def run_shared_task(work: Shared[Callable[[Task], Result]], task: Task) -> Result:
    """Run one task in a local worker, with the work in shared memory."""
    return run_task(work.value, task)


def run_task(work: Callable[[Task], Result], task: Task) -> Result:
    """Run one task on one thread, in a process that does nothing else."""
    keep_memory()
    if (torch := sys.modules.get("torch")) is not None:
        torch.set_num_threads(1)
    return work(task)


@lru_cache(maxsize=1)
def keep_memory() -> bool:
    """Ask the C library not to return freed memory to the system; True if it agreed.

    A training step frees and allocates the same few megabytes again and again. By default they
    are returned to the system and mapped again page by page, which can take half of the time.
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
    """Use one thread, as workers do, so that results do not depend on where they are computed.

    Args:
        controller: controls the threads of the loaded libraries.
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

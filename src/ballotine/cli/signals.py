"""Ending on Ctrl-C, SIGTERM and SIGHUP: one message, no process left, a specific exit code."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

from typer.core import TyperGroup

from ballotine.cli.console import complain

GRACE = 5.0
"""For this many seconds after a signal, further ones are ignored: the process is ending."""

PATIENCE = 10.0
"""Seconds to wait for killed processes to be gone."""


KILL = getattr(signal, "SIGKILL", signal.SIGTERM)
ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Signals that end a command like Ctrl-C: sent by a scheduler, or when a terminal closes."""


class EndedBySignal(BaseException):
    """A signal asked this process to end. Not an Exception, so that no retry catches it.

    Attributes:
        number: the signal's number.
        advice: how to continue.
    """

    def __init__(
        self, number: int, advice: str = "nothing that was paid for is lost; run the command again"
    ) -> None:
        super().__init__(number)
        self.number = number
        self.advice = advice

    @property
    def exit_code(self) -> int:
        """The exit code that shells use for this signal."""
        return 128 + self.number

    def __str__(self) -> str:
        name = signal.Signals(self.number).name
        how = "interrupted" if self.number == signal.SIGINT else f"ended by {name}"
        return f"{how}; {self.advice}"


class Commands(TyperGroup):
    """A command group that handles Ctrl-C itself: Typer would exit with code 1."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise EndedBySignal(signal.SIGINT) from None


@contextmanager
def advising(advice: str) -> Iterator[None]:
    """If a signal ends the block, add this advice to the message."""
    try:
        yield
    except KeyboardInterrupt:
        raise EndedBySignal(signal.SIGINT, advice) from None
    except EndedBySignal as end:
        raise EndedBySignal(end.number, advice) from None


@contextmanager
def ending_on_signals() -> Iterator[None]:
    """Inside the block, SIGTERM and SIGHUP end the process like Ctrl-C: cleanly, with a message.

    Once the process is ending, further signals do not interrupt it.
    """
    ours = [number for number in ENDING if _is_ours(number)]
    handler = _Once()
    for number in ours:
        signal.signal(number, handler)
    try:
        yield
    except EndedBySignal as end:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, *ENDING):
                signal.signal(number, signal.SIG_IGN)
        end_workers()
        complain(str(end))
        sys.exit(end.exit_code)
    except BaseException:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)
        raise


def _is_ours(number: signal.Signals) -> bool:
    """Whether we may handle this signal: in the main thread, if nobody else handles it."""
    main = threading.current_thread() is threading.main_thread()
    return main and signal.getsignal(number) is signal.SIG_DFL


class _Once:
    """A signal handler that raises, but not again within the grace period.

    A second exception would interrupt the cleanup of files and processes. If the first one was
    lost (raised where exceptions are ignored), a later signal raises again.
    """

    def __init__(self) -> None:
        self._last = -GRACE

    def __call__(self, number: int, _: FrameType | None) -> None:
        now = time.monotonic()
        if now - self._last >= GRACE:
            self._last = now
            raise EndedBySignal(number)


def end_workers() -> None:
    """Kill the child processes, whichever library started them.

    They hold private records; any results they have not returned can be recomputed.
    """
    workers = [each for each in multiprocessing.active_children() if each.pid]
    for process in workers:
        with suppress(ProcessLookupError):  # not every process class has a kill method
            os.kill(process.pid, KILL)  # type: ignore[arg-type]
    deadline = time.monotonic() + PATIENCE
    for process in workers:
        process.join(max(0.0, deadline - time.monotonic()))

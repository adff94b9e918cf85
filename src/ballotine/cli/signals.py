"""Ctrl-C, SIGTERM and SIGHUP: one sentence, no process left behind, a telling exit code."""

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
"""For so many seconds after a SIGTERM further ones change nothing: the ending is under way."""

PATIENCE = 10.0
"""How long to wait for killed processes to be gone, in seconds."""


KILL = getattr(signal, "SIGKILL", signal.SIGTERM)
ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Signals that end a command in order, besides Ctrl-C: a scheduler's, and a lost terminal's."""


class EndedBySignal(BaseException):
    """Somebody wants this process to end. Not an Exception, so that no retry swallows it.

    Attributes:
        number: of the signal.
        advice: how to go on.
    """

    def __init__(
        self, number: int, advice: str = "nothing that was paid for is lost; start it again"
    ) -> None:
        super().__init__(number)
        self.number = number
        self.advice = advice

    @property
    def exit_code(self) -> int:
        """As shells count signals."""
        return 128 + self.number

    def __str__(self) -> str:
        name = signal.Signals(self.number).name
        how = "interrupted" if self.number == signal.SIGINT else f"ended by {name}"
        return f"{how}; {self.advice}"


class Commands(TyperGroup):
    """Commands that leave Ctrl-C to us: the library would call it exit code 1."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise EndedBySignal(signal.SIGINT) from None


@contextmanager
def going_on_with(advice: str) -> Iterator[None]:
    """Say how to go on, should this be ended by a signal."""
    try:
        yield
    except KeyboardInterrupt:
        raise EndedBySignal(signal.SIGINT, advice) from None
    except EndedBySignal as end:
        raise EndedBySignal(end.number, advice) from None


@contextmanager
def ending_in_order() -> Iterator[None]:
    """Within, SIGTERM and SIGHUP end the process as Ctrl-C does: a sentence, everything closed.

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
    """Whether nobody else decided what a signal means, and we may."""
    main = threading.current_thread() is threading.main_thread()
    return main and signal.getsignal(number) is signal.SIG_DFL


class _Once:
    """Raises, and not again while that is on its way.

    Raised again, it would cut off what closes files and processes. If the first was lost (raised
    where nothing can be raised), a later one counts again.
    """

    def __init__(self) -> None:
        self._last = -GRACE

    def __call__(self, number: int, _: FrameType | None) -> None:
        now = time.monotonic()
        if now - self._last >= GRACE:
            self._last = now
            raise EndedBySignal(number)


def end_workers() -> None:
    """Kill the processes that work for this one, whoever started them.

    They hold private records and nothing that is not made again; what they had to say is lost.
    """
    working = [each for each in multiprocessing.active_children() if each.pid]
    for process in working:
        with suppress(ProcessLookupError):  # not every kind of process has a method for it
            os.kill(process.pid, KILL)  # type: ignore[arg-type]
    deadline = time.monotonic() + PATIENCE
    for process in working:
        process.join(max(0.0, deadline - time.monotonic()))

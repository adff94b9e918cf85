"""Where teachers train and vote: processes of this machine, or a Ray cluster."""

from __future__ import annotations

import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any, Generic, Protocol, TypeVar

from ballotine.errors import BallotineError, ParameterError
from ballotine.teachers.ray_engine import RayEngine
from ballotine.teachers.shared import Shared
from ballotine.teachers.worker import ONE_THREAD, begin, one_thread, work_on

__all__ = ["Engine", "LocalEngine", "Lost", "RayEngine", "WorkerLostError", "make_engine"]

Task = TypeVar("Task")
Result = TypeVar("Result")
Lost = Callable[[Any, str], Any]
"""From a task whose worker died again and again, and why, to the result that stands for it."""

ATTEMPTS = 3
IDLE_SECONDS = 60
KILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # Windows knows the latter only, and means it

_workers: dict[int, Any] = {}
"""Processes that wait for work, kept from one call to the next: starting one takes seconds."""


class WorkerLostError(BallotineError):
    """A worker died with every attempt at a task."""


class Engine(Protocol):
    """Runs independent tasks and yields their results as they finish."""

    same_disk: bool
    """Whether workers see the files of this machine."""

    def map(
        self,
        work: Callable[[Task], Result],
        tasks: Iterable[Task],
        lost: Lost | None = None,
    ) -> Iterator[Result]:
        """Results in the order of completion; tasks carry their own position.

        Args:
            work: sent to the workers once; arrays that it holds are shared, not copied.
            tasks: taken one by one, as workers become free.
            lost: makes the result of a task whose worker died with every attempt; without
                it that is an error.
        """


class LocalEngine:
    """A pool of processes, one thread each; in this process when one job is asked for."""

    same_disk = True

    def __init__(self, n_jobs: int | None = None) -> None:
        self.n_jobs = n_jobs

    def map(
        self,
        work: Callable[[Task], Result],
        tasks: Iterable[Task],
        lost: Lost | None = None,
    ) -> Iterator[Result]:
        """Run the tasks; a worker that is killed loses its own task only, which runs again."""
        from joblib import effective_n_jobs

        waiting = iter(tasks)
        jobs = effective_n_jobs(self.n_jobs or -1)
        first = list(islice(waiting, jobs))
        if len(first) < 2 or jobs == 1:
            yield from _here(work, _chain(first, waiting))
            return
        with Shared(work) as shared:
            # Not more workers than tasks, however many were allowed.
            yield from _Spread(shared, _chain(first, waiting), len(first), lost).results()


def _chain(first: list[Task], rest: Iterator[Task]) -> Iterator[Task]:
    yield from first
    yield from rest


def _here(work: Callable[[Task], Result], tasks: Iterator[Task]) -> Iterator[Result]:
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    controller = ThreadpoolController()
    for task in tasks:
        with one_thread(controller):
            result = work(task)
        yield result


@dataclass(frozen=True)
class _Running(Generic[Task]):
    slot: int
    task: Task
    attempt: int


class _Spread(Generic[Task, Result]):
    """Tasks over worker processes: each process has one task at a time and a pool of its own.

    One pool for all would lose the tasks of every worker when one of them is killed.
    """

    def __init__(
        self,
        work: Shared[Callable[[Task], Result]],
        tasks: Iterator[Task],
        jobs: int,
        lost: Lost | None,
    ) -> None:
        self._work = work
        self._tasks = tasks
        self._again: deque[tuple[Task, int]] = deque()
        self._idle = list(range(jobs))
        self._running: dict[Future[Result], _Running[Task]] = {}
        self._lost = lost

    def results(self) -> Iterator[Result]:
        """All results; before one is handed out, its worker has the next task."""
        try:
            self._give_work()
            while self._running:
                done, _ = wait(self._running, return_when=FIRST_COMPLETED)
                ended = [(future, self._running.pop(future)) for future in done]
                self._idle += [run.slot for _, run in ended]
                results = [found for future, run in ended for found in self._result(future, run)]
                self._give_work()
                yield from results
        finally:
            # An error, an interruption, or nobody wants the rest: nobody waits for these.
            for run in self._running.values():
                _end(run.slot)

    def _give_work(self) -> None:
        while self._idle:
            upcoming = self._again.popleft() if self._again else self._next()
            if upcoming is None:
                return
            task, attempt = upcoming
            slot = self._idle.pop()
            future = _submit(slot, self._work, task)
            self._running[future] = _Running(slot, task, attempt)

    def _next(self) -> tuple[Task, int] | None:
        for task in self._tasks:
            return task, 1
        return None

    def _result(self, future: Future[Result], run: _Running[Task]) -> list[Result]:
        try:
            return [future.result()]
        except BrokenProcessPool as problem:
            _workers.pop(run.slot, None)
            if run.attempt < ATTEMPTS:
                self._again.append((run.task, run.attempt + 1))
                return []
            reason = f"its process ended {ATTEMPTS} times without a result"
            if self._lost is None:
                raise WorkerLostError(f"a task was given up: {reason}") from problem
            return [self._lost(run.task, reason)]


def _submit(slot: int, work: Shared[Callable[[Task], Result]], task: Task) -> Future[Result]:
    try:
        future: Future[Result] = _worker(slot).submit(work_on, work, task)
    except BrokenProcessPool:  # it was killed while it had nothing to do
        del _workers[slot]
        future = _worker(slot).submit(work_on, work, task)
    return future


def _end(slot: int) -> None:
    """Kill the worker of a slot, whatever it is doing."""
    if (worker := _workers.pop(slot, None)) is not None:
        # The pool sees that it is broken and cleans up; its own way to kill workers loses track
        # of tasks that wait (KeyError in its thread).
        for pid in list(worker._processes):
            with suppress(ProcessLookupError):
                os.kill(pid, KILL)


def _worker(slot: int) -> Any:
    from joblib.externals.loky import ProcessPoolExecutor

    if slot not in _workers:
        _workers[slot] = ProcessPoolExecutor(
            1, timeout=IDLE_SECONDS, env=ONE_THREAD, initializer=begin, initargs=(os.getpid(),)
        )
    return _workers[slot]


def make_engine(name: str, n_jobs: int | None = None) -> Engine:
    """The engine of that name."""
    if name == "local":
        return LocalEngine(n_jobs)
    if name == "ray":
        return RayEngine(n_jobs)
    raise ParameterError(f"unknown engine {name!r}; choose local or ray")

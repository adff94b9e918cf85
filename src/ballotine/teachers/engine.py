"""Engines on which teachers train and vote: local processes, or a Ray cluster."""

from __future__ import annotations

import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, Generic, Protocol, TypeVar

from ballotine.errors import BallotineError, ParameterError
from ballotine.teachers.ray_engine import RayEngine
from ballotine.teachers.shared import Shared
from ballotine.teachers.worker import ONE_THREAD, one_thread, run_shared_task, start_worker

__all__ = ["Engine", "LocalEngine", "Lost", "RayEngine", "WorkerLostError", "make_engine"]

Task = TypeVar("Task")
Result = TypeVar("Result")
Lost = Callable[[Any, str], Any]
"""Makes a substitute result for a task whose worker died in every attempt, given the reason."""

ATTEMPTS = 3
IDLE_SECONDS = 60
KILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # Windows has only SIGTERM, which kills

_workers: dict[int, Any] = {}
"""Worker processes by slot, reused between calls: starting one takes seconds."""


class WorkerLostError(BallotineError):
    """A worker died in every attempt at a task."""


class Engine(Protocol):
    """Runs independent tasks and yields their results as they finish."""

    same_disk: bool
    """Whether workers can read the files of this machine."""

    def map(
        self,
        work: Callable[[Task], Result],
        tasks: Iterable[Task],
        lost: Lost | None = None,
    ) -> Iterator[Result]:
        """Yield results in the order of completion; tasks carry their own position.

        Args:
            work: sent to the workers once; its arrays are shared, not copied.
            tasks: taken one by one as workers become free.
            lost: makes the result of a task whose worker died in every attempt; None raises
                `WorkerLostError`.
        """


class LocalEngine:
    """Worker processes with one thread each; with one job, this process."""

    same_disk = True

    def __init__(self, n_jobs: int | None = None) -> None:
        self.n_jobs = n_jobs

    def map(
        self,
        work: Callable[[Task], Result],
        tasks: Iterable[Task],
        lost: Lost | None = None,
    ) -> Iterator[Result]:
        """Run the tasks; if a worker is killed, only its own task is repeated."""
        from joblib import effective_n_jobs

        waiting = iter(tasks)
        jobs = effective_n_jobs(self.n_jobs or -1)
        first = list(islice(waiting, jobs))
        if len(first) < 2 or jobs == 1:
            yield from _run_here(work, chain(first, waiting))
            return
        with Shared(work) as shared:
            # Never more workers than tasks.
            yield from _Pool(shared, chain(first, waiting), len(first), lost).results()


def _run_here(work: Callable[[Task], Result], tasks: Iterator[Task]) -> Iterator[Result]:
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


class _Pool(Generic[Task, Result]):
    """Worker processes, each with its own executor and one task at a time.

    A shared executor would lose the tasks of all workers when one of them is killed.
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
        self._retries: deque[tuple[Task, int]] = deque()
        self._idle = list(range(jobs))
        self._running: dict[Future[Result], _Running[Task]] = {}
        self._lost = lost

    def results(self) -> Iterator[Result]:
        """Yield all results; a worker gets its next task before its result is yielded."""
        try:
            self._assign_tasks()
            while self._running:
                done, _ = wait(self._running, return_when=FIRST_COMPLETED)
                ended = [(future, self._running.pop(future)) for future in done]
                self._idle += [run.slot for _, run in ended]
                results = [found for future, run in ended for found in self._result(future, run)]
                self._assign_tasks()
                yield from results
        finally:
            # After an error, an interruption, or if the caller stopped iterating.
            for run in self._running.values():
                _kill(run.slot)

    def _assign_tasks(self) -> None:
        while self._idle:
            upcoming = self._retries.popleft() if self._retries else self._next_task()
            if upcoming is None:
                return
            task, attempt = upcoming
            slot = self._idle.pop()
            future = _submit(slot, self._work, task)
            self._running[future] = _Running(slot, task, attempt)

    def _next_task(self) -> tuple[Task, int] | None:
        for task in self._tasks:
            return task, 1
        return None

    def _result(self, future: Future[Result], run: _Running[Task]) -> list[Result]:
        try:
            return [future.result()]
        except BrokenProcessPool as problem:
            _workers.pop(run.slot, None)
            if run.attempt < ATTEMPTS:
                self._retries.append((run.task, run.attempt + 1))
                return []
            reason = f"its process ended {ATTEMPTS} times without a result"
            if self._lost is None:
                raise WorkerLostError(f"a task could not be finished: {reason}") from problem
            return [self._lost(run.task, reason)]


def _submit(slot: int, work: Shared[Callable[[Task], Result]], task: Task) -> Future[Result]:
    try:
        future: Future[Result] = _worker(slot).submit(run_shared_task, work, task)
    except BrokenProcessPool:  # it was killed while it was idle
        del _workers[slot]
        future = _worker(slot).submit(run_shared_task, work, task)
    return future


def _kill(slot: int) -> None:
    """Kill the worker of a slot, whatever it is doing."""
    if (worker := _workers.pop(slot, None)) is not None:
        # The executor notices and cleans up. Its own method to kill workers loses track of
        # waiting tasks (KeyError in its thread).
        for pid in list(worker._processes):
            with suppress(ProcessLookupError):
                os.kill(pid, KILL)


def _worker(slot: int) -> Any:
    from joblib.externals.loky import ProcessPoolExecutor

    if slot not in _workers:
        _workers[slot] = ProcessPoolExecutor(
            1,
            timeout=IDLE_SECONDS,
            env=ONE_THREAD,
            initializer=start_worker,
            initargs=(os.getpid(),),
        )
    return _workers[slot]


def make_engine(name: str, n_jobs: int | None = None) -> Engine:
    """Return the engine of that name."""
    if name == "local":
        return LocalEngine(n_jobs)
    if name == "ray":
        return RayEngine(n_jobs)
    raise ParameterError(f"unknown engine {name!r}; choose local or ray")

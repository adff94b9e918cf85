"""Where teachers train: processes of this machine, or a Ray cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

from ballotine.errors import ParameterError

Task = TypeVar("Task")
Result = TypeVar("Result")


class Engine(Protocol):
    """Runs independent tasks and yields their results as they finish."""

    def map(self, work: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Result]:
        """Results in the order of completion; tasks carry their own position."""


class LocalEngine:
    """A pool of processes, one thread each; in this process when one job is asked for."""

    def __init__(self, n_jobs: int | None = None) -> None:
        self.n_jobs = n_jobs

    def map(self, work: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Result]:
        """Run the tasks with joblib."""
        from joblib import Parallel, delayed

        runner = Parallel(
            n_jobs=self.n_jobs or -1, return_as="generator_unordered", batch_size="auto"
        )
        yield from runner(delayed(work)(task) for task in tasks)


class RayEngine:
    """Tasks on a Ray cluster: the one RAY_ADDRESS names, or one started here."""

    def __init__(self, n_jobs: int | None = None) -> None:
        self.n_jobs = n_jobs
        self._ray = _import_ray()

    def map(self, work: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Result]:
        """Run the tasks as Ray tasks, results as they come."""
        ray = self._ray
        if not ray.is_initialized():
            ray.init(
                num_cpus=self.n_jobs,
                include_dashboard=False,
                log_to_driver=False,
                logging_level="ERROR",
            )
        remote = ray.remote(work)
        waiting = [remote.remote(task) for task in tasks]
        while waiting:
            done, waiting = ray.wait(waiting, num_returns=1)
            yield from ray.get(done)


def _import_ray() -> Any:
    try:
        import ray
    except ImportError as problem:
        raise ParameterError(
            "engine 'ray' needs the optional part: pip install 'ballotine[ray]'"
        ) from problem
    return ray


def make_engine(name: str, n_jobs: int | None = None) -> Engine:
    """The engine of that name."""
    if name == "local":
        return LocalEngine(n_jobs)
    if name == "ray":
        return RayEngine(n_jobs)
    raise ParameterError(f"unknown engine {name!r}; choose local or ray")

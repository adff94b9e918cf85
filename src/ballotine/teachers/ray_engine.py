"""The engine that runs tasks on a Ray cluster."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, TypeVar
from urllib.parse import urlsplit

from ballotine.errors import ParameterError
from ballotine.teachers.worker import run_task

Task = TypeVar("Task")
Result = TypeVar("Result")
RETRIES = 2
CONNECT_SECONDS = 10


class RayEngine:
    """Runs tasks on the Ray cluster at an address or RAY_ADDRESS, or on one started here.

    Args:
        n_jobs: how many tasks may run at once; None leaves that to the cluster.
        address: the address of the cluster.
    """

    same_disk = False

    def __init__(self, n_jobs: int | None = None, address: str | None = None) -> None:
        self.n_jobs = n_jobs
        self.address = address or os.environ.get("RAY_ADDRESS")
        self._ray = _import_ray()

    def map(
        self,
        work: Callable[[Task], Result],
        tasks: Iterable[Task],
        lost: Callable[[Any, str], Any] | None = None,
    ) -> Iterator[Result]:
        """Run the tasks as Ray tasks; Ray repeats those whose worker died."""
        ray = self._ray
        window = self._connect()
        remote = ray.remote(num_cpus=1, max_retries=RETRIES)(run_task)
        held = ray.put(work)  # its arrays go to the object store once, and workers map them
        waiting = iter(tasks)
        running = {remote.remote(held, task): task for task in islice(waiting, window)}
        while running:
            done, _ = ray.wait(list(running), num_returns=1)
            ended = [(reference, running.pop(reference)) for reference in done]
            running.update({remote.remote(held, t): t for t in islice(waiting, len(ended))})
            for reference, task in ended:
                yield self._result(reference, task, lost)

    def _result(self, reference: Any, task: Any, lost: Callable[[Any, str], Any] | None) -> Any:
        try:
            return self._ray.get(reference)
        except self._ray.exceptions.RayTaskError:
            raise  # the work itself failed
        except self._ray.exceptions.RayError as problem:
            if lost is None:
                raise
            return lost(task, f"its worker was lost ({type(problem).__name__})")

    def _connect(self) -> int:
        """Join or start a cluster; return how many tasks to submit at once."""
        ray = self._ray
        quiet = {"include_dashboard": False, "log_to_driver": False, "logging_level": "ERROR"}
        if not ray.is_initialized():
            handler = signal.getsignal(signal.SIGTERM)
            if self.address is None or self.address == "local":
                ray.init(address="local", num_cpus=self.n_jobs, **quiet)
            else:
                self._join()
            # Ray installs its own SIGTERM handler: restore the previous one.
            if callable(handler) and threading.current_thread() is threading.main_thread():
                signal.signal(signal.SIGTERM, handler)
        processors = int(ray.cluster_resources().get("CPU", 1))
        # Twice as many as can run, so that no processor idles while a result is transferred.
        return self.n_jobs or 2 * max(processors, 1)

    def _join(self) -> None:
        ray = self._ray
        try:
            require_listener(str(self.address))
            ray.init(address=self.address, log_to_driver=False, logging_level="ERROR")
        except (RuntimeError, ValueError, OSError, ray.exceptions.RayError) as problem:
            raise ParameterError(
                f"no Ray cluster answers at {self.address!r}: check the address (RAY_ADDRESS), "
                "or unset it to use this machine only"
            ) from problem


def require_listener(address: str) -> None:
    """Fail at once if nothing listens at an address with a port: Ray would wait for minutes."""
    parts = urlsplit(address if "://" in address else f"//{address}")
    if parts.hostname is not None and parts.port is not None:
        socket.create_connection((parts.hostname, parts.port), CONNECT_SECONDS).close()


def _import_ray() -> Any:
    try:
        import ray
    except ImportError as problem:
        raise ParameterError(
            "the engine 'ray' is an optional extra: pip install 'ballotine[ray]'"
        ) from problem
    return ray

"""Several processes on one ledger: together they never exceed the budget."""

from __future__ import annotations

import itertools
import multiprocessing
from contextlib import suppress
from multiprocessing.synchronize import Barrier
from pathlib import Path
from threading import BrokenBarrierError
from typing import Any

import numpy as np

from ballotine.ledger import Ledger, verify
from ballotine.noise import SecureNoise
from ballotine.voting import UNASKED, GNMax
from tests.ledger.conftest import BUDGET, labels, opened, queries

Results = Any  # a multiprocessing queue
MECHANISM = GNMax(80.0)  # about 2,900 answers: every meeting is at least one interleaving
PATIENCE = 20.0


class Meeting(SecureNoise):
    """Noise that waits for the other processes, between reservation and record."""

    def __init__(self, barrier: Barrier) -> None:
        self._barrier = barrier

    def words(self, purpose: str, key: bytes, count: int) -> bytes:
        with suppress(BrokenBarrierError):  # somebody has finished: go on alone
            self._barrier.wait(PATIENCE)
        return super().words(purpose, key, count)


def spend(path: Path, start: int, number: int, name: str, meeting: Barrier, out: Results) -> None:
    """Answer queries one by one, in step with the others between reservation and record."""
    with Ledger.open(path, BUDGET) as ledger:
        session = opened(ledger, MECHANISM, noise=Meeting(meeting), run=name, chunk=1)
        keys = queries(number, start)
        given = labels(session, keys)
        meeting.abort()
        out.put([(key, int(label)) for key, label in zip(keys, given, strict=True)])


def run_together(path: Path, shares: list[tuple[int, int]]) -> list[list[tuple[bytes, int]]]:
    fork = multiprocessing.get_context("fork")
    meeting, out = fork.Barrier(len(shares)), fork.Queue()
    workers = [
        fork.Process(target=spend, args=(path, start, number, f"run{i}", meeting, out))
        for i, (start, number) in enumerate(shares)
    ]
    for worker in workers:
        worker.start()
    results = [out.get(timeout=240) for _ in workers]
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    return results


def test_disjoint_queries_share_one_budget(path: Path) -> None:
    with Ledger.open(path, BUDGET) as ledger:
        allowed = ledger.spending().affordable(opened(ledger, MECHANISM).binding)
    each = allowed  # two runs want twice what there is
    results = run_together(path, [(0, each), (each, each)])
    given = sum(label != UNASKED for result in results for _, label in result)
    assert given == allowed
    with Ledger.open(path, BUDGET) as ledger:
        verify(ledger)
        assert ledger.spending().epsilon() <= BUDGET.epsilon
        paid = [e for e in ledger.entries() if e.kind in ("reserve", "record")]
        runs = [entry.payload["run"] for entry in paid]
    switches = sum(a != b for a, b in itertools.pairwise(runs))
    assert switches >= 1000, f"only {switches} interleavings of {len(runs)} entries"


def test_the_same_queries_get_one_answer_and_are_paid_for_once(path: Path) -> None:
    results = run_together(path, [(0, 150), (0, 150), (0, 150)])
    assert results[0] == results[1] == results[2]
    with Ledger.open(path, BUDGET) as ledger:
        verify(ledger)
        spending = ledger.spending()
        assert spending.recorded == 150
        assert spending.asked == 150
        orders = np.array([4.0])
        assert spending.cost(orders) == 150 * MECHANISM.events(3)[0].cost(orders)

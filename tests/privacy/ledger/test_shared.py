"""Several processes on one ledger: together they never exceed the budget."""

from __future__ import annotations

import itertools
import multiprocessing
import random
import time
from pathlib import Path

import numpy as np

from ballotine.noise import SecureNoise
from ballotine.privacy.ledger import Ledger, verify
from ballotine.types import IntArray
from ballotine.voting import Answerer, GNMax, Tallies
from tests.privacy.ledger.conftest import BUDGET, CLASSES, count, queries

MECHANISM = GNMax(80.0)


def slow_count(rows: IntArray) -> Tallies:
    """Counting ballots takes a moment, between the reservation and the record."""
    time.sleep(random.uniform(0.0, 0.002))
    return count(rows)


def spend(path: Path, start: int, number: int, name: str, ready: object, out: object) -> None:
    ready.wait()  # type: ignore[attr-defined]
    with Ledger.open(path, BUDGET) as ledger:
        answerer = Answerer(MECHANISM, ledger, SecureNoise(), CLASSES, run=name, chunk=1)
        ids = queries(number, start)
        labels = answerer.answer(ids, slow_count).labels
        out.put([(i, int(label)) for i, label in zip(ids, labels, strict=True)])  # type: ignore[attr-defined]


def run_together(path: Path, shares: list[tuple[int, int]]) -> list[list[tuple[bytes, int]]]:
    fork = multiprocessing.get_context("fork")
    ready, out = fork.Barrier(len(shares)), fork.Queue()
    workers = [
        fork.Process(target=spend, args=(path, start, number, f"run{i}", ready, out))
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
        allowed = ledger.spending().affordable(MECHANISM.events(3))
    each = allowed  # three runs want three times what there is
    results = run_together(path, [(0, each), (each, each), (2 * each, each)])
    given = sum(label != -2 for result in results for _, label in result)
    assert given == allowed
    with Ledger.open(path, BUDGET) as ledger:
        verify(ledger)
        assert ledger.spending().epsilon() <= BUDGET.epsilon
        runs = [e.payload["run"] for e in ledger.entries() if e.kind != "open"]
    switches = sum(a != b for a, b in itertools.pairwise(runs))
    assert switches >= 1000, f"only {switches} interleavings of {len(runs)} entries"


def test_the_same_queries_get_one_answer_and_are_paid_for_once(path: Path) -> None:
    results = run_together(path, [(0, 150), (0, 150), (0, 150)])
    assert results[0] == results[1] == results[2]
    with Ledger.open(path, BUDGET) as ledger:
        verify(ledger)
        spending = ledger.spending()
        assert spending.recorded == 150
        assert sum(spending.asked.values()) == 150
        orders = np.array([4.0])
        assert spending.cost(orders) == 150 * MECHANISM.events(3)[0].cost(orders)

"""An answering process is killed at random points; no spending may ever be lost."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import time
from pathlib import Path

import numpy as np
import pytest

from ballotine.ledger import Ledger, verify
from ballotine.ledger.charge import cost_of
from ballotine.noise import NoiseSource, SecureNoise, SeededNoise
from ballotine.voting import UNASKED, ConfidentGNMax, GNMax, Mechanism
from tests.ledger.conftest import BUDGET, labels, names, opened, queries

POOL = queries(600)
KILLS_PER_LEDGER = 10


def label_everything(path: Path, seen: Path, mechanism: Mechanism, noise: NoiseSource) -> None:
    """The child process: answers the pool in pieces and prints the answers."""
    with Ledger.open(path, BUDGET) as ledger, seen.open("a") as published:
        session = opened(ledger, mechanism, noise=noise, chunk=2)
        for start in range(0, len(POOL), 15):
            part = POOL[start : start + 15]
            for query, label in zip(names(session, part), labels(session, part), strict=True):
                if label != UNASKED:
                    published.write(f"{query.hex()} {label}\n")
            published.flush()


def in_child(*arguments: object) -> int:
    """Fork a real process that labels; the parent gets its number."""
    child = os.fork()
    if child == 0:
        try:
            label_everything(*arguments)  # type: ignore[arg-type]
        finally:
            os._exit(0)
    return child


def published(seen: Path) -> dict[bytes, set[int]]:
    """Every answer that a child handed out, without a half-written last line."""
    answers: dict[bytes, set[int]] = {}
    for line in seen.read_text().splitlines():
        name, _, label = line.partition(" ")
        if len(name) == 64 and label:
            answers.setdefault(bytes.fromhex(name), set()).add(int(label))
    return answers


def stored(path: Path) -> dict[bytes, int]:
    """The answers in the file, read without any of our code."""
    connection = sqlite3.connect(path)
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'reservations'").fetchone():
        connection.close()
        return {}  # killed before the first table: nothing can have left
    rows = connection.execute(
        "SELECT id, answer FROM reservations WHERE answer IS NOT NULL"
    ).fetchall()
    connection.close()
    return {bytes(name): int.from_bytes(answer, "big", signed=True) for name, answer in rows}


def inspect(path: Path, seen: Path, mechanism: Mechanism) -> None:
    """What the parent demands of the file after a kill."""
    left = published(seen)
    assert all(len(given) == 1 for given in left.values()), "two answers to one query"
    kept = stored(path)
    assert all(kept.get(name) == next(iter(given)) for name, given in left.items())
    with Ledger.open(path, BUDGET) as ledger:
        verify(ledger)
        orders = np.array([2.0, 8.0])
        given = np.array([next(iter(given)) for given in left.values()], dtype=np.int64)
        truth = np.zeros(2)
        for event, times in mechanism.realised(given, 3).items():
            truth += times * event.cost(orders)
        assert np.all(ledger.spending().cost(orders) >= truth * (1 - 1e-12))
        assert ledger.spending().epsilon() <= BUDGET.epsilon


@pytest.mark.parametrize("round_", range(5))
@pytest.mark.parametrize(
    ("mechanism", "noise"),
    [(GNMax(6.0), SecureNoise()), (ConfidentGNMax(6.0, 4.0, 8.0), SeededNoise(3))],
    ids=["gnmax-secure", "confident-seeded"],
)
def test_a_killed_run_resumes_and_never_underreports(
    tmp_path: Path, mechanism: Mechanism, noise: NoiseSource, round_: int
) -> None:
    whole = tmp_path / "whole.sqlite"
    start = time.perf_counter()
    os.waitpid(in_child(whole, tmp_path / "whole.txt", mechanism, noise), 0)
    duration = time.perf_counter() - start
    uninterrupted = stored(whole)
    assert 0 < len(uninterrupted) < len(POOL), "the budget should end inside the pool"

    path, seen = tmp_path / "ledger.sqlite", tmp_path / "seen.txt"
    seen.touch()
    moments = random.Random(round_)
    latest, kills = 1.5 * duration / KILLS_PER_LEDGER, 0
    while kills < KILLS_PER_LEDGER:
        child = in_child(path, seen, mechanism, noise)
        time.sleep(moments.uniform(0.0, latest))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            kills += 1
        else:  # it was done: the machine is faster now than when the whole run was timed
            latest /= 2
        if path.exists() and path.stat().st_size:
            inspect(path, seen, mechanism)

    os.waitpid(in_child(path, seen, mechanism, noise), 0)
    inspect(path, seen, mechanism)
    final = stored(path)
    assert len(final) == len(uninterrupted)
    if noise.seeded:
        assert final == uninterrupted


def test_cost_of_one_query_is_the_sum_of_its_events() -> None:
    orders = np.array([2.0, 5.0])
    check, argmax = ConfidentGNMax(6.0, 4.0, 8.0).events(3)
    assert cost_of((check, argmax), orders) == pytest.approx(
        check.cost(orders) + argmax.cost(orders)
    )

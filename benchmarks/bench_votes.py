"""Answering and accounting saved votes: 9,000 queries of 250 teachers, through a ledger file.

    python benchmarks/bench_votes.py [--repeats 5] [--alone 600]

Prints how long it takes to answer 9,000 saved queries through a ledger on disk and to account for
them (tight, data-independent curves), in fresh processes after start-up and again in this one,
and how many times slower a query is if answered alone (a chunk of one), in the same run. Exits
with 1 if answering and accounting take a second or more of CPU time in a fresh process; wall-clock
time depends on other load.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ballotine.data.ballots import open_votes
from ballotine.ledger import Ledger
from ballotine.noise import SecureNoise
from ballotine.voting import CastBallots, ConfidentGNMax, Plan, Rules, Session
from ballotine.voting.account import Accountant
from ballotine.voting.saved import SavedVotes, vote

QUERIES, TEACHERS, CLASSES, DELTA = 9000, 250, 10, 1e-5
MECHANISM = ConfidentGNMax(40.0, 200.0, 150.0)
PLAN = Plan.standard_of(MECHANISM, TEACHERS, DELTA, epsilon=50.0)
RULES = Rules(PLAN, CLASSES)


def simulated_ballots(seed: int = 0) -> np.ndarray:
    """Simulate teachers that agree on most queries."""
    draw = np.random.default_rng(seed)
    favourite = draw.integers(CLASSES, size=(QUERIES, 1))
    agree = draw.random((QUERIES, TEACHERS)) < draw.beta(2.66, 0.25, size=(QUERIES, 1))
    others = draw.integers(CLASSES, size=(QUERIES, TEACHERS))
    return np.where(agree, favourite, others).astype(np.uint8)


def saved(path: Path) -> SavedVotes:
    return SavedVotes.of(open_votes(path), MECHANISM, CLASSES)


def answer(path: Path) -> None:
    """Answer all queries as ``ballotine vote`` does, into a new ledger."""
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        answers, _, _ = vote(saved(path), RULES, Path(folder) / "ledger.sqlite", SecureNoise())
        assert answers.asked.all()


def account(path: Path) -> None:
    """Account for all queries as ``ballotine account --bounds tight`` does."""
    accountant = Accountant(PLAN, "tight", SecureNoise())
    for chunk in saved(path).chunks():
        accountant.add(chunk, CLASSES, DELTA)
    assert accountant.result(DELTA).queries == QUERIES


def alone(path: Path, queries: int) -> None:
    """Answer some queries, each in its own chunk."""
    voters = CastBallots(b"", np.load(path))
    keys = [str(row).encode() for row in range(queries)]
    with (
        tempfile.TemporaryDirectory(dir=path.parent) as folder,
        Ledger.open(Path(folder) / "ledger.sqlite", RULES.promise()) as ledger,
    ):
        session = Session.open(RULES, voters, ledger, SecureNoise(), chunk=1)
        assert session.answer(np.arange(queries), keys).asked.all()


def seconds(job: Callable[[], object]) -> tuple[float, float]:
    """Return wall-clock and CPU seconds."""
    start, used = time.perf_counter(), time.process_time()
    job()
    return time.perf_counter() - start, time.process_time() - used


def both(path: Path) -> list[float]:
    """Return wall-clock and CPU seconds of answering and accounting."""
    return [*seconds(lambda: answer(path)), *seconds(lambda: account(path))]


def first_times(path: Path) -> list[float]:
    """Return the same for a fresh process, without its start-up."""
    command = [sys.executable, __file__, "--once", str(path)]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    return [float(number) for number in ended.stdout.split()]


def measure(path: Path, repeats: int, few: int) -> bool:
    """Print the medians and the ratio; return whether the target is met."""
    fresh, again, single = [], [], []
    alone(path, 10)  # warm-up: curves are computed once
    for _ in range(repeats):
        fresh.append(first_times(path))
        again.append(both(path))
        single.append(seconds(lambda: alone(path, few)))
    print(f"{QUERIES} queries × {TEACHERS} teachers, Confident-GNMax, ledger on disk, tight")
    for label, times in (("first in a process", fresh), ("again", again)):
        wall, used, wall_account, used_account = np.median(times, axis=0)
        print(
            f"  {label:<19} answered {wall:.3f} s ({used:.3f} s of the processor), "
            f"accounted {wall_account:.3f} s ({used_account:.3f} s)"
        )
    each = np.median(single, axis=0) / few * 1e6
    chunked = np.median(again, axis=0)[:2] / QUERIES * 1e6
    for label, one, many in zip(("on the wall", "of the processor"), each, chunked, strict=True):
        print(
            f"  a query, {label:<17} alone {one:8.0f} µs, in chunks {many:6.1f} µs: "
            f"{one / many:5.1f}×"
        )
    first = np.median(fresh, axis=0)
    return bool(first[1] + first[3] < 1.0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--alone", type=int, default=600, help="queries answered one by one")
    parser.add_argument("--once", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.once is not None:
        print(*both(arguments.once))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ballots.npy"
        np.save(path, simulated_ballots())
        return 0 if measure(path, arguments.repeats, arguments.alone) else 1


if __name__ == "__main__":
    sys.exit(main())

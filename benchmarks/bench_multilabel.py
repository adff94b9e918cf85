"""Exact costs of multi-label votes, against plain loops over queries.

    python benchmarks/bench_multilabel.py

Prints the seconds for 100,000 queries × 20 labels of Binary voting, for τ voting, and for 10,000
queries of Powerset voting over 2^20 sets (law and exact cost), each at 10 orders and with
simulated ballots of 50 teachers; next to each, the speed-up over a loop over queries, measured on
a slice in the same run. Exits with 1 if a target of 5 seconds is missed or the two disagree.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
from scipy.stats import norm

from ballotine.privacy import multilabel, powerset
from ballotine.types import FloatArray

TEACHERS, LABELS, SIGMA, TAU = 50, 20, 9.0, 1.8
SIGMA_POWERSET = 4.0
SETS = powerset.allowed_subsets(LABELS)
ORDERS = np.array([1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 32.0, 64.0])
TARGET = 5.0
SLICE = 40


def ballots(queries: int, rng: np.random.Generator) -> FloatArray:
    """Simulate few labels per query, mostly agreed on, shape (queries, 50, 20)."""
    likely = rng.beta(0.15, 1.2, size=(queries, 1, LABELS))
    drawn: FloatArray = (rng.random((queries, TEACHERS, LABELS)) < likely).astype(np.float64)
    return drawn


def clipped_counts(cast: FloatArray) -> FloatArray:
    sizes = np.maximum(cast.sum(axis=2, keepdims=True), 1.0)
    counts: FloatArray = (cast * np.minimum(1.0, TAU / np.sqrt(sizes))).sum(axis=1)
    return counts


def tallies(cast: FloatArray) -> FloatArray:
    """Return votes per observed set, padded with zeros."""
    names = cast @ (2.0 ** np.arange(LABELS))
    table = np.zeros((len(cast), TEACHERS))
    for row, query in enumerate(names):
        votes = np.unique(query, return_counts=True)[1]
        table[row, : votes.size] = votes
    return table


def divergence(log_p: FloatArray, log_q: FloatArray) -> FloatArray:
    terms = ORDERS[:, None] * log_p + (1.0 - ORDERS[:, None]) * log_q
    result: FloatArray = np.logaddexp.reduce(terms, axis=1) / (ORDERS - 1.0)
    return result


def loop_binary(counts: FloatArray) -> FloatArray:
    """Price one query and one label at a time."""
    costs = np.zeros((len(counts), ORDERS.size))
    deviation = SIGMA * np.sqrt(2.0)
    for query, row in enumerate(counts):
        forth, back = np.zeros(ORDERS.size), np.zeros(ORDERS.size)
        for count in row:
            law = _bit((2.0 * count - TEACHERS) / deviation)
            away, home = [np.zeros(ORDERS.size)], [np.zeros(ORDERS.size)]
            for moved in (count - 1.0, count + 1.0):
                if 0.0 <= moved <= TEACHERS:
                    other = _bit((2.0 * moved - TEACHERS) / deviation)
                    away.append(divergence(law, other))
                    home.append(divergence(other, law))
            forth += np.max(away, axis=0)
            back += np.max(home, axis=0)
        costs[query] = np.maximum(forth, back)
    return costs


def _bit(margin: float) -> FloatArray:
    return np.array([norm.logsf(margin), norm.logcdf(margin)])


def loop_law(counts: FloatArray) -> FloatArray:
    """Compute one query at a time, on a grid; all sets without votes as one power of Φ."""
    logs = np.full((len(counts), counts.shape[1] + 1), -np.inf)
    step = 0.02
    for query, row in enumerate(counts):
        votes = row[row > 0.0] / SIGMA_POWERSET
        crowd = float(SETS - votes.size)
        x = np.arange(1.0, max(votes.max(), 6.0) + 9.0, step)
        below = norm.logcdf(x - votes[:, None])
        everyone = below.sum(axis=0) + crowd * norm.logcdf(x)
        for winner, place in enumerate(votes):
            density = everyone - below[winner] + norm.logpdf(x - place)
            logs[query, winner] = np.logaddexp.reduce(density) + np.log(step)
        density = everyone - norm.logcdf(x) + norm.logpdf(x)
        one = np.logaddexp.reduce(density) + np.log(step)
        logs[query, votes.size : -1] = one
        logs[query, -1] = one + np.log(float(SETS - counts.shape[1]))
    return logs


def seconds(job: Callable[[], FloatArray]) -> tuple[float, FloatArray]:
    start = time.perf_counter()
    result = job()
    return time.perf_counter() - start, result


def report(
    name: str,
    counts: FloatArray,
    job: Callable[[FloatArray], FloatArray],
    loop: Callable[[FloatArray], FloatArray] | None = None,
) -> bool:
    """Print the time (and the ratio to the loop); return whether the target is met."""
    taken, result = seconds(lambda: job(counts))
    line = f"{name:<46} {len(counts):>7} queries {taken:7.2f} s"
    good = taken <= TARGET
    if loop is not None:
        slow, expected = seconds(lambda: loop(counts[:SLICE]))
        ratio = slow / SLICE * len(counts) / taken
        line += f"   {ratio:8.0f}× the loop"
        good &= bool(np.allclose(result[:SLICE], expected, rtol=1e-8, atol=1e-10))
    print(line + ("" if good else "   MISSED"))
    return good


def main() -> int:
    rng = np.random.default_rng(0)
    binary = rng.binomial(TEACHERS, rng.beta(0.15, 1.2, size=(100_000, LABELS))).astype(np.float64)
    cast = ballots(10_000, rng)
    votes = tallies(cast)
    print(f"{TEACHERS} teachers, {LABELS} labels, {ORDERS.size} orders")
    good = [
        report(
            "Binary voting, exact cost",
            binary,
            lambda counts: multilabel.data_dependent(counts, TEACHERS, ORDERS, SIGMA),
            loop_binary,
        ),
        report(
            "τ voting (l2, 1.8), joint cost",
            clipped_counts(cast),
            lambda counts: multilabel.data_dependent(counts, TEACHERS, ORDERS, SIGMA, TAU),
        ),
        report(
            "Powerset voting over 2^20 sets, law",
            votes,
            lambda counts: powerset.law(counts, SETS, SIGMA_POWERSET),
            loop_law,
        ),
        report(
            "Powerset voting over 2^20 sets, exact cost",
            votes,
            lambda counts: powerset.data_dependent(counts, SETS, ORDERS, SIGMA_POWERSET),
        ),
    ]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())

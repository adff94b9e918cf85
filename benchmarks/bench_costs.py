"""Published and exact costs against the per-query loop for Theorem 6 of Scalable PATE.

    python benchmarks/bench_costs.py [--repeats 5] [--memory]

Prints the speed-up of our Theorem 6 (one-sided, like the loop's) and of the exact two-sided cost
over the loop, for 9,000 tallies at 49 orders, measured in turn in one run. Exits with 1 if
Theorem 6 is less than 20 times as fast or the exact cost is slower than the loop. Real ballots
(such as `votes_mnist_250.npz`) in the folder BALLOTINE_DATA are used too. `--memory` prices
1,000,000 simulated tallies and prints the peak memory.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.stats import norm

from ballotine.privacy import exact, published
from ballotine.types import FloatArray

CLASSES, TEACHERS, SIGMA = 10, 250, 40.0
ORDERS = np.concatenate(([1.25, 1.5, 1.75], np.linspace(2.0, 64.0, 46)))


def real_tallies(name: str) -> FloatArray | None:
    """Count the ballots of a file in BALLOTINE_DATA, if it exists."""
    path = Path(os.environ.get("BALLOTINE_DATA", ".")) / f"votes_{name}_250.npz"
    if not path.is_file():
        return None
    with np.load(path) as stored:
        ballots = stored["ballots"]
    counts = [np.count_nonzero(ballots == label, axis=1) for label in range(CLASSES)]
    return np.stack(counts, axis=1).astype(np.float64)


def simulated_tallies(queries: int, seed: int = 0) -> FloatArray:
    """Simulate votes as on MNIST: most nearly unanimous, some split between a few classes."""
    rng = np.random.default_rng(seed)
    top = rng.beta(2.66, 0.25, size=(queries, 1))
    rest = (1.0 - top) * rng.dirichlet(np.full(CLASSES - 1, 0.2), size=queries)
    return rng.multinomial(TEACHERS, np.hstack((top, rest))).astype(np.float64)


def loop_theorem_six(counts: FloatArray) -> FloatArray:
    """Price one query at a time, as the paper's analysis is usually run."""
    costs = np.empty((len(counts), ORDERS.size))
    for query, tally in enumerate(counts):
        costs[query] = theorem_six(tally)
    return costs


def theorem_six(tally: FloatArray) -> FloatArray:
    """Scalable PATE, Proposition 7 and Theorem 6 with its conditions; else α/σ²."""
    plain = ORDERS / SIGMA**2
    winner = int(np.argmax(tally))
    gaps = (tally[winner] - np.delete(tally, winner)) / (np.sqrt(2.0) * SIGMA)
    log_q = min(np.logaddexp.reduce(norm.logsf(gaps)), np.log1p(-1.0 / tally.size))
    mu2 = SIGMA * np.sqrt(-log_q)
    mu1 = mu2 + 1.0
    eps1, eps2 = mu1 / SIGMA**2, mu2 / SIGMA**2
    if mu2 <= 1.0 or log_q + eps2 >= 0.0:
        return plain
    if log_q > (mu2 - 1.0) * eps2 - mu2 * np.log(mu1 / (mu1 - 1.0) * mu2 / (mu2 - 1.0)):
        return plain
    beta = ORDERS - 1.0
    stay = np.log1p(-np.exp(log_q))
    kept = stay + beta * (stay - np.log1p(-np.exp((log_q + eps2) * (mu2 - 1.0) / mu2)))
    lost = log_q + beta * (eps1 - log_q / (mu1 - 1.0))
    return np.where(mu1 >= ORDERS, np.minimum(np.logaddexp(kept, lost) / beta, plain), plain)


def seconds(job: Callable[[FloatArray], FloatArray], counts: FloatArray) -> float:
    start = time.perf_counter()
    job(counts)
    return time.perf_counter() - start


def compare(name: str, counts: FloatArray, repeats: int) -> bool:
    """Print the median times and ratios; return whether both targets are met."""
    jobs: dict[str, Callable[[FloatArray], FloatArray]] = {
        "loop, Theorem 6": loop_theorem_six,
        "ours, Theorem 6": lambda tallies: published.gnmax_data_dependent(
            tallies, ORDERS, SIGMA, two_sided=False
        ),
        "exact GNMax": lambda tallies: exact.gnmax(tallies, ORDERS, SIGMA),
        "exact Confident-GNMax": lambda tallies: exact.confident_gnmax(
            tallies, ORDERS, SIGMA, 200.0, 150.0
        ),
    }
    times: dict[str, list[float]] = {label: [] for label in jobs}
    for _ in range(repeats):
        for label, job in jobs.items():
            times[label].append(seconds(job, counts))
    medians = {label: float(np.median(values)) for label, values in times.items()}
    base = medians["loop, Theorem 6"]
    print(f"{name}: {len(counts)} tallies × {ORDERS.size} orders, σ = {SIGMA:g}")
    for label, median in medians.items():
        print(f"  {label:<22} {median * 1e3:8.1f} ms   {base / median:5.2f}×")
    return base >= 20 * medians["ours, Theorem 6"] and base >= medians["exact GNMax"]


def memory(queries: int = 1_000_000) -> None:
    """Price a million tallies and print the peak resident memory of this process."""
    counts = np.empty((queries, CLASSES))
    for part in range(10):
        counts[part::10] = simulated_tallies(queries // 10, part)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    taken = seconds(lambda tallies: exact.gnmax(tallies, ORDERS, SIGMA, total=True), counts)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{queries} tallies in {taken:.1f} s: peak {after:.0f} MB, {before:.0f} MB before")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--memory", action="store_true")
    arguments = parser.parse_args()
    if arguments.memory:
        memory()
        return 0
    sets = {"simulated": simulated_tallies(9000)}
    for name in ("mnist", "fashion"):
        counts = real_tallies(name)
        if counts is not None:
            sets[name] = counts
    met = [compare(name, counts, arguments.repeats) for name, counts in sets.items()]
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())

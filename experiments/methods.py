"""The cost of the same votes by every method: the table of docs/methods.md.

``python experiments/methods.py`` simulates votes; with the folder BALLOTINE_DATA it also prices
the real ballots of 250 MNIST teachers.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ballotine.noise import SeededNoise
from ballotine.privacy import conversion, exact, multilabel, pld, powerset, published, tight
from ballotine.privacy.orders import DEFAULT_ORDERS as ORDERS
from ballotine.types import FloatArray
from ballotine.voting import ConfidentGNMax, Tallies
from ballotine.voting.account import Accountant

DELTA = 1e-5
SIGMA, THRESHOLD, SIGMA_CHECK = 40.0, 200.0, 150.0
TEACHERS, LABELS, QUERIES = 50, 14, 200
LABEL_SIGMA, TAU = 9.0, 1.8


@dataclass(frozen=True)
class Priced:
    """One row: total Rényi costs by method, and the Gaussian parts for a loss distribution."""

    name: str
    published: FloatArray
    tight: FloatArray
    exact: FloatArray
    parts: list[tuple[pld.Gaussian, int]]


def main() -> None:
    print("| votes | published, classic | published, improved | tight | exact | PLD |")
    print("|---|---:|---:|---:|---:|---:|")
    for row in rows():
        classic = conversion.epsilon(ORDERS, row.published, DELTA, "classic")[0]
        improved = [conversion.epsilon(ORDERS, c, DELTA)[0] for c in (row.published, row.tight)]
        best = conversion.epsilon(ORDERS, row.exact, DELTA)[0]
        loss = pld.epsilon(row.parts, DELTA)
        cells = [f"{value:.2f}" for value in (classic, *improved, best, loss)]
        print(f"| {row.name} | " + " | ".join(cells) + " |", flush=True)


def rows() -> Iterator[Priced]:
    for name, counts in tallies().items():
        yield gnmax(f"GNMax, {name}", counts[:1000])
        yield confident(f"Confident-GNMax, {name}", counts[:1500])
    labels = label_ballots()
    yield binary("Binary, 14 labels", labels, None)
    yield binary(f"τ = {TAU} (l2), 14 labels", labels, TAU)
    yield subsets("Powerset, 14 labels", labels)
    yield from individual()


def tallies() -> dict[str, FloatArray]:
    draw = np.random.default_rng(0)
    top = draw.beta(2.66, 0.25, size=(1500, 1))
    rest = (1.0 - top) * draw.dirichlet(np.full(9, 0.2), size=1500)
    found = {"simulated": draw.multinomial(250, np.hstack((top, rest))).astype(np.float64)}
    path = Path(os.environ.get("BALLOTINE_DATA", ".")) / "votes_mnist_250.npz"
    if path.is_file():
        with np.load(path) as stored:
            found["MNIST teachers"] = Tallies.of(stored["ballots"].astype(np.int64), 10).unlock(
                reason="an experiment on public digits"
            )
    return found


def gnmax(name: str, counts: FloatArray) -> Priced:
    return Priced(
        name,
        published.gnmax_data_dependent(counts, ORDERS, SIGMA).sum(axis=0),
        len(counts) * tight.gnmax(ORDERS, SIGMA, classes=counts.shape[1]),
        exact.gnmax(counts, ORDERS, SIGMA, total=True),
        [(pld.Gaussian(pld.gnmax_shift(SIGMA)), len(counts))],
    )


def confident(name: str, counts: FloatArray) -> Priced:
    mechanism = ConfidentGNMax(SIGMA, THRESHOLD, SIGMA_CHECK)
    totals = {}
    for bounds in ("published", "tight", "exact"):
        accountant = Accountant(mechanism, bounds, SeededNoise(0), ORDERS)
        accountant.add(Tallies(counts))
        totals[bounds] = accountant.cost
    answered = accountant.answered
    parts = [
        (pld.Gaussian(1 / SIGMA_CHECK), len(counts)),
        (pld.Gaussian(pld.gnmax_shift(SIGMA)), answered),
    ]
    return Priced(name, totals["published"], totals["tight"], totals["exact"], parts)


def label_ballots() -> FloatArray:
    """Simulate 0/1 ballots of teachers that mostly agree, shape (queries, teachers, labels)."""
    draw = np.random.default_rng(1)
    share = np.where(draw.random((QUERIES, 1, LABELS)) < 0.3, 0.85, 0.08)
    return (draw.random((QUERIES, TEACHERS, LABELS)) < share).astype(np.float64)


def binary(name: str, ballots: FloatArray, tau: float | None) -> Priced:
    norms = np.sqrt(ballots.sum(axis=2, keepdims=True))
    clipped = ballots if tau is None else ballots * np.minimum(1.0, tau / np.maximum(norms, 1.0))
    squared = multilabel.squared_sensitivity(LABELS, tau)
    return Priced(
        name,
        QUERIES * multilabel.gaussian(ORDERS, LABEL_SIGMA, LABELS, tau),
        QUERIES * multilabel.tight(ORDERS, LABEL_SIGMA, LABELS, tau),
        multilabel.data_dependent(
            clipped.sum(axis=1), TEACHERS, ORDERS, LABEL_SIGMA, tau, total=True
        ),
        [(pld.Gaussian(np.sqrt(2 * squared) / LABEL_SIGMA), QUERIES)],
    )


def subsets(name: str, ballots: FloatArray) -> Priced:
    codes = (ballots @ 2.0 ** np.arange(LABELS)).astype(np.int64)
    counts = np.zeros((QUERIES, TEACHERS))
    for query, row in enumerate(codes):
        found = np.unique(row, return_counts=True)[1]
        counts[query, : len(found)] = found
    allowed = powerset.allowed_subsets(LABELS)
    return Priced(
        name,
        QUERIES * published.gnmax(ORDERS, LABEL_SIGMA),
        QUERIES * powerset.cost(ORDERS, LABEL_SIGMA, allowed=allowed),
        powerset.data_dependent(counts, allowed, ORDERS, LABEL_SIGMA, total=True),
        [(pld.Gaussian(pld.gnmax_shift(LABEL_SIGMA)), QUERIES)],
    )


def individual() -> Iterator[Priced]:
    """Price three groups of teachers with weights that follow their budgets 1, 2 and 3."""
    draw = np.random.default_rng(2)
    weights = np.repeat([1.0, 2.0, 3.0], [85, 108, 57])
    weights = weights / weights.mean()
    votes = np.where(draw.random((500, 250)) < 0.85, 0, draw.integers(1, 10, (500, 250)))
    counts = np.stack([((votes == label) * weights).sum(axis=1) for label in range(10)], axis=1)
    for budget, weight in zip((1, 2, 3), np.unique(weights), strict=True):
        yield Priced(
            f"weighting, group with ε = {budget} (weight {weight:.2f})",
            published.gnmax_data_dependent(counts, ORDERS, SIGMA, weight).sum(axis=0),
            len(counts) * tight.gnmax(ORDERS, SIGMA, weight, classes=10),
            exact.gnmax(counts, ORDERS, SIGMA, weight, total=True),
            [(pld.Gaussian(pld.gnmax_shift(SIGMA, weight)), len(counts))],
        )


if __name__ == "__main__":
    main()

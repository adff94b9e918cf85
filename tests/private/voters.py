"""Ballots that are chosen, not learnt, and teachers that cast exactly these.

The tallies are distinctive: whoever finds one of them somewhere has found a leak.
"""

from __future__ import annotations

from pathlib import Path
from typing import Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

QUERIES, TEACHERS, CLASSES, LABELS = 14, 97, 6, 8


def _ballots() -> np.ndarray:
    draw = np.random.default_rng(20)
    shares = draw.dirichlet(np.full(CLASSES, 1.2), size=QUERIES)
    return np.array([draw.choice(CLASSES, size=TEACHERS, p=share) for share in shares])


BALLOTS = _ballots()
"""Class numbers, shape (queries, teachers)."""

TALLIES = np.stack([(label == BALLOTS).sum(axis=1) for label in range(CLASSES)], axis=1)
"""What nobody may see, shape (queries, classes)."""

LABEL_BALLOTS = (
    np.random.default_rng(21).random((QUERIES, TEACHERS, LABELS)) < np.linspace(0.1, 0.9, LABELS)
).astype(np.uint8)
"""0/1 ballots of several labels, shape (queries, teachers, labels)."""

LABEL_TALLIES = LABEL_BALLOTS.sum(axis=1)


class Voter(ClassifierMixin, BaseEstimator):
    """A teacher that votes as BALLOTS says: column by its record, row by the query's number."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> Self:
        self.classes_ = np.unique(y)
        self.column_ = int(X[np.asarray(y) == 0, 0][0])
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        return BALLOTS[X[:, 1].astype(int), self.column_]


def private_rows() -> tuple[np.ndarray, np.ndarray]:
    """Two records per teacher, one of each class: dealt by class, each teacher gets such a pair."""
    numbers = np.tile(np.arange(TEACHERS, dtype=np.float64), 2)
    return np.column_stack([numbers, np.zeros_like(numbers)]), np.repeat([0, 1], TEACHERS)


def public_rows() -> np.ndarray:
    """One row per query."""
    return np.column_stack([np.zeros(QUERIES), np.arange(QUERIES, dtype=np.float64)])


RUNFILE = """
[run]
name = "secret"
folder = "out"
[data]
private = "private.npz"
public = "public.npz"
test = "test.npz"
classes = [0, 1, 2, 3, 4, 5]
[partition]
kind = "stratified"
[teachers]
number = 97
kind = "tests.private.voters.Voter"
jobs = 1
[voting]
mechanism = "confident-gnmax"
sigma = 15.0
threshold = -100.0
sigma_threshold = 20.0
[budget]
epsilon = 20.0
delta = 1e-5
ledger = "data.ledger.sqlite"
[student]
kind = "nearest-neighbours"
options = { n_neighbors = 1 }
"""


def write_run(folder: Path) -> Path:
    """Arrays and a run file, as a person would lay them out."""
    X, y = private_rows()
    np.savez(folder / "private.npz", X=X, y=y)
    np.savez(folder / "public.npz", X=public_rows())
    np.savez(folder / "test.npz", X=public_rows(), y=np.arange(QUERIES) % CLASSES)
    path = folder / "run.toml"
    path.write_text(RUNFILE)
    return path

"""Rows and ballots: Fashion-MNIST with saved votes, or digits with a simulated ensemble."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ballotine.data import named
from ballotine.data.fetch import data_folder
from ballotine.errors import DataError, DataUnavailableError
from ballotine.experiments.table import Setting
from ballotine.types import IntArray, Table

CLASSES = 10
TEACHERS = 250
SAVED_VOTES = "votes_fashion_250.npz"
SAVED_NOTE = (
    "saved votes: one ensemble of 250 small convolutional teachers of 240 records each, 74 % "
    "right on average, their plurality 80 %; seeds draw the queries, the noise and the students "
    "anew, not the teachers"
)
QUICK_NOTE = (
    "quick: scikit-learn's digits and a simulated ensemble, so the numbers mean nothing for "
    "Fashion-MNIST"
)
QUICK_PUBLIC = 1_500
QUICK_SEEDS = 1


@dataclass(frozen=True, eq=False)
class Pool:
    """Public rows, what the teachers say about them, and rows to judge students by.

    Attributes:
        name: for titles.
        X: public rows; y: their classes, which only judges see.
        ballots: class numbers, shape (public rows, teachers).
        X_test: the evaluation slice; y_test: its classes.
        shape: of one image.
        notes: what to know about them.
    """

    name: str
    X: Table
    y: IntArray
    ballots: IntArray
    X_test: Table
    y_test: IntArray
    shape: tuple[int, int, int]
    notes: tuple[str, ...]

    @property
    def digest(self) -> bytes:
        """Tells these rows and ballots from others."""
        found = hashlib.sha256(self.name.encode())
        for part in (self.X, self.y, self.ballots, self.X_test):
            found.update(str(part.shape).encode() + np.ascontiguousarray(part[::97]).tobytes())
        return found.digest()


def pool_of(setting: Setting) -> Pool:
    """What an experiment works on: Fashion-MNIST, or for a quick look digits."""
    return digits() if setting.quick else fashion(setting)


def fashion(setting: Setting) -> Pool:
    """The test images: the first 9,000 to ask about, the last 1,000 for evaluation."""
    ballots, truth = saved_votes(data_folder(setting.data))
    found = named.get("fashion-mnist", setting.data)
    assert found.X_test is not None
    assert found.y_test is not None
    X, y, public = found.X_test.astype(np.float32), found.y_test.astype(np.int64), len(ballots)
    if not np.array_equal(y[:public], truth):
        raise DataError(f"{SAVED_VOTES} belongs to other images than these")
    return Pool(
        "Fashion-MNIST",
        X[:public],
        y[:public],
        ballots,
        X[public:],
        y[public:],
        (1, 28, 28),
        (SAVED_NOTE,),
    )


def saved_votes(folder: Path | None) -> tuple[IntArray, IntArray]:
    """Ballots of shape (queries, teachers), and the classes of the queries."""
    if folder is None or not (folder / SAVED_VOTES).is_file():
        raise DataUnavailableError(
            f"this experiment needs the file {SAVED_VOTES} in the data folder (--data): arrays "
            "ballots (9,000 queries × 250 teachers) and y; --quick goes without it"
        )
    try:
        with np.load(folder / SAVED_VOTES, allow_pickle=False) as archive:
            return archive["ballots"].astype(np.int64), archive["y"].astype(np.int64)
    except (OSError, ValueError, KeyError):
        raise DataError(f"{SAVED_VOTES} does not hold the arrays ballots and y") from None


def digits() -> Pool:
    """Digits, and teachers who err independently: some rows are harder than others."""
    found = named.get("digits", None, download=False)
    X, y = found.X.astype(np.float32), found.y.astype(np.int64)
    return Pool(
        "digits",
        X[:QUICK_PUBLIC],
        y[:QUICK_PUBLIC],
        simulated(y[:QUICK_PUBLIC]),
        X[QUICK_PUBLIC:],
        y[QUICK_PUBLIC:],
        (1, 8, 8),
        (QUICK_NOTE,),
    )


def simulated(truth: IntArray) -> IntArray:
    """Ballots of teachers of whom a share that differs from row to row is right."""
    rng = np.random.default_rng(0)
    share = rng.beta(4.0, 1.0, size=(len(truth), 1))
    right = rng.random((len(truth), TEACHERS)) < share
    wrong = (truth[:, None] + rng.integers(1, CLASSES, size=right.shape)) % CLASSES
    return np.where(right, truth[:, None], wrong).astype(np.int64)


def seeds_of(setting: Setting) -> range:
    """The seeds of an experiment; a quick one uses few."""
    return range(min(setting.seeds, QUICK_SEEDS) if setting.quick else setting.seeds)

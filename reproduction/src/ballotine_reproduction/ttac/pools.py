"""The rows: private ones for teachers, public ones to label, and the last to judge students."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass

import numpy as np
from torch import nn

from ballotine.data.named import sets as named
from ballotine.errors import DataUnavailableError
from ballotine.neural.zoo import Shape
from ballotine.types import IntArray, Matrix
from ballotine_reproduction.table import Setting

PUBLIC = 9_000
HIDDEN = 64
TEACHERS = 10
QUICK_SEEDS = 1


@dataclass(frozen=True, eq=False)
class Pool:
    """Rows of one set, cut as the paper cuts MNIST.

    Attributes:
        name: for titles.
        X: private rows; y: their classes.
        X_public: rows to label; y_public: their classes, which only judges see.
        X_test: rows on which students are judged; y_test: their classes.
        shape: of one input.
        notes: what to know about them.
    """

    name: str
    X: Matrix
    y: IntArray
    X_public: Matrix
    y_public: IntArray
    X_test: Matrix
    y_test: IntArray
    shape: Shape
    notes: tuple[str, ...] = ()

    @property
    def digest(self) -> bytes:
        """Tells these rows from others."""
        found = hashlib.sha256(self.name.encode())
        for rows in (self.X, self.y, self.X_public):
            found.update(str(rows.shape).encode() + np.ascontiguousarray(rows[::97]).tobytes())
        return found.digest()


def one_hidden_layer(shape: Shape, outputs: int) -> nn.Module:
    """784-64-10 for MNIST: the network of teachers, averaging model and students alike."""
    return nn.Sequential(
        nn.Flatten(),
        nn.Linear(math.prod(shape), HIDDEN),
        nn.ReLU(),
        nn.Linear(HIDDEN, outputs),
    )


def pool_of(setting: Setting) -> Pool:
    """MNIST; scikit-learn's digits when a quick look finds no MNIST."""
    try:
        found = named.get("mnist", setting.data, download=not setting.quick)
    except DataUnavailableError:
        if not setting.quick:
            raise
        return _digits()
    assert found.X_test is not None
    assert found.y_test is not None
    X, y = centred(found.X), found.y.astype(np.int64)
    X_test, y_test = centred(found.X_test), found.y_test.astype(np.int64)
    public = PUBLIC
    notes: tuple[str, ...] = ()
    if setting.quick:
        X, y, notes = X[:5_000], y[:5_000], ("quick: 5,000 private records",)
    return Pool(
        "MNIST",
        X,
        y,
        X_test[:public],
        y_test[:public],
        X_test[public:],
        y_test[public:],
        (1, 28, 28),
        notes,
    )


def _digits() -> Pool:
    found = named.get("digits", None, download=False)
    X, y = centred(found.X), found.y.astype(np.int64)
    return Pool(
        "digits",
        X[:1_000],
        y[:1_000],
        X[1_000:1_500],
        y[1_000:1_500],
        X[1_500:],
        y[1_500:],
        (1, 8, 8),
        ("quick, without MNIST: scikit-learn's digits stand in for it",),
    )


def centred(X: Matrix) -> Matrix:
    """Pixels in [0, 1] stretched by numbers chosen by hand, not read from any record."""
    return (3.0 * np.asarray(X, dtype=np.float32) - 0.4).astype(np.float32)


def uncentred(X: Matrix) -> Matrix:
    """Back to pixels, so that what an image is turned away from is background."""
    return ((np.asarray(X, dtype=np.float32) + 0.4) / 3.0).astype(np.float32)


def seeds_of(setting: Setting) -> range:
    """The seeds of an experiment; a quick one uses few."""
    return range(min(setting.seeds, QUICK_SEEDS) if setting.quick else setting.seeds)

"""How good teachers of 240 images can be: the ceiling of everything a student learns."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.svm import SVC

from ballotine.neural import TorchClassifier
from ballotine.types import IntArray
from ballotine_reproduction.patepp import ensemble
from ballotine_reproduction.patepp.ensemble import CLASSES, SHAPE, TEACHERS, images_of, votes
from ballotine_reproduction.table import Cell, Setting, Table

COMPARED = 12
ASKED = 3_000
COLUMNS = ("teacher", "one teacher, %", f"plurality of {COMPARED}, %", "seconds each")


def _net(network: str, rate: float, epochs: int, augment: str | None) -> Any:
    return TorchClassifier(
        network, SHAPE, epochs=epochs, learning_rate=rate, augment=augment, random_state=0
    )


KINDS: dict[str, Callable[[], Any]] = {
    "small-cnn, 40 epochs": lambda: _net("small-cnn", 3e-3, 40, None),
    "small-cnn, augmented, 60 epochs": lambda: _net("small-cnn", 3e-3, 60, "rotate-shift"),
    "pate-cnn, augmented, 60 epochs": lambda: _net("pate-cnn", 1e-3, 60, "rotate-shift"),
    "SVM on pixels": lambda: SVC(C=10.0, gamma=0.01),
}
"""On pixels; beside these stands what the tables use, on patches."""


def teachers(setting: Setting) -> Table:
    """Accuracies of a few teachers of each kind on public rows."""
    if setting.quick:
        return _quick(setting)
    images = images_of(setting, "fashion-mnist")
    asked, truth = images.X_public[:ASKED], images.y_public[:ASKED]
    rows: list[tuple[Cell, ...]] = []
    for name, kind in KINDS.items():
        rows.append(_row(setting, name, kind(), images.X, images.y, asked, truth))
    seen = ensemble.features(images)
    used = ensemble.teacher(), seen.transform(images.X), images.y, seen.transform(asked)
    rows.append(_row(setting, "SVM on patches", *used, truth))
    title = f"Teachers of 240 images each ({images.title})"
    notes = (
        f"accuracy on the first {ASKED:,} public rows of the first {COMPARED} teachers",
        "patches: found in the 9,000 public images without labels; private ones have no part in it",
        "seconds: training and voting of one teacher, on one of the processes used",
    )
    return Table(title, COLUMNS, tuple(rows), notes)


def _quick(setting: Setting) -> Table:
    """Digits: the road, not the numbers."""
    from ballotine_reproduction.patepp.pools import QUICK_NOTE, digits

    pool = digits()
    half = len(pool.X) // 2
    truth = pool.y[half:]
    rows = (
        _row(setting, "SVM on pixels", SVC(), pool.X[:half], pool.y[:half], pool.X[half:], truth),
        _row(
            setting,
            "SVM on patches",
            SVC(),
            pool.patches[:half],
            pool.y[:half],
            pool.patches[half:],
            truth,
        ),
    )
    return Table("Teachers of few images each (digits)", COLUMNS, rows, (QUICK_NOTE,))


def _row(
    setting: Setting, name: str, estimator: Any, X: Any, y: IntArray, asked: Any, truth: IntArray
) -> tuple[Cell, ...]:
    start = time.monotonic()
    dealt = COMPARED if setting.quick else TEACHERS
    found = votes(setting, estimator, X, y, asked, COMPARED, dealt)
    each = (time.monotonic() - start) / COMPARED
    counts = np.stack([(found == c).sum(axis=1) for c in range(CLASSES)], axis=1)
    one = 100.0 * float(np.mean(found == truth[:, None]))
    plurality = 100.0 * float(np.mean(counts.argmax(axis=1) == truth))
    return name, f"{one:.1f}", f"{plurality:.1f}", f"{each:.1f}"

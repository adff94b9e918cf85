"""How good teachers of 240 images can be: an upper limit for every student."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sklearn.svm import SVC

from ballotine.neural import TorchClassifier
from ballotine_reproduction.experiment import Setting
from ballotine_reproduction.images import load_images
from ballotine_reproduction.patepp import ensemble
from ballotine_reproduction.patepp.ensemble import CLASSES, TEACHERS, shares_of
from ballotine_reproduction.patepp.pools import digits
from ballotine_reproduction.pool import Pool
from ballotine_reproduction.summary import percent_right, plurality
from ballotine_reproduction.table import Row, Table
from ballotine_reproduction.teaching import cast_ballots

SHAPE = (1, 28, 28)
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
"""On pixels; the teachers of the tables, on patches, are compared with them."""


def teachers(setting: Setting) -> Table:
    """Accuracies of a few teachers of each kind on public rows."""
    if setting.quick:
        return _quick(setting)
    pool = load_images(setting, "fashion-mnist")
    pool = replace(pool, X_public=pool.X_public[:ASKED], y_public=pool.y_public[:ASKED])
    rows = [_row(setting, name, kind(), pool, TEACHERS) for name, kind in KINDS.items()]
    patches = pool.encoded(ensemble.features(load_images(setting, "fashion-mnist")).transform)
    rows.append(_row(setting, "SVM on patches", ensemble.teacher(), patches, TEACHERS))
    title = f"Teachers of 240 images each ({pool.name})"
    notes = (
        f"accuracy on the first {ASKED:,} public rows of the first {COMPARED} teachers",
        "patches: found in the 9,000 public images without labels; private ones have no part in it",
        "seconds: training and voting of one teacher, on one of the processes used",
    )
    return Table(title, COLUMNS, rows, notes)


def _quick(setting: Setting) -> Table:
    """Half of the digits teach, the others are asked: it shows that everything works."""
    pool = digits()
    half = len(pool.ballots) // 2
    truth = pool.rows.y_public
    rows = [
        _row(
            setting,
            name,
            SVC(),
            Pool(name, X[:half], truth[:half], X[half:], truth[half:], X[:0], truth[:0]),
            COMPARED,
        )
        for name, X in (("SVM on pixels", pool.rows.X_public), ("SVM on patches", pool.patches))
    ]
    return Table("Teachers of few images each (digits)", COLUMNS, rows, pool.notes)


def _row(setting: Setting, name: str, estimator: Any, pool: Pool, dealt: int) -> Row:
    """The first teachers of a partition among ``dealt``."""
    start = time.monotonic()
    shares = shares_of(pool.y, dealt)[:COMPARED]
    found = cast_ballots(setting, estimator, pool.X, pool.y, shares, pool.X_public, CLASSES)
    each = (time.monotonic() - start) / COMPARED
    one = percent_right(found, pool.y_public[:, None])
    most = percent_right(plurality(found, CLASSES), pool.y_public)
    return name, f"{one:.1f}", f"{most:.1f}", f"{each:.1f}"

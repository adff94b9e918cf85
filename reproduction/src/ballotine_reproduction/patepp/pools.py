"""Rows and ballots: sets of images with trained teachers, or digits with simulated ones."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from ballotine.data.named import sets as named
from ballotine.features import PatchFeatures
from ballotine.types import IntArray, Matrix
from ballotine_reproduction.patepp.ensemble import CLASSES, TEACHERS, ensemble, images_of
from ballotine_reproduction.table import Setting

TEACHERS_NOTE = (
    "one ensemble of 250 support vector machines of 240 records each, on patches of public images; "
    "seeds draw the queries, the noise and the students anew, not the teachers"
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
        patches: what `PatchFeatures` of the public rows say about these, and about X_test.
        shape: of one image.
        notes: what to know about them.
    """

    name: str
    X: Matrix
    y: IntArray
    ballots: IntArray
    X_test: Matrix
    y_test: IntArray
    patches: Matrix
    patches_test: Matrix
    shape: tuple[int, int, int]
    notes: tuple[str, ...]

    @property
    def digest(self) -> bytes:
        """Tells these rows and ballots from others."""
        found = hashlib.sha256(self.name.encode())
        for part in (self.X, self.y, self.ballots, self.X_test):
            found.update(str(part.shape).encode() + np.ascontiguousarray(part[::97]).tobytes())
        return found.digest()


def pool_of(setting: Setting, name: str = "fashion-mnist") -> Pool:
    """What an experiment works on: a set of images, or for a quick look digits."""
    return digits() if setting.quick else with_teachers(setting, name)


def with_teachers(setting: Setting, name: str) -> Pool:
    """The test images: the first 9,000 to ask about, the last 1,000 for evaluation."""
    images = images_of(setting, name)
    found = ensemble(setting, images)
    return Pool(
        images.title,
        images.X_public,
        images.y_public,
        found.ballots,
        images.X_test,
        images.y_test,
        found.patches,
        found.patches_test,
        images.shape,
        (TEACHERS_NOTE, _quality(found.ballots, images.y_public)),
    )


def _quality(ballots: IntArray, truth: IntArray) -> str:
    counts = np.stack([(ballots == c).sum(axis=1) for c in range(CLASSES)], axis=1)
    one, all_ = (ballots == truth[:, None]).mean(), (counts.argmax(axis=1) == truth).mean()
    return (
        f"a teacher is right on {100 * one:.1f} % of public rows, "
        f"the plurality on {100 * all_:.1f} %"
    )


def digits() -> Pool:
    """Digits, and teachers who err independently: some rows are harder than others."""
    found = named.get("digits", None, download=False)
    X, y = found.X.astype(np.float32), found.y.astype(np.int64)
    seen = PatchFeatures((1, 8, 8), patch=3, regions=3, components=60, random_state=0)
    patches = seen.fit(X[:QUICK_PUBLIC]).transform(X)
    return Pool(
        "digits",
        X[:QUICK_PUBLIC],
        y[:QUICK_PUBLIC],
        simulated(y[:QUICK_PUBLIC]),
        X[QUICK_PUBLIC:],
        y[QUICK_PUBLIC:],
        patches[:QUICK_PUBLIC],
        patches[QUICK_PUBLIC:],
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

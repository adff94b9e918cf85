"""The sets that teachers learn from: Adult, MNIST, or made-up rows for a quick run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ballotine.data.named import sets as named
from ballotine.errors import DataUnavailableError
from ballotine.types import BoolArray, FloatArray, IntArray, Matrix
from ballotine.voting import ConfidentGNMax
from ballotine_reproduction.cache import digest
from ballotine_reproduction.experiment import Setting
from ballotine_reproduction.pool import Pool

TEACHERS = 250
SIDE = 28
SVC_GAMMA = 0.05
QUICK_RECORDS = 40
QUICK_PUBLIC, QUICK_TEST = 1500, 500
QUICK_SEEDS = 2


@dataclass(frozen=True, eq=False)
class SplitSet:
    """All rows of a set, which every seed splits differently.

    Attributes:
        name: what the tables call it.
        X: features.
        y: class positions.
        classes: how many there are.
        sizes: numbers of private, public and test rows.
        teacher: the kind of teacher, one of `KINDS`.
        mechanism: the aggregation of the standard ensemble.
        notes: what readers of a table should know about the rows.
    """

    name: str
    X: Matrix = field(repr=False)
    y: IntArray = field(repr=False)
    classes: int
    sizes: tuple[int, int, int]
    teacher: str
    mechanism: ConfidentGNMax
    notes: tuple[str, ...] = ()

    @cached_property
    def digest(self) -> bytes:
        """Changes with any row, and with the teachers' parameters."""
        options = sorted(self.estimator.get_params().items())
        named = [f"{name}={getattr(value, '__name__', value)}" for name, value in options]
        return digest(self.X, self.y, self.classes, self.teacher, named, SVC_GAMMA)

    @property
    def estimator(self) -> Any:
        """An unfitted teacher (or student)."""
        return KINDS[self.teacher]()

    def split(self, seed: int) -> tuple[IntArray, IntArray, IntArray]:
        """Positions of private, public and test rows, different for every seed."""
        private, public, test = self.sizes
        order = np.random.default_rng([seed, 1]).permutation(len(self.y))
        parts = np.split(order[: private + public + test], [private, private + public])
        return parts[0], parts[1], parts[2]

    def pool(self, seed: int) -> Pool:
        """The rows themselves, split in the same way."""
        parts = [(self.X[rows], self.y[rows].astype(np.int64)) for rows in self.split(seed)]
        return Pool(self.name, *parts[0], *parts[1], *parts[2], notes=self.notes)


# The paper's Table 4.
ADULT = ConfidentGNMax(sigma=40.0, threshold=300.0, sigma_threshold=200.0)
MNIST = ConfidentGNMax(sigma=40.0, threshold=200.0, sigma_threshold=150.0)


def adult(setting: Setting) -> SplitSet:
    """Adult without incomplete rows, categories as numbers in [0, 1], forests as teachers."""
    found = _named(setting, "adult")
    if found is None:
        return _made_up("Adult", ADULT, classes=2, rare=0.25)
    X, y, names = found
    X, whole = as_numbers(X, names)
    sizes, teacher = (37_222, 7_000, 1_000), "forest of 100 trees"
    notes: tuple[str, ...] = ()
    if setting.quick:
        sizes, teacher = _quick_sizes(), "naive Bayes"
        notes = (f"quick: {teacher} on {QUICK_RECORDS} records a teacher",)
    return SplitSet("Adult", X[whole], y[whole], 2, sizes, teacher, ADULT, notes)


def mnist(setting: Setting) -> SplitSet:
    """MNIST, each image made upright and halved in size, support vector machines as teachers."""
    found = _named(setting, "mnist")
    if found is None:
        return _made_up("MNIST", MNIST, classes=10, rare=None)
    sizes = _quick_sizes() if setting.quick else (60_000, 9_000, 1_000)
    rows = sum(sizes)
    X = halved(upright(found[0].reshape(-1, SIDE, SIDE)[:rows]))
    notes = (f"quick: {QUICK_RECORDS} records a teacher",) if setting.quick else ()
    return SplitSet("MNIST", X, found[1][:rows], 10, sizes, "SVC", MNIST, notes)


def _named(setting: Setting, name: str) -> tuple[Matrix, IntArray, tuple[str, ...]] | None:
    """All rows of a named set, and its features' names; None where a quick run finds no set."""
    try:
        found = named.get(name, setting.data, download=not setting.quick)
    except DataUnavailableError:
        if not setting.quick:
            raise
        return None
    assert found.X_test is not None
    assert found.y_test is not None
    X, y = np.vstack([found.X, found.X_test]), np.concatenate([found.y, found.y_test])
    return X, y, found.feature_names or ()


def as_numbers(X: Matrix, names: tuple[str, ...]) -> tuple[FloatArray, BoolArray]:
    """One column per original one: a category becomes its alphabetical rank, in [0, 1].

    Returns:
        The columns, and which rows hold a value in every category.
    """
    columns: dict[str, list[int]] = {}
    for position, name in enumerate(names):
        columns.setdefault(name.partition("=")[0], []).append(position)
    whole = np.ones(len(X), dtype=bool)
    result = []
    for name, places in columns.items():
        if name in names:
            result.append(X[:, places[0]])
            continue
        block = X[:, places]
        whole &= block.sum(axis=1) == 1
        ranks = np.argsort(np.argsort([names[place] for place in places]))
        result.append(ranks[block.argmax(axis=1)] / max(len(places) - 1, 1))
    return np.column_stack(result).astype(np.float64), whole


def upright(images: Matrix) -> Matrix:
    """Each image sheared and centred by its own moments, so that its strokes stand upright.

    It looks at one image at a time, so nothing is learnt from several private records at once.
    """
    from scipy.ndimage import affine_transform

    middle = (SIDE - 1) / 2
    at = np.arange(SIDE, dtype=np.float64)
    mass = np.maximum(images.sum(axis=(1, 2)), 1e-6)
    rows, columns = images.sum(axis=2) @ at / mass, images.sum(axis=1) @ at / mass
    spread = np.maximum(images.sum(axis=2) @ (at * at) / mass - rows**2, 1e-6)
    slant = (np.einsum("nij,i,j->n", images, at, at) / mass - rows * columns) / spread
    result = np.empty_like(images)
    for image, row, column, shear, out in zip(images, rows, columns, slant, result, strict=True):
        offset = (row - middle, column - middle - shear * middle)
        affine_transform(image, ((1.0, 0.0), (shear, 1.0)), offset, output=out, order=1)
    return result


def halved(images: Matrix) -> Matrix:
    """Means of 2 × 2 pixels, laid out flat."""
    half = SIDE // 2
    small: Matrix = images.reshape(-1, half, 2, half, 2).mean(axis=(2, 4)).reshape(-1, half * half)
    return small


def _quick_sizes() -> tuple[int, int, int]:
    return (TEACHERS * QUICK_RECORDS, QUICK_PUBLIC, QUICK_TEST)


def _made_up(name: str, mechanism: ConfidentGNMax, classes: int, rare: float | None) -> SplitSet:
    """Made-up rows: they show that everything works, and nothing about the set."""
    from sklearn.datasets import make_classification

    sizes = _quick_sizes()
    X, y = make_classification(
        n_samples=sum(sizes),
        n_features=12,
        n_informative=8,
        n_redundant=0,
        n_classes=classes,
        n_clusters_per_class=1,
        weights=None if rare is None else [1 - rare],
        class_sep=2.0,
        flip_y=0.02,
        random_state=0,
    )
    notes = (f"quick, without {name}: made-up rows stand in for it, so the numbers mean nothing",)
    labels, teacher = np.asarray(y, dtype=np.int64), "naive Bayes"
    return SplitSet(f"made-up {name}", X, labels, classes, sizes, teacher, mechanism, notes)


def _forest() -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(100, n_jobs=1)


def _bayes() -> Any:
    from sklearn.naive_bayes import GaussianNB

    return GaussianNB(var_smoothing=1e-2)


def _kernel(X: Matrix, Y: Matrix) -> Matrix:
    from sklearn.metrics.pairwise import rbf_kernel

    kernel: Matrix = rbf_kernel(X, Y, gamma=SVC_GAMMA)
    return kernel


def _svc() -> Any:
    from sklearn.svm import SVC

    # A kernel given as a function is one matrix product, ten times faster than libsvm's own;
    # its width is a public number.
    return SVC(C=3.0, kernel=_kernel)


KINDS: dict[str, Callable[[], Any]] = {
    "forest of 100 trees": _forest,
    "SVC": _svc,
    "naive Bayes": _bayes,
}
"""Kinds of teachers, by the name that tables and the cache use."""

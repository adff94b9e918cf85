"""The sets of records that stand in for the paper's, and the settings that go with each.

The paper's medical images are not available, so its experiments are repeated on three public
multi-label tables: tmc2007 (many labels, teachers that agree, like Pascal VOC), yeast (many
labels, teachers that do not, like CheXpert) and scene (few labels). Training rows are private;
test rows are the public pool of queries, and their labels serve to evaluate the answers only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ballotine.data.named import sets as named
from ballotine.errors import DataError
from ballotine.types import Labels, Matrix
from ballotine_reproduction.experiment import Setting
from ballotine_reproduction.pool import Pool


@dataclass(frozen=True)
class Family:
    """Labels whose first one, when absent, implies that the others are absent too.

    Attributes:
        root: the label that is asked first.
        children: those that are asked only if it is present.
    """

    root: int
    children: tuple[int, ...]

    @property
    def labels(self) -> tuple[int, ...]:
        """All of them, the root first."""
        return (self.root, *self.children)


@dataclass(frozen=True)
class Profile:
    """A set of records and the settings that go with it.

    Attributes:
        name: the named set; empty for records made up on the spot.
        stands_for: the set of the paper that it is compared with.
        tau: the l2 norm to which ballots are clipped; see `figure12`.
        tau_l1: the l1 norm to which ballots are clipped; see `figure13`.
        families: label dependencies that are tried.
    """

    name: str
    stands_for: str
    tau: float
    tau_l1: float
    families: tuple[Family, ...] = ()

    @property
    def title(self) -> str:
        """What tables call it."""
        return self.name or "made-up"


# class10 is present wherever class15 is, and in more than half of class04; class19 wherever
# class01 is, and in four fifths of class20. The other children are rare in themselves.
TMC2007 = Profile(
    "tmc2007", "Pascal VOC", 1.8, 3.4, (Family(9, (14, 3, 8, 10)), Family(18, (0, 19, 2, 10)))
)
YEAST = Profile("yeast", "CheXpert", 2.0, 5.0)
SCENE = Profile("scene", "CheXpert", 1.2, 1.8)
MADE_UP = Profile("", "nothing", 1.6, 2.6, (Family(0, (1, 2, 3, 4)),))

QUICK_ROWS = (1000, 300)
QUICK_LABELS = 8


def profiles(setting: Setting, *wanted: Profile) -> tuple[Profile, ...]:
    """The sets an experiment runs on; a quick one uses made-up records instead."""
    return (MADE_UP,) if setting.quick else wanted or (TMC2007, YEAST, SCENE)


def load(profile: Profile, setting: Setting) -> Pool:
    """The rows of a set: its training rows are private, all of its test rows public."""
    if not profile.name:
        return _made_up()
    found = named.get(profile.name, setting.data)
    if found.X_test is None or found.y_test is None:
        raise DataError(f"{profile.name} has no test rows of its own to serve as queries")
    names = tuple(str(name) for name in found.classes)
    return _pool(profile.name, found.X, found.y, found.X_test, found.y_test, names)


def _pool(
    name: str, X: Matrix, y: Labels, X_public: Matrix, y_public: Labels, names: tuple[str, ...]
) -> Pool:
    truth = y_public.astype(np.int64)
    asked = (X_public, truth)
    return Pool(name, X, y.astype(np.int64), *asked, X_public[:0], truth[:0], label_names=names)


def _made_up() -> Pool:
    from sklearn.datasets import make_multilabel_classification

    rows, queries = QUICK_ROWS
    X, y = make_multilabel_classification(
        rows + queries, n_features=30, n_classes=QUICK_LABELS, n_labels=2, random_state=0
    )
    names = tuple(f"label {number + 1}" for number in range(QUICK_LABELS))
    return _pool("made-up", X[:rows], y[:rows], X[rows:], y[rows:], names)

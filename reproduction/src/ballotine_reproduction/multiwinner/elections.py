"""Teachers on disjoint shares, and their ballots on the public rows."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ballotine.data.partition import random_partition, secret_permutation
from ballotine.noise import QueryNoise, SeededNoise
from ballotine.teachers.engine import LocalEngine
from ballotine.types import IntArray, Matrix
from ballotine.voting.multilabel.ballots import ByteArray, cast_labels
from ballotine_reproduction.cache import cache_path, cached_arrays
from ballotine_reproduction.experiment import Setting
from ballotine_reproduction.multiwinner.sets import Profile, load
from ballotine_reproduction.pool import Pool

Probabilities = npt.NDArray[np.float32]

TEACHERS = 50
QUICK_TEACHERS = 20
QUICK_SEEDS = 2
RECIPE = {"C": 1.0, "class_weight": "balanced", "solver": "liblinear", "random_state": 0}
"""Of the logistic regression that a teacher fits to each label."""

THRESHOLD = 0.5
"""The probability above which a teacher names a label, unless thresholds are given."""


@dataclass(frozen=True, eq=False)
class LabelElection:
    """All ballots of one partition of the private rows, queries in the order they are asked.

    Attributes:
        seed: decides the partition, the order of the queries and the noise.
        probabilities: each teacher's own, shape (queries, teachers, labels).
        truth: the labels of the queries, for judging the answers, shape (queries, labels).
        names: what the labels are called.
        thresholds: above which a teacher names a label; one number, or one per label.
    """

    seed: int
    probabilities: Probabilities
    truth: IntArray
    names: tuple[str, ...]
    thresholds: float | tuple[float, ...] = THRESHOLD

    def ballots(self, most: int | None = None) -> ByteArray:
        """Which labels each teacher names, shape (queries, teachers, labels).

        Args:
            most: how many at most, the most probable ones; None: no limit.
        """
        return cast_labels(self.probabilities, self.thresholds, most)

    @property
    def queries(self) -> int:
        """How many there are in the pool."""
        return int(self.truth.shape[0])

    @property
    def teachers(self) -> int:
        """How many there are."""
        return int(self.probabilities.shape[1])

    @property
    def labels(self) -> int:
        """How many there are."""
        return int(self.truth.shape[1])

    def of_labels(self, labels: tuple[int, ...]) -> LabelElection:
        """The same election held on some of the labels only."""
        chosen = list(labels)
        thresholds = self.thresholds
        if isinstance(thresholds, tuple):
            thresholds = tuple(thresholds[label] for label in chosen)
        names = tuple(self.names[label] for label in chosen)
        return replace(
            self,
            probabilities=self.probabilities[..., chosen],
            truth=self.truth[:, chosen],
            names=names,
            thresholds=thresholds,
        )

    def first_labels(self, count: int) -> LabelElection:
        """The same election held on the first labels only."""
        return self if count == self.labels else self.of_labels(tuple(range(count)))

    def first_queries(self, count: int) -> LabelElection:
        """The queries that are asked first."""
        if count >= self.queries:
            return self
        return replace(self, probabilities=self.probabilities[:count], truth=self.truth[:count])

    def noise(self) -> QueryNoise:
        """The seed's noise, the same for a query wherever it is asked."""
        keys = [number.to_bytes(8, "big") for number in range(self.queries)]
        return QueryNoise(SeededNoise(self.seed), keys)


@dataclass(frozen=True)
class LabelShare:
    """One teacher's rows."""

    position: int
    X: Matrix
    y: IntArray


def teachers_of(setting: Setting) -> int:
    """The usual number of teachers."""
    return QUICK_TEACHERS if setting.quick else TEACHERS


def elections(profile: Profile, setting: Setting) -> list[LabelElection]:
    """One election per seed."""
    pool = load(profile, setting)
    seeds, teachers = setting.seed_range(QUICK_SEEDS), teachers_of(setting)
    held = []
    with setting.progress.stage(f"teachers {profile.title}", len(seeds) * teachers) as advance:
        for seed in seeds:
            held.append(hold_election(profile, pool, teachers, seed, setting))
            advance(teachers)
    return held


def hold_election(
    profile: Profile, pool: Pool, teachers: int, seed: int, setting: Setting
) -> LabelElection:
    """Train teachers on the private rows, or take their votes from the cache."""
    shape = (len(pool.X_public), teachers, pool.y.shape[1])
    path = cache_path(
        setting.cache, f"multiwinner-{profile.title}", ".npz", pool.digest, teachers, seed, RECIPE
    )
    found = cached_arrays(
        path,
        {"probabilities": (np.float32, shape)},
        lambda: {"probabilities": _probabilities(pool, teachers, seed, setting)},
    )
    order = query_order(pool, seed)
    return LabelElection(
        seed, found["probabilities"][order], pool.y_public[order], pool.label_names
    )


def query_order(pool: Pool, seed: int) -> IntArray:
    """The order in which the public rows are asked."""
    return secret_permutation(len(pool.X_public), _secret("queries", seed))


def train(share: LabelShare) -> tuple[int, Any]:
    """One teacher; for a label of which it saw one class only, it votes for that class."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier

    model = OneVsRestClassifier(LogisticRegression(**RECIPE))
    with warnings.catch_warnings():
        # It warns of labels with one class only, and then does what is wanted.
        warnings.simplefilter("ignore", UserWarning)
        return share.position, model.fit(share.X, share.y)


def _probabilities(pool: Pool, teachers: int, seed: int, setting: Setting) -> Probabilities:
    groups = random_partition(len(pool.X), teachers, _secret("partition", seed)).shares
    shares = [LabelShare(i, pool.X[rows], pool.y[rows]) for i, rows in enumerate(groups)]
    labels = pool.y.shape[1]
    found = np.empty((len(pool.X_public), teachers, labels), dtype=np.float32)
    # Starting processes takes longer than a quick training.
    jobs = 1 if setting.quick else setting.jobs
    for position, model in LocalEngine(jobs).map(train, shares):
        likely = model.predict_proba(pool.X_public)
        # For a single label scikit-learn gives a column per class, otherwise one per label.
        found[:, position] = likely[:, 1:] if labels == 1 else likely
    return found


def _secret(purpose: str, seed: int) -> bytes:
    return f"ballotine/multiwinner/{purpose}/{seed}".encode()

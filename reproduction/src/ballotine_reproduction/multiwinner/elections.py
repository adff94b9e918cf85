"""Teachers on disjoint shares, what they think of the pool, and where that is kept."""

from __future__ import annotations

import hashlib
import json
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ballotine.data.partition import random_partition, secret_permutation
from ballotine.files import produce_atomic
from ballotine.noise import QueryNoise, SeededNoise
from ballotine.teachers.engine import LocalEngine
from ballotine.types import FloatArray, IntArray, Matrix
from ballotine.voting.multilabel.ballots import ByteArray, cast_labels
from ballotine_reproduction.multiwinner.sets import Profile, Records, load
from ballotine_reproduction.table import Setting

Probabilities = npt.NDArray[np.float32]

TEACHERS = 50
QUICK_TEACHERS = 20
QUICK_SEEDS = 2
RECIPE = {"model": "one-vs-rest logistic regression", "C": 1.0, "class_weight": "balanced"}
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
        return LabelElection(
            self.seed, self.probabilities[..., chosen], self.truth[:, chosen], names, thresholds
        )

    def first_labels(self, count: int) -> LabelElection:
        """The same election held on the first labels only."""
        return self if count == self.labels else self.of_labels(tuple(range(count)))

    def first_queries(self, count: int) -> LabelElection:
        """The queries that are asked first."""
        if count >= self.queries:
            return self
        head = slice(0, count)
        return LabelElection(
            self.seed, self.probabilities[head], self.truth[head], self.names, self.thresholds
        )

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


def elections(profile: Profile, setting: Setting) -> list[LabelElection]:
    """One election per seed."""
    records = load(profile, setting)
    seeds = min(setting.seeds, QUICK_SEEDS) if setting.quick else setting.seeds
    teachers = QUICK_TEACHERS if setting.quick else TEACHERS
    with setting.progress.stage(f"teachers {profile.title}", seeds * teachers) as advance:
        held = []
        for seed in range(seeds):
            probabilities = kept_probabilities(profile, records, teachers, seed, setting)
            order = secret_permutation(len(records.pool), secret_for("queries", seed))
            held.append(
                LabelElection(seed, probabilities[order], records.truth[order], records.names)
            )
            advance(teachers)
    return held


def train(share: LabelShare) -> tuple[int, Any]:
    """One teacher; for a label of which it saw one class only, it votes for that class."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier

    one = LogisticRegression(
        C=RECIPE["C"], class_weight=RECIPE["class_weight"], solver="liblinear", random_state=0
    )
    with warnings.catch_warnings():
        # It warns of labels of one class, for which it does what is wanted.
        warnings.simplefilter("ignore", UserWarning)
        return share.position, OneVsRestClassifier(one).fit(share.X, share.y)


def _probabilities(records: Records, teachers: int, seed: int, setting: Setting) -> Probabilities:
    groups = random_partition(len(records.X), teachers, secret_for("partition", seed)).shares
    shares = [LabelShare(i, records.X[rows], records.y[rows]) for i, rows in enumerate(groups)]
    labels = records.y.shape[1]
    thought = np.empty((len(records.pool), teachers, labels), dtype=np.float32)
    # Starting processes takes longer than a quick training.
    jobs = 1 if setting.quick else setting.jobs
    for position, model in LocalEngine(jobs).map(train, shares):
        thought[:, position] = _as_table(model.predict_proba(records.pool), labels)
    return thought


def _as_table(probabilities: FloatArray, labels: int) -> FloatArray:
    # For a single label scikit-learn gives a column per class, otherwise one per label.
    return probabilities[:, 1:] if labels == 1 else probabilities


def kept_probabilities(
    profile: Profile, records: Records, teachers: int, seed: int, setting: Setting
) -> Probabilities:
    """The teachers' probabilities, from the cache if they were trained before."""
    if setting.cache is None:
        return _probabilities(records, teachers, seed, setting)
    facts = {"records": records.digest(), "teachers": teachers, "seed": seed, "recipe": RECIPE}
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
    path = setting.cache / f"multiwinner-{profile.title}-{digest[:16]}.npz"
    if path.is_file():
        with np.load(path, allow_pickle=False) as archive:
            kept: Probabilities = archive["probabilities"]
        return kept
    thought = _probabilities(records, teachers, seed, setting)
    path.parent.mkdir(parents=True, exist_ok=True)
    produce_atomic(
        path, lambda stream: np.savez_compressed(stream, probabilities=thought), private=True
    )
    return thought


def secret_for(purpose: str, seed: int) -> bytes:
    """What a partition, or an order of queries, follows from."""
    return f"ballotine/multiwinner/{purpose}/{seed}".encode()

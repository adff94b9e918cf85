"""The rows of a comparison: private ones, public ones to ask, and others to judge models by."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from ballotine.data.partition import secret_permutation
from ballotine.types import FloatArray, IntArray, Matrix
from ballotine_reproduction.multiwinner.elections import (
    TEACHERS,
    LabelElection,
    elections,
    kept_probabilities,
    secret_for,
)
from ballotine_reproduction.multiwinner.sets import MADE_UP, TMC2007, YEAST, Profile, load
from ballotine_reproduction.table import Setting

JUDGED = {TMC2007.name: 2_000, YEAST.name: 300, MADE_UP.name: 150}
"""Rows of the pool, the last ones asked, that are kept to judge models by."""

COMPONENTS = 100

Encoder = Callable[[Matrix], FloatArray]


@dataclass(frozen=True, eq=False)
class Rows:
    """All rows of one seed.

    Attributes:
        X: private rows; y: their labels or classes.
        X_public: rows to ask, in the order of asking.
        X_test: rows that judge models; y_test: their labels or classes.
    """

    X: Matrix
    y: IntArray
    X_public: Matrix
    X_test: Matrix
    y_test: IntArray

    def encoded(self, encode: Encoder) -> Rows:
        """The same with other features."""
        private, public, test = map(encode, (self.X, self.X_public, self.X_test))
        return replace(self, X=private, X_public=public, X_test=test)


@dataclass(frozen=True, eq=False)
class Repetition:
    """One seed: the teachers' votes on the public rows, and all rows."""

    seed: int
    election: LabelElection
    rows: Rows


def repetitions(profile: Profile, setting: Setting, teachers: int = TEACHERS) -> list[Repetition]:
    """One per seed; every seed keeps other rows to judge by."""
    records = load(profile, setting)
    asked = len(records.pool) - JUDGED[profile.name]
    usual = teachers == TEACHERS
    found = []
    for held in elections(profile, setting) if usual else _more(profile, setting, teachers):
        order = query_order(len(records.pool), held.seed)
        public, test = order[:asked], order[asked:]
        rows = Rows(
            records.X, records.y, records.pool[public], records.pool[test], records.truth[test]
        )
        rows = rows.encoded(public_components(rows.X_public))
        found.append(Repetition(held.seed, held.first_queries(asked), rows))
    return found


def query_order(pool: int, seed: int) -> IntArray:
    """The order in which the elections of multi-winner voting ask the rows of the pool."""
    return secret_permutation(pool, secret_for("queries", seed))


def _more(profile: Profile, setting: Setting, teachers: int) -> Iterator[LabelElection]:
    """The same elections held by another number of teachers."""
    records = load(profile, setting)
    with setting.progress.stage(f"{teachers} teachers", setting.seeds) as advance:
        for seed in range(setting.seeds):
            thought = kept_probabilities(profile, records, teachers, seed, setting)
            order = query_order(len(records.pool), seed)
            yield LabelElection(seed, thought[order], records.truth[order], records.names)
            advance(1)


def public_components(X_public: Matrix, most: int = COMPONENTS) -> Encoder:
    """Principal components of the public rows, of mean length 1 there.

    Everybody gets these features: they are learnt from public rows alone and cost nothing, and
    for DP-SGD they are the frozen layers of which it trains the last.
    """
    centre = X_public.mean(axis=0)
    shifted = (X_public - centre).astype(np.float64)
    values, vectors = np.linalg.eigh(shifted.T @ shifted)
    directions = vectors[:, np.argsort(values)[::-1][:most]]
    length = float(np.sqrt(np.mean(np.sum((shifted @ directions) ** 2, axis=1))))

    def encode(X: Matrix) -> FloatArray:
        found: FloatArray = (X - centre) @ directions / length
        return found

    return encode


def public_standard(X_public: Matrix) -> Encoder:
    """Columns centred and scaled by what public rows say, of mean length 1 there."""
    centre, deviation = X_public.mean(axis=0), X_public.std(axis=0)
    scale = np.where(deviation > 0, deviation, 1.0) * np.sqrt(max(1, int((deviation > 0).sum())))

    def encode(X: Matrix) -> FloatArray:
        found: FloatArray = (X - centre) / scale
        return found

    return encode

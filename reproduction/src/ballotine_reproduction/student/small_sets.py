"""Small tables that come with scikit-learn, and answers of teachers on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits

from ballotine.noise import QueryNoise, SeededNoise
from ballotine.privacy import plan
from ballotine.privacy.guarantee import Budget
from ballotine.students.fitting import UNLABELLED
from ballotine.types import IntArray, Matrix
from ballotine.voting import GNMax
from ballotine_reproduction.encoders import public_standard
from ballotine_reproduction.experiment import Setting
from ballotine_reproduction.individualized.sets import KINDS
from ballotine_reproduction.student.trials import Comparison, Trial

BUDGET = Budget(8.0, 1e-5)
"""A generous one: few records make few teachers, which tolerate little noise."""

TEACHER = "naive Bayes"


@dataclass(frozen=True)
class Small:
    """A set and its use.

    Attributes:
        name: what the table calls it.
        load: gives features and classes.
        teachers: how many; records: of each.
        public: rows to ask; students are evaluated on all others.
        sigma: GNMax's noise.
    """

    name: str
    load: Callable[..., Any]
    teachers: int
    records: int
    public: int
    sigma: float


DIGITS = Small("digits", load_digits, teachers=50, records=20, public=500, sigma=10.0)
CANCER = Small("breast cancer", load_breast_cancer, teachers=30, records=10, public=150, sigma=6.0)
SETS = (DIGITS, CANCER)


def small_tables(setting: Setting) -> Iterator[Comparison]:
    """GNMax under data-independent costs on every small set."""
    for each in SETS:
        *trials, spare = (trial(each, seed) for seed in range(setting.seeds + 1))
        yield Comparison("tables", each.name, BUDGET.epsilon, "strict", tuple(trials), spare)


def trial(small: Small, seed: int) -> Trial:
    """Split the rows, train the teachers, and ask as many queries as the budget affords."""
    X, y = small.load(return_X_y=True)
    y = y.astype(np.int64)
    order = np.random.default_rng([seed, 5]).permutation(len(y))
    dealt = small.teachers * small.records
    private, public, test = np.split(order, [dealt, dealt + small.public])
    encode = public_standard(X[public])
    shares = [(encode(X[rows]), y[rows]) for rows in np.split(private, small.teachers)]
    answers = _answers(small, shares, encode(X[public]), int(y.max()) + 1, seed)
    return Trial(seed, encode(X[public]), answers, y[public], encode(X[test]), y[test])


def _answers(
    small: Small, shares: list[tuple[Matrix, IntArray]], X: Matrix, classes: int, seed: int
) -> IntArray:
    """Noisy pluralities for the first rows, nothing for the others."""
    teachers = [KINDS[TEACHER]().fit(*share) for share in shares]
    ballots = np.column_stack([teacher.predict(X) for teacher in teachers]).astype(np.int64)
    mechanism = GNMax(small.sigma)
    noise = QueryNoise(SeededNoise(seed), [n.to_bytes(8, "big") for n in range(len(X))])
    found = mechanism.release(mechanism.tally(ballots, classes), noise)
    charges = [(event, 1) for event in mechanism.events(classes)]
    found[plan.queries_for(charges, BUDGET) :] = UNLABELLED
    return found

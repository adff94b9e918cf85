"""The released answers and public rows on which students are compared, by kind of data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ballotine.privacy.guarantee import Budget
from ballotine.students.fitting import UNLABELLED
from ballotine.types import FloatArray, IntArray, Matrix
from ballotine_reproduction.encoders import public_standard
from ballotine_reproduction.experiment import Setting
from ballotine_reproduction.individualized import sets
from ballotine_reproduction.individualized.elections import DELTA, standard
from ballotine_reproduction.individualized.layout import QUARTERS
from ballotine_reproduction.individualized.students import panels
from ballotine_reproduction.multiwinner.accounts import binary
from ballotine_reproduction.multiwinner.sets import MADE_UP, TMC2007, YEAST, profiles
from ballotine_reproduction.student.label_students import queries_for
from ballotine_reproduction.student.repetitions import Repetition, repetitions

Kind = Literal["tables", "several labels"]

TABLE_BUDGET = Budget(2.0, DELTA)
LABEL_BUDGET = Budget(20.0, 1e-5)
LABEL_SIGMAS: dict[str, dict[str, float]] = {
    TMC2007.name: {"strict": 24.0, "exact": 12.0},
    YEAST.name: {"strict": 24.0},
    MADE_UP.name: {"strict": 6.0, "exact": 6.0},
}
"""What `student labels` chose for Binary voting at this budget, with three seeds and a fourth.

With exact costs it chose the same noise on yeast, and a few more answers are nothing new."""

WAYS = {"strict": "strict", "fixed": "exact"}


@dataclass(frozen=True, eq=False)
class Trial:
    """What a student is given on one seed, and what it is evaluated on.

    Attributes:
        seed: of the split, the teachers and the noise, and the student's own.
        X: public rows, those without an answer too.
        answers: a class per row, or 0 and 1 per row and label; negative where there is none.
        truth: what would have been right, in the same shape; no student sees it.
        X_test: rows that students are evaluated on; y_test: their classes or labels.
    """

    seed: int
    X: Matrix
    answers: IntArray
    truth: IntArray
    X_test: Matrix
    y_test: IntArray

    @property
    def answered(self) -> int:
        """How many rows have an answer."""
        return int(np.count_nonzero(self.answers.reshape(len(self.X), -1).max(axis=1) >= 0))

    @property
    def wrong(self) -> float:
        """The share of wrong answers, or of wrong labels among them."""
        given = self.answers >= 0
        return float(np.mean(self.answers[given] != self.truth[given]))


@dataclass(frozen=True, eq=False)
class Comparison:
    """A set, a budget and an account: the trials of several seeds, and one more to choose on."""

    kind: Kind
    name: str
    epsilon: float
    account: str
    trials: tuple[Trial, ...]
    spare: Trial


def adult(setting: Setting) -> list[Comparison]:
    """Confident-GNMax on Adult as in `student dpsgd`: few labels (strict) and many (exact)."""
    pool = sets.adult(setting)
    budgets: FloatArray = np.full(len(QUARTERS.edges), TABLE_BUDGET.epsilon)
    found: dict[str, list[Trial]] = {way: [] for way in WAYS}
    for panel in panels(replace(setting, seeds=setting.seeds + 1), pool):
        rows = pool.pool(panel.seed)
        rows = rows.encoded(public_standard(rows.X_public))
        for way, asked, labels in panel.answered(standard, budgets, tuple(WAYS)):
            answers = np.full(len(pool.y), UNLABELLED)
            answers[asked] = labels
            given = (rows.X_public, answers[panel.public], rows.y_public)
            found[way].append(Trial(panel.seed, *given, rows.X_test, rows.y_test))
    return [
        Comparison("tables", pool.name, TABLE_BUDGET.epsilon, WAYS[way], tuple(trials), spare)
        for way, (*trials, spare) in found.items()
    ]


def several(setting: Setting) -> Iterator[Comparison]:
    """Binary voting on tmc2007 and yeast, with the noise that `student labels` chose."""
    more = replace(setting, seeds=setting.seeds + 1)
    for profile in profiles(setting, TMC2007, YEAST):
        held = repetitions(profile, more)
        for account, sigma in LABEL_SIGMAS[profile.name].items():
            *trials, spare = (_labels(each, sigma, account) for each in held)
            epsilon = LABEL_BUDGET.epsilon
            yield Comparison(
                "several labels", profile.title, epsilon, account, tuple(trials), spare
            )


def _labels(repetition: Repetition, sigma: float, account: str) -> Trial:
    """Binary voting's answers to as many rows as the budget affords."""
    votes = binary(repetition.election)
    asked = queries_for(votes, sigma, LABEL_BUDGET, account)
    answers = votes.answers(sigma, repetition.election.noise()).astype(np.int64)
    answers[asked:] = UNLABELLED
    rows = repetition.rows
    truth = repetition.election.truth
    return Trial(repetition.seed, rows.X_public, answers, truth, rows.X_test, rows.y_test)

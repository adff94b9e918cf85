"""The answers of the two noise levels, how many are right, and what they cost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ballotine.noise import QueryNoise, SeededNoise
from ballotine.privacy import conversion
from ballotine.privacy.plan import epsilon_of
from ballotine.types import ABSTAIN, FloatArray, IntArray, Matrix
from ballotine.voting import ConfidentGNMax, Tallies
from ballotine_reproduction.patepp.ensemble import CLASSES, VotedPool

DELTA = 1e-5
ANSWERS = 2_200
ASKED = 4_450
"""Queries, fixed beforehand: about half pass the check, so these give somewhat more answers."""
QUICK_ASKED, QUICK_ANSWERS = 800, 400
EXACT_ORDERS: FloatArray = np.array([1.5, 2, 2.5, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32], dtype=float)
CHUNK = 500
REASON = "an experiment on public data"

LEVELS: dict[str, ConfidentGNMax] = {
    "tight": ConfidentGNMax(sigma=100.0, threshold=200.0, sigma_threshold=150.0),
    "loose": ConfidentGNMax(sigma=60.0, threshold=200.0, sigma_threshold=150.0),
}
"""Two noise levels: about a third and a fifth of the answers are wrong."""


@dataclass(frozen=True, eq=False)
class Answered:
    """What a student is given, and what is known about it for evaluation.

    Attributes:
        level: the name of the noise level.
        rows: public rows that were answered; labels: their answers.
        others: the other public rows, whether asked or not.
        right: the share of answers that are right.
        answered: how many queries passed the check, including those beyond the first.
        asked: the queries, in order.
    """

    level: str
    rows: IntArray
    labels: IntArray
    others: IntArray
    right: float
    answered: int
    asked: IntArray

    @property
    def mechanism(self) -> ConfidentGNMax:
        """The mechanism of this level."""
        return LEVELS[self.level]

    def rows_of(self, X: Matrix) -> tuple[Matrix, IntArray, Matrix]:
        """Answered rows of these public ones, answers, and rows without one."""
        return X[self.rows], self.labels, X[self.others]


def numbers(*, quick: bool) -> tuple[int, int]:
    """How many queries are asked, and how many answers a student gets at most."""
    return (QUICK_ASKED, QUICK_ANSWERS) if quick else (ASKED, ANSWERS)


def answered(pool: VotedPool, level: str, seed: int, *, quick: bool = False) -> Answered:
    """Ask a fixed number of random public rows; the student gets the first answers.

    The noise of a query follows from seed and row: levels share queries, not noise scales.
    """
    number, wanted = numbers(quick=quick)
    asked = np.random.default_rng([seed, 11]).permutation(len(pool.ballots))[:number]
    keys = [int(row).to_bytes(8, "big") for row in asked]
    noise = QueryNoise(SeededNoise(seed), keys)
    found = LEVELS[level].release(Tallies.of(pool.ballots[asked], CLASSES), noise)
    passed = found != ABSTAIN
    rows, labels = asked[passed][:wanted], found[passed][:wanted]
    return Answered(
        level,
        rows,
        labels,
        np.setdiff1d(np.arange(len(pool.ballots)), rows),
        float(np.mean(labels == pool.rows.y_public[rows])),
        int(passed.sum()),
        asked,
    )


def epsilon_strict(given: Answered) -> float:
    """What holds whatever the votes: a check for each query, an argmax for each answer."""
    check, argmax = given.mechanism.events(CLASSES)
    return epsilon_of([(check, len(given.asked)), (argmax, given.answered)], DELTA)


def epsilon_exact(pool: VotedPool, given: Answered) -> float:
    """The exact two-sided cost of all queries asked; private until it is sanitised."""
    spent = np.zeros(EXACT_ORDERS.size)
    for start in range(0, len(given.asked), CHUNK):
        tallies = Tallies.of(pool.ballots[given.asked[start : start + CHUNK]], CLASSES)
        unseen = np.zeros(len(given.asked[start : start + CHUNK]), dtype=np.int64)
        costs = given.mechanism.costs(tallies, unseen, EXACT_ORDERS, "exact")
        spent += costs.unlock(reason=REASON).sum(axis=0)
    return conversion.epsilon(EXACT_ORDERS, spent, DELTA)[0]

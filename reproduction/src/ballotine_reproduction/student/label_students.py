"""Students of several labels, and how many queries a budget affords them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.linear_model import LogisticRegression

from ballotine.errors import DataError
from ballotine.metrics import MultiLabelScores, score
from ballotine.privacy.guarantee import Budget
from ballotine.students import fit_label_students
from ballotine.types import FloatArray, IntArray
from ballotine_reproduction.multiwinner.accounts import Rule, binary, clipped, powerset
from ballotine_reproduction.multiwinner.affordable import affordable, repeatable
from ballotine_reproduction.multiwinner.sets import Profile
from ballotine_reproduction.multiwinner.votes import Votes
from ballotine_reproduction.pool import Pool
from ballotine_reproduction.student.repetitions import Repetition

ACCOUNTS = ("strict", "exact")
SIGMAS: dict[str, tuple[float, ...]] = {
    "Binary": (12, 24, 36, 48, 72),
    "τ, l2": (12, 18, 24, 36, 48),
    "Powerset": (0.5, 1, 2, 4),
    "Powerset, τ": (1, 2, 4, 8),
}
MANY_SIGMAS = (24.0, 48.0, 72.0, 96.0, 120.0)
"""Where there are five times as many teachers, for Binary and τ voting."""

QUICK_SIGMAS = 3
STRENGTHS = (0.3, 1.0)
"""Values of the student's C: the smaller, the more it distrusts its answers."""


@dataclass(frozen=True)
class Choice:
    """What was chosen for a mechanism, on a seed that is not reported.

    Attributes:
        sigma: the noise.
        strength: C of the student's logistic regressions.
    """

    sigma: float
    strength: float


@dataclass(frozen=True)
class Taught:
    """One student.

    Attributes:
        queries: how many answers it learnt from.
        wrong: the share of wrong labels among them.
        scores: its own, on rows that were not asked.
    """

    queries: int
    wrong: float
    scores: MultiLabelScores


def rules(profile: Profile) -> dict[str, Rule]:
    """The mechanisms, by name."""
    return {
        "Binary": binary,
        "τ, l2": clipped(profile.tau),
        "Powerset": powerset(),
        "Powerset, τ": powerset(round(profile.tau**2)),
    }


def queries_for(votes: Votes, sigma: float, budget: Budget, account: str) -> int:
    """How many queries of the pool fit into the budget."""
    if account == "strict":
        return min(votes.queries, repeatable(votes.strict(sigma), budget))
    return affordable(lambda rows: votes.exact(sigma, rows), votes.queries, budget)


def teach(
    repetition: Repetition, votes: Votes, choice: Choice, budget: Budget, account: str
) -> Taught:
    """Ask as many queries as the budget affords, and evaluate the student of the answers."""
    asked = queries_for(votes, choice.sigma, budget, account)
    answers = votes.answers(choice.sigma, repetition.election.noise())[:asked]
    return _taught(repetition, answers, choice.strength)


def choose(
    repetition: Repetition,
    votes: Votes,
    sigmas: Sequence[float],
    budget: Budget,
    account: str,
) -> Choice:
    """The noise and strength with the best AUC on this seed."""
    best, chosen = -1.0, Choice(float(sigmas[0]), STRENGTHS[0])
    for sigma in sigmas:
        asked = queries_for(votes, sigma, budget, account)
        answers = votes.answers(sigma, repetition.election.noise())[:asked]
        for strength in STRENGTHS:
            found = _taught(repetition, answers, strength).scores.auc
            if found > best:
                best, chosen = found, Choice(float(sigma), strength)
    return chosen


def fitted(rows: Pool, answers: IntArray, strength: float) -> FloatArray:
    """A student's probabilities on the test rows.

    If no label occurs both present and absent, nothing can be learnt: each label is then
    predicted as it was answered, or absent without answers.
    """
    student = LogisticRegression(C=strength, solver="liblinear")
    try:
        model = fit_label_students(student, rows.X_public[: len(answers)], answers)
    except DataError:
        constant = answers[0] if len(answers) else np.zeros(rows.y_test.shape[1])
        return np.tile(constant.astype(np.float64), (len(rows.y_test), 1))
    found: FloatArray = model.predict_proba(rows.X_test)
    return found


def judged(rows: Pool, probabilities: FloatArray) -> MultiLabelScores:
    """All four metrics on the test rows; AUC and mAP rank by probability."""
    return score(rows.y_test, (probabilities > 0.5).astype(np.int64), probabilities)


def _taught(repetition: Repetition, answers: IntArray, strength: float) -> Taught:
    truth = repetition.election.truth[: len(answers)]
    wrong = float(np.mean(answers != truth)) if len(answers) else float("nan")
    scores = judged(repetition.rows, fitted(repetition.rows, answers, strength))
    return Taught(len(answers), wrong, scores)

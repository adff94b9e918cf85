"""Interactive-GNMax through the ledger: a student that learns between batches of queries."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from ballotine.errors import ParameterError
from ballotine.ledger import Ledger, verify
from ballotine.noise import SeededNoise
from ballotine.privacy.guarantee import Budget
from ballotine.types import FloatArray, IntArray
from ballotine.voting import InteractiveGNMax, Session, Tallies
from ballotine.voting.interactive import StudentTallies
from tests.voting.sessions import rules_for

TEACHERS = 60


class AgainstAStudent:
    """Counts beside what the student, as far as it has learnt, thinks of the same rows."""

    identity = b"ensemble"

    def __init__(
        self,
        mechanism: InteractiveGNMax,
        ballots: IntArray,
        student: LogisticRegression,
        X: FloatArray,
    ) -> None:
        self.mechanism, self.cast, self.student, self.X = mechanism, ballots, student, X
        self.learnt = False

    def __len__(self) -> int:
        return TEACHERS

    def ballots(self, rows: IntArray) -> StudentTallies:
        chances = np.full((len(rows), 3), 1 / 3)
        if self.learnt:
            chances = self.student.predict_proba(self.X[rows])
        return self.mechanism.with_student(Tallies.of(self.cast[rows], 3), chances, TEACHERS)


def test_a_student_asks_in_batches_and_every_answer_is_paid_for(tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    X = draw.normal(size=(240, 2))
    truth = (X[:, 0] + X[:, 1] > 0).astype(int) + (X[:, 0] - X[:, 1] > 1.5)
    wrong = draw.random((240, TEACHERS)) < 0.1
    ballots = np.where(wrong, draw.integers(0, 3, size=wrong.shape), truth[:, None])
    mechanism = InteractiveGNMax(sigma=6.0, threshold=20.0, sigma_threshold=8.0, confidence=0.8)
    student = LogisticRegression(max_iter=1000)
    voters = AgainstAStudent(mechanism, ballots, student, X)
    rules = rules_for(mechanism, voters, 3, Budget(40.0, 1e-5))
    learnt: IntArray = np.zeros(0, dtype=np.int64)
    labels: IntArray = np.zeros(0, dtype=np.int64)

    with Ledger.open(tmp_path / "l.sqlite", rules.promise()) as ledger:
        session = Session.open(rules, voters, ledger, SeededNoise(1), chunk=40)
        for start in range(0, 240, 40):
            rows = np.arange(start, start + 40)
            answers = session.answer(rows, [int(row).to_bytes(8, "big") for row in rows])
            learnt = np.concatenate((learnt, rows[answers.answered]))
            labels = np.concatenate((labels, answers.labels[answers.answered]))
            if len(np.unique(truth[learnt])) == 3:
                student.fit(X[learnt], labels)
                voters.learnt = True
        spending = ledger.spending()
        assert spending.recorded == spending.asked == 240
        assert spending.epsilon() <= 40.0
        assert verify(ledger).queries == spending.asked
    assert student.score(X, truth) > 0.85


def test_its_costs_are_data_independent_only() -> None:
    mechanism = InteractiveGNMax(6.0, 20.0, 8.0, 0.8)
    tallies = mechanism.with_student(Tallies(np.array([[9.0, 1.0]])), [[0.5, 0.5]], 10)
    orders = np.array([4.0])
    check, argmax = mechanism.events(2)
    tight = mechanism.costs(tallies, np.array([0]), orders, "tight").unlock(reason="a test")
    assert tight[0] == pytest.approx(check.cost(orders) + argmax.cost(orders))
    with pytest.raises(ParameterError, match="data-dependent"):
        mechanism.costs(tallies, np.array([0]), orders, "exact")

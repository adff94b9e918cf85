"""Self-training: what it is made of, and that rows without an answer help."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from ballotine import Student
from ballotine.pipeline.estimators import make_estimator
from ballotine.students import SelfTraining, fit_student, is_semi_supervised

X, Y = load_digits(return_X_y=True)
X = X / 16


def few(answers: int = 40) -> np.ndarray:
    return np.where(np.arange(1000) < answers, Y[:1000], -1)


def test_it_is_scikit_learns() -> None:
    ours = SelfTraining(threshold=0.9).fit(X[:1000], few())
    base = LogisticRegression(max_iter=1000)
    theirs = SelfTrainingClassifier(base, threshold=0.9).fit(X[:1000], few())
    np.testing.assert_array_equal(ours.predict_proba(X[1000:]), theirs.predict_proba(X[1000:]))


def test_rows_without_an_answer_help_a_model_of_densities() -> None:
    alone = GaussianNB(var_smoothing=0.1).fit(X[:40], Y[:40]).score(X[1000:], Y[1000:])
    student = SelfTraining(GaussianNB(var_smoothing=0.1)).fit(X[:1000], few())
    assert student.score(X[1000:], Y[1000:]) > alone


def test_all_rows_answered_is_plain_learning() -> None:
    found = SelfTraining().fit(X[:200], Y[:200]).predict(X[200:300])
    plain = LogisticRegression(max_iter=1000).fit(X[:200], Y[:200]).predict(X[200:300])
    np.testing.assert_array_equal(found, plain)


def test_runs_can_name_it_and_keep_it(tmp_path: Path) -> None:
    named = make_estimator("self-training", {"rounds": 3}, "student")
    assert is_semi_supervised(named)
    model = fit_student(named, X[:1000], few())
    Student(model, list("abcdefghij")).save(tmp_path / "student.skops")
    again = Student.load(tmp_path / "student.skops")
    np.testing.assert_array_equal(again.model.predict(X[:50]), model.predict(X[:50]))


CANNOT_APPLY = {
    "check_classifiers_classes": "−1 is no class here: it means that there is no answer"
}


@parametrize_with_checks([SelfTraining()], expected_failed_checks=lambda _: CANNOT_APPLY)
def test_scikit_learn_is_content(estimator: SelfTraining, check: Callable[..., None]) -> None:
    check(estimator)

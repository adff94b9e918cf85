"""scikit-learn's own checks of an estimator, on one of the students."""

from __future__ import annotations

from typing import Any

from sklearn.utils.estimator_checks import parametrize_with_checks

from ballotine.students.neural import VAT

CHECKED = VAT(epochs=12, batch=50, learning_rate=0.02, epsilon=0.1, random_state=0)
FAILING = {"check_classifiers_classes": "it names a class -1, which means: no answer"}


@parametrize_with_checks([CHECKED], expected_failed_checks=lambda _: FAILING)
def test_scikit_learn_check(estimator: VAT, check: Any) -> None:
    check(estimator)
    assert isinstance(estimator, VAT)

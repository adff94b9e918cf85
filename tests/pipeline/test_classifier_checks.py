"""scikit-learn's own checks of an estimator."""

from __future__ import annotations

from typing import Any

from sklearn.utils.estimator_checks import parametrize_with_checks

from ballotine import Budget, GNMax, PateClassifier

# Noise so small and a budget so large that accuracy checks measure the estimator, not the noise.
CHECKED = PateClassifier(
    n_teachers=3, mechanism=GNMax(0.05), budget=Budget(1e9, 1e-5), random_state=0
)

SEALED_COPY = (
    "pickles before anything was asked and then asks the copy: a copy of an in-memory ledger "
    "refuses to spend, or the same privacy would be spent twice; with a ledger file the copy "
    "shares the file (test_a_pickled_classifier_shares_its_ledger_file)"
)
CANNOT_APPLY = {"check_estimators_pickle": SEALED_COPY}


@parametrize_with_checks([CHECKED], expected_failed_checks=lambda _: CANNOT_APPLY)
def test_scikit_learn_check(estimator: PateClassifier, check: Any) -> None:
    check(estimator)
    assert isinstance(estimator, PateClassifier)

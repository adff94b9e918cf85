"""scikit-learn's own checks of an estimator."""

from __future__ import annotations

from typing import Any

from sklearn.utils.estimator_checks import parametrize_with_checks

from ballotine.neural import TorchClassifier

CHECKED = TorchClassifier(epochs=25, batch=64, learning_rate=0.02, random_state=0)


@parametrize_with_checks([CHECKED])
def test_scikit_learn_check(estimator: TorchClassifier, check: Any) -> None:
    check(estimator)
    assert isinstance(estimator, TorchClassifier)

"""Self-training for run files: scikit-learn's, with a default base estimator."""

from __future__ import annotations

from typing import Any, Self

from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.utils.validation import check_is_fitted, validate_data

from ballotine.types import FloatArray, IntArray, Matrix


class SelfTraining(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that treats its confident predictions on unanswered rows as answers.

    scikit-learn's `SelfTrainingClassifier` needs a base estimator, which a run file cannot
    give, and cannot be fitted when every row has an answer.

    Parameters:
        estimator: the base estimator, with probabilities; None is logistic regression.
        threshold: the probability from which a prediction counts as confident.
        rounds: the largest number of rounds of predicting and refitting.
    """

    learns_from_unlabelled = True

    def __init__(self, estimator: Any = None, threshold: float = 0.75, rounds: int = 10) -> None:
        self.estimator = estimator
        self.threshold = threshold
        self.rounds = rounds

    def fit(self, X: Matrix, y: IntArray) -> Self:
        """Learn from rows with a class number, and from rows without one (-1)."""
        X, y = validate_data(self, X, y)
        base = LogisticRegression(max_iter=1000) if self.estimator is None else self.estimator
        if (y == -1).any():
            base = SelfTrainingClassifier(
                clone(base), threshold=self.threshold, max_iter=self.rounds
            )
        self.model_ = clone(base).fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X: Matrix) -> IntArray:
        """Return the class of each row."""
        check_is_fitted(self)
        predicted: IntArray = self.model_.predict(validate_data(self, X, reset=False))
        return predicted

    def predict_proba(self, X: Matrix) -> FloatArray:
        """Return probabilities, one column per class."""
        check_is_fitted(self)
        shares: FloatArray = self.model_.predict_proba(validate_data(self, X, reset=False))
        return shares

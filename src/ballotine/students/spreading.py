"""The default student: labels spread to neighbouring rows, then nearest neighbours classify.

scikit-learn's label spreading on a neighbour graph cannot handle rows that no label
reaches (it divides zero by zero and then predicts class 0). Here such rows are left out,
and the rows that were reached classify new ones.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.neighbors import KNeighborsClassifier
from sklearn.semi_supervised import LabelSpreading
from sklearn.utils.validation import check_is_fitted, validate_data

from ballotine.types import FloatArray, IntArray, Matrix

MAX_STEPS = 300


class SpreadingClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Label spreading on a neighbour graph, then nearest neighbours.

    Parameters:
        n_neighbors: number of neighbours of a row in the graph.
        alpha: the weight of a row's neighbours against its own label.
        n_voters: number of reached rows that classify a new one.
    """

    learns_from_unlabelled = True

    def __init__(self, n_neighbors: int = 7, alpha: float = 0.8, n_voters: int = 5) -> None:
        self.n_neighbors = n_neighbors
        self.alpha = alpha
        self.n_voters = n_voters

    def fit(self, X: Matrix, y: IntArray) -> Self:
        """Learn from rows with a class number, and from rows without one (-1)."""
        X, y = validate_data(self, X, y)
        graph = LabelSpreading(
            kernel="knn",
            n_neighbors=min(self.n_neighbors, len(X)),
            alpha=self.alpha,
            max_iter=MAX_STEPS,
        ).fit(X, y)
        reached = graph.label_distributions_.sum(axis=1) > 0
        self.voters_ = KNeighborsClassifier(min(self.n_voters, int(reached.sum())))
        self.voters_.fit(X[reached], graph.transduction_[reached])
        self.classes_ = self.voters_.classes_
        return self

    def predict(self, X: Matrix) -> IntArray:
        """Return the most frequent class of the nearest reached rows."""
        check_is_fitted(self)
        predicted: IntArray = self.voters_.predict(validate_data(self, X, reset=False))
        return predicted

    def predict_proba(self, X: Matrix) -> FloatArray:
        """Return the share of each class among the nearest reached rows."""
        check_is_fitted(self)
        shares = self.voters_.predict_proba(validate_data(self, X, reset=False))
        return np.asarray(shares, dtype=np.float64)

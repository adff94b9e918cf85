"""A fitted model that sees rows through features, and takes rows as they are."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from ballotine.types import FloatArray, Labels, Matrix


class FeaturedModel(BaseEstimator):  # type: ignore[misc]
    """What a released student is made of when it learnt from features of public rows.

    Parameters:
        features: a fitted transformer.
        model: what was fitted on transformed rows.
    """

    def __init__(self, features: Any = None, model: Any = None) -> None:
        self.features = features
        self.model = model

    @property
    def classes_(self) -> Labels:
        """Of the model."""
        return np.asarray(self.model.classes_)

    def predict(self, X: Matrix) -> Labels:
        """What the model says about rows as they are."""
        found: Labels = self.model.predict(self.features.transform(X))
        return found

    def predict_proba(self, X: Matrix) -> FloatArray:
        """The model's probabilities."""
        found: FloatArray = self.model.predict_proba(self.features.transform(X))
        return found

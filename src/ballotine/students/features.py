"""A fitted model that computes features of raw rows before it predicts."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from ballotine.types import FloatArray, Labels, Matrix


class FeaturedModel(BaseEstimator):  # type: ignore[misc]
    """The model of a student that learnt from features of public rows.

    Parameters:
        features: a fitted transformer.
        model: a model fitted on transformed rows.
    """

    def __init__(self, features: Any = None, model: Any = None) -> None:
        self.features = features
        self.model = model

    @property
    def classes_(self) -> Labels:
        """The classes of the model."""
        return np.asarray(self.model.classes_)

    def predict(self, X: Matrix) -> Labels:
        """Predict from raw rows."""
        found: Labels = self.model.predict(self.features.transform(X))
        return found

    def predict_proba(self, X: Matrix) -> FloatArray:
        """Return the model's probabilities for raw rows."""
        found: FloatArray = self.model.predict_proba(self.features.transform(X))
        return found

"""A trained network as a teacher: weights, its own buffers, and ``predict``."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassifierMixin

from ballotine.neural.predicting import probabilities
from ballotine.neural.training import seeded
from ballotine.neural.zoo import Factory, Shape, make_module
from ballotine.teachers.ttac.local import Buffers, Weights, restore
from ballotine.types import FloatArray, IntArray, Matrix


class TrainedNetwork(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Predicts class numbers with given weights; it is not fitted again.

    Parameters:
        network: the module's factory or its name.
        shape: of one input.
        outputs: how many classes there are.
        weights: all parameters as one vector.
        buffers: batch-norm statistics, by name.
    """

    def __init__(
        self,
        network: str | Factory,
        shape: Shape,
        outputs: int,
        weights: Weights,
        buffers: Buffers | None = None,
    ) -> None:
        self.network = network
        self.shape = shape
        self.outputs = outputs
        self.weights = weights
        self.buffers = buffers

    @property
    def classes_(self) -> IntArray:
        """All class numbers."""
        return np.arange(self.outputs)

    def predict(self, X: Matrix) -> IntArray:
        """The likeliest class of every row."""
        likeliest: IntArray = self.predict_proba(X).argmax(axis=1).astype(np.int64)
        return likeliest

    def predict_proba(self, X: Matrix) -> FloatArray:
        """Probabilities, a column per class."""
        with seeded(0):
            module = make_module(self.network, tuple(self.shape), self.outputs)
        restore(module, self.weights, self.buffers)
        rows = torch.from_numpy(np.ascontiguousarray(X, dtype=np.float32))
        inputs = rows.reshape(len(X), *self.shape)
        chances: FloatArray = probabilities(module, inputs, several=False).numpy()
        return chances

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __repr__(self, *_: Any) -> str:
        return "<TrainedNetwork: private>"

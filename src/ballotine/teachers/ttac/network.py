"""Networks as vectors of weights, and trained networks as teachers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from sklearn.base import BaseEstimator, ClassifierMixin
from torch import nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from ballotine.errors import ParameterError
from ballotine.neural.predicting import probabilities
from ballotine.neural.training import seeded
from ballotine.neural.zoo import Factory, Shape, make_module
from ballotine.types import FloatArray, IntArray, Matrix

Weights: TypeAlias = npt.NDArray[np.float32]
"""All weights of one network as a vector, or one row per teacher."""

Buffers: TypeAlias = dict[str, npt.NDArray[Any]]
"""The buffers of a network, by name: batch-norm statistics."""


@dataclass(frozen=True)
class Architecture:
    """A network without weights.

    Attributes:
        network: the module's factory, or a name.
        shape: the shape of one input.
        outputs: how many classes there are.
    """

    network: str | Factory
    shape: Shape
    outputs: int

    @property
    def name(self) -> str:
        """The network's name, or the full name of its factory."""
        if isinstance(self.network, str):
            return self.network
        qualified = getattr(self.network, "__qualname__", type(self.network).__qualname__)
        return f"{self.network.__module__}.{qualified}"

    def module(self) -> nn.Module:
        """Return a module with new weights."""
        return make_module(self.network, self.shape, self.outputs)


def weights_of(module: nn.Module) -> Weights:
    """Return all parameters of a module as one vector."""
    vector: Weights = parameters_to_vector(module.parameters()).detach().numpy().copy()
    return vector


def buffers_of(module: nn.Module) -> Buffers:
    """Return the buffers of a module, by name."""
    return {name: value.numpy().copy() for name, value in module.named_buffers()}


def restore(module: nn.Module, weights: Weights, buffers: Buffers | None) -> None:
    """Load weights, and a teacher's own buffers, into a module."""
    count = sum(weight.numel() for weight in module.parameters())
    if count != len(weights):
        raise ParameterError(f"got {len(weights)} weights for a network that has {count}")
    vector_to_parameters(torch.from_numpy(np.array(weights)), module.parameters())
    if buffers is not None:
        for name, value in module.named_buffers():
            value.copy_(torch.from_numpy(np.array(buffers[name])))


class TrainedNetwork(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A network with given weights that predicts class numbers; it cannot be fitted.

    Parameters:
        network: the module's factory, or a name.
        shape: the shape of one input.
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
        """Return the most probable class of every row."""
        classes: IntArray = self.predict_proba(X).argmax(axis=1).astype(np.int64)
        return classes

    def predict_proba(self, X: Matrix) -> FloatArray:
        """Return probabilities, one column per class."""
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

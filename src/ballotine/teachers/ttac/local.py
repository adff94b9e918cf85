"""One round of one teacher: local steps from the averaging model, with or without correction."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from ballotine.errors import DataError
from ballotine.neural.training import loss_of
from ballotine.neural.zoo import Shape
from ballotine.teachers.ttac.network import (
    Architecture,
    Buffers,
    Weights,
    buffers_of,
    restore,
    weights_of,
)
from ballotine.types import IntArray, Matrix


@dataclass(frozen=True)
class LocalRecords:
    """The records of one teacher: rows of features and class numbers."""

    X: Matrix
    y: IntArray

    def __post_init__(self) -> None:
        if len(self.X) != len(self.y) or len(self.y) == 0:
            raise DataError("every teacher needs at least one record, and every record a class")

    def __len__(self) -> int:
        return len(self.y)

    def draw(self, steps: int, batch: int, seed: int) -> LocalRecords:
        """Draw the mini-batches of a round, with replacement; the first axis is the step."""
        size = min(batch, len(self))
        rows = np.random.default_rng(seed).integers(len(self), size=(steps, size))
        return LocalRecords(self.X[rows], self.y[rows])


@dataclass(frozen=True)
class LocalTask:
    """Everything that one teacher needs for one round; nothing else is sent to its worker.

    Attributes:
        position: the teacher's position.
        architecture: its network.
        batches: mini-batches, shape (T, batch, features).
        start: the weights to start from; θ if teachers learn together.
        drift: c − c_i, the correction of every gradient; None for no correction.
        buffers: this teacher's own buffers; None before its first round.
        step_size: η_f in this round.
        seed: the seed of the module's own randomness (dropout).
    """

    position: int
    architecture: Architecture
    batches: LocalRecords
    start: Weights
    drift: Weights | None
    buffers: Buffers | None
    step_size: float
    seed: int


@dataclass(frozen=True)
class LocalResult:
    """A teacher after its round.

    Attributes:
        position: the teacher's position.
        weights: θ_i.
        buffers: its own buffers.
        loss: the loss of the starting weights on the first mini-batch (private).
    """

    position: int
    weights: Weights
    buffers: Buffers
    loss: float

    @property
    def sound(self) -> bool:
        """Whether all weights are finite."""
        return bool(np.all(np.isfinite(self.weights)))


def train_locally(task: LocalTask) -> LocalResult:
    """Set θ_i ← θ, then take T steps θ_i ← θ_i − η_f (∇f_i(θ_i) − c_i + c)."""
    shape = task.architecture.shape
    with _drawing_from(task.seed):
        module = task.architecture.module()
        restore(module, task.start, task.buffers)
        drift = None if task.drift is None else torch.from_numpy(task.drift)
        module.train()
        losses = [
            _descend(module, _inputs(X, shape), _classes(y), drift, task.step_size)
            for X, y in zip(task.batches.X, task.batches.y, strict=True)
        ]
    return LocalResult(task.position, weights_of(module), buffers_of(module), losses[0])


@contextmanager
def _drawing_from(seed: int) -> Iterator[None]:
    """Seed torch on the CPU only: forking other devices in thousands of rounds would be slow."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        yield


def _descend(
    module: nn.Module,
    inputs: torch.Tensor,
    classes: torch.Tensor,
    drift: torch.Tensor | None,
    step_size: float,
) -> float:
    """Take one step of corrected gradient descent; return the loss before it."""
    loss = loss_of(module(inputs), classes)
    module.zero_grad(set_to_none=True)
    loss.backward()  # type: ignore[no-untyped-call]
    place = 0
    with torch.no_grad():
        for weight in module.parameters():
            after = place + weight.numel()
            if weight.grad is not None:
                weight.sub_(weight.grad, alpha=step_size)
            if drift is not None:
                weight.sub_(drift[place:after].view_as(weight), alpha=step_size)
            place = after
    return float(loss.detach())


def _inputs(X: Matrix, shape: Shape) -> torch.Tensor:
    return torch.from_numpy(np.asarray(X, dtype=np.float32)).reshape(len(X), *shape)


def _classes(y: IntArray) -> torch.Tensor:
    return torch.from_numpy(np.asarray(y, dtype=np.int64))

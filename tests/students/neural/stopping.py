"""Small students whose training is stopped on the way."""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import nn

from ballotine.students.neural import Epoch, NeuralStudent, checkpoint
from tests.students.neural.digits import digits, student

DATA = digits()
OTHERS = DATA.others[:120]
EPOCHS = 4
HEAD = len(checkpoint.FORMAT) + 2 * checkpoint.DIGEST
"""Bytes before what a checkpoint holds."""


class Stop:
    """Listens, and ends the training in some way after an epoch of a stage."""

    def __init__(self, number: int, stage: str = "training", error: Any = RuntimeError) -> None:
        self.heard: list[Epoch] = []
        self._at, self._error = (number, stage), error

    def __call__(self, epoch: Epoch) -> None:
        self.heard.append(epoch)
        if (epoch.number, epoch.stage) == self._at:
            raise self._error("the light went out")


class Listener:
    def __init__(self) -> None:
        self.heard: list[Epoch] = []

    def __call__(self, epoch: Epoch) -> None:
        self.heard.append(epoch)


def dropping(shape: tuple[int, ...], outputs: int) -> nn.Module:
    """A network that draws from torch's own generator and keeps running statistics."""
    return nn.Sequential(
        nn.Linear(shape[0], 12),
        nn.BatchNorm1d(12),
        nn.ReLU(),
        nn.Dropout(0.3),
        nn.Linear(12, outputs),
    )


def small(kind: type[NeuralStudent], **more: Any) -> NeuralStudent:
    return student(kind, **{"epochs": EPOCHS, "network": dropping, "ema": 0.9, **more})


def fitted(model: NeuralStudent) -> NeuralStudent:
    return model.fit(DATA.X, DATA.answers, OTHERS)


def assert_same(one: NeuralStudent, other: NeuralStudent) -> None:
    assert one.history_ == other.history_
    assert one.state_.keys() == other.state_.keys()
    for name in one.state_:
        assert one.state_[name].dtype == other.state_[name].dtype
        assert one.state_[name].tobytes() == other.state_[name].tobytes(), name
    for name in ("suspicion_", "removed_"):
        assert hasattr(one, name) == hasattr(other, name)
        if hasattr(one, name):
            assert np.array_equal(getattr(one, name), getattr(other, name)), name
    assert one.interrupted_ is other.interrupted_ is False

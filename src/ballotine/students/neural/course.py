"""How long and how fast a student learns."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import nn

from ballotine.errors import ParameterError

DECAYS = ("none", "linear", "cosine")


@dataclass(frozen=True)
class Course:
    """The schedule of a training.

    Attributes:
        epochs: passes over the larger pool.
        batch: answers per step.
        learning_rate: Adam's, at the start.
        decay: how it falls from epoch to epoch: "none", "linear" or "cosine", towards zero.
        weight_decay: Adam's.
        ema: how much of its average a weight keeps at each step; 0 averages nothing.
    """

    epochs: int
    batch: int
    learning_rate: float
    decay: str = "cosine"
    weight_decay: float = 0.0
    ema: float = 0.0

    def __post_init__(self) -> None:
        if self.epochs < 1 or self.batch < 2:
            raise ParameterError("training needs at least one epoch and two rows per batch")
        if not self.learning_rate > 0:
            raise ParameterError(f"a learning rate must be positive, got {self.learning_rate}")
        if self.decay not in DECAYS:
            raise ParameterError(f"unknown decay {self.decay!r}; choose one of {DECAYS}")
        if not 0.0 <= self.ema < 1.0:
            raise ParameterError(f"ema must be at least 0 and below 1, got {self.ema}")

    def rate(self, epoch: int) -> float:
        """The learning rate of an epoch; the first is 0."""
        done = epoch / self.epochs
        share = {"none": 1.0, "linear": 1 - done, "cosine": (1 + math.cos(math.pi * done)) / 2}
        return self.learning_rate * share[self.decay]

    def adam(
        self, weights: Iterable[nn.Parameter], betas: tuple[float, float] = (0.9, 0.999)
    ) -> torch.optim.Adam:
        """The optimiser of some weights."""
        return torch.optim.Adam(
            weights,
            lr=self.learning_rate,
            betas=betas,
            weight_decay=self.weight_decay,
            fused=True,
        )

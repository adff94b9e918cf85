"""The base of all training methods: networks, optimisers and steps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import nn

from ballotine.neural.augment import Augment
from ballotine.neural.layers import batch_norms
from ballotine.neural.training import Schedule, set_rate
from ballotine.students.neural.checkpoint import TrainingCheckpoint
from ballotine.students.neural.pools import Batch, Pools
from ballotine.students.neural.teaching import Alone, Teaching

Losses = dict[str, torch.Tensor]

CRITERION = "labelled"
"""The loss every step reports: on the answers, before anything is selected."""


@dataclass(frozen=True)
class LearnerSetting:
    """The inputs of a training method.

    Attributes:
        pools: the rows.
        schedule: how long and how fast it learns.
        generator: draws random numbers.
        make_net: makes a new network, on the device.
        augment: changes rows at random.
        smoothing: the share of a label that is spread over all classes.
        ema: decay of the moving average of the weights; 0 for no average.
        multilabel: whether there are several labels per row.
        checkpoint: saves the progress.
    """

    pools: Pools
    schedule: Schedule
    generator: torch.Generator
    make_net: Callable[[], nn.Module]
    augment: Augment | None = None
    smoothing: float = 0.0
    ema: float = 0.0
    multilabel: bool = False
    checkpoint: TrainingCheckpoint | None = None

    def augmented(self, rows: torch.Tensor) -> torch.Tensor:
        """Return augmented rows, or the same ones if there is no augmentation."""
        return rows if self.augment is None else self.augment(rows, self.generator)


class Learner(ABC):
    """A training method: networks that learn step by step.

    Args:
        setting: the inputs.
        nets: the networks whose probabilities the student averages.
        teaching: how they learn from answers; by default from all of them.
        helpers: further modules to train; their optimisers come first.
        betas: Adam's betas.
    """

    uses_unlabelled = True
    """Whether batches contain unanswered rows."""

    def __init__(
        self,
        setting: LearnerSetting,
        nets: list[nn.Module],
        teaching: Teaching | None = None,
        helpers: Sequence[nn.Module] = (),
        betas: tuple[float, float] = (0.9, 0.999),
    ) -> None:
        self.setting, self.nets = setting, nn.ModuleList(nets)
        self.teaching = teaching or Alone(setting.smoothing)
        self.modules = [self.nets, *helpers]
        make = setting.schedule.make_optimiser
        self.optimisers = [make(module, betas) for module in (*helpers, *nets)]

    @abstractmethod
    def step(self, batch: Batch, epoch: int) -> Losses:
        """Learn from a batch and return losses, at least the criterion; epochs count from 0."""

    def set_rate(self, rate: float) -> None:
        """Set the learning rate."""
        for optimiser in self.optimisers:
            set_rate(optimiser, rate)


def descend(optimiser: torch.optim.Optimizer, loss: torch.Tensor) -> None:
    """Take one optimiser step on a loss."""
    optimiser.zero_grad(set_to_none=True)
    loss.backward()  # type: ignore[no-untyped-call]
    optimiser.step()


@contextmanager
def untracked(module: nn.Module, *, dropout: bool = True) -> Iterator[None]:
    """Leave batch norm's running statistics as they are during a forward pass.

    Predictions use these statistics, which generated and perturbed rows must not affect.

    Args:
        module: a network in training mode.
        dropout: False disables it, to compare two passes over the same rows.
    """
    norms = batch_norms(module)
    drops = [m for m in module.modules() if isinstance(m, nn.modules.dropout._DropoutNd)]
    before = [(norm, norm.track_running_stats) for norm in norms]
    active = [] if dropout else [drop for drop in drops if drop.training]
    for norm in norms:
        norm.track_running_stats = False
    for drop in active:
        drop.eval()
    try:
        yield
    finally:
        for norm, tracked in before:
            norm.track_running_stats = tracked
        for drop in active:
            drop.train()

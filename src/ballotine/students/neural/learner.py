"""What all methods share: networks, optimisers, and one step at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import nn

from ballotine.neural.augment import Augment
from ballotine.students.neural.checkpoint import TrainingCheckpoint
from ballotine.students.neural.course import Course
from ballotine.students.neural.pools import Batch, Pools
from ballotine.types import FloatArray, IntArray

Losses = dict[str, torch.Tensor]
Rows = dict[str, IntArray]
Counts = dict[str, FloatArray]

CRITERION = "labelled"
"""The loss every step reports: on the answers, before anything is selected."""


@dataclass(frozen=True)
class LearnerSetting:
    """What a method is given.

    Attributes:
        pools: the rows.
        course: the schedule.
        generator: where random numbers come from.
        make_net: a new network, on the device.
        augment: changes rows at random.
        smoothing: the share of a label that is spread over all classes.
        multilabel: whether there are several labels per row.
        checkpoint: where it is kept how far the training is.
    """

    pools: Pools
    course: Course
    generator: torch.Generator
    make_net: Callable[[], nn.Module]
    augment: Augment | None = None
    smoothing: float = 0.0
    multilabel: bool = False
    checkpoint: TrainingCheckpoint | None = None

    def changed(self, rows: torch.Tensor) -> torch.Tensor:
        """Rows after a random change, or as they are."""
        return rows if self.augment is None else self.augment(rows, self.generator)


class Learner(ABC):
    """One method at work.

    Attributes:
        nets: the networks whose mean probabilities are the student's.
        optimisers: of everything that learns.
        both: whether rows without an answer are wanted.
    """

    both = True

    def __init__(self, nets: list[nn.Module], optimisers: list[torch.optim.Adam]) -> None:
        self.nets = nn.ModuleList(nets)
        self.optimisers = optimisers

    @abstractmethod
    def step(self, batch: Batch, epoch: int) -> Losses:
        """Learn from a batch; epochs count from 0. Reports at least the criterion."""

    def end_epoch(self) -> tuple[dict[str, float], Rows]:
        """Further numbers of the epoch, and places in the labelled pool worth telling."""
        return {}, {}

    def modules(self) -> list[nn.Module]:
        """Everything that has weights, in an order that does not change."""
        return [self.nets]

    def counts(self) -> Counts:
        """What is counted beside the weights, from epoch to epoch."""
        return {}

    def recount(self, counts: Counts) -> None:  # noqa: B027 - most methods count nothing
        """Go on with counts of an earlier time."""

    def set_rate(self, rate: float) -> None:
        """The learning rate from now on."""
        for optimiser in self.optimisers:
            for group in optimiser.param_groups:
                group["lr"] = rate


def descend(optimiser: torch.optim.Optimizer, loss: torch.Tensor) -> None:
    """One step down a loss."""
    optimiser.zero_grad(set_to_none=True)
    loss.backward()  # type: ignore[no-untyped-call]
    optimiser.step()


def has_batch_norm(module: nn.Module) -> bool:
    """Whether rows of a batch influence each other, and leave statistics behind."""
    return any(isinstance(layer, nn.modules.batchnorm._BatchNorm) for layer in module.modules())


@contextmanager
def untracked(module: nn.Module, *, dropout: bool = True) -> Iterator[None]:
    """A look at rows that must not enter batch norm's running statistics.

    They are what predictions rest on, and rows that were generated or perturbed do not belong.

    Args:
        module: a network while it trains.
        dropout: False switches it off, for what compares two looks at the same rows.
    """
    norms = [m for m in module.modules() if isinstance(m, nn.modules.batchnorm._BatchNorm)]
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

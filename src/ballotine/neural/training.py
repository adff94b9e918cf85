"""The training loop: tensor batches without a data loader, reproducible with a seed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional

from ballotine.errors import DivergedError, ParameterError
from ballotine.neural.augment import Augment
from ballotine.neural.layers import batch_norms

MISSING = -1
"""In targets with several labels: unknown, and left out of the loss."""


DIVERGED = "the loss is no longer a number; use a smaller learning rate or check the input"


DECAYS = ("none", "linear", "cosine")


@dataclass(frozen=True)
class Schedule:
    """How long and how fast a network learns.

    Attributes:
        epochs: passes over the rows.
        batch: rows per step; the last batch of an epoch may be smaller.
        learning_rate: of the optimiser, at the start.
        optimiser: "adam" or "sgd" (with momentum 0.9).
        weight_decay: of the optimiser.
        decay: how the learning rate decreases to zero: "none", "linear" or "cosine".
        bf16: compute in bfloat16, which is faster on some processors; only in `train`.
    """

    epochs: int = 40
    batch: int = 32
    learning_rate: float = 1e-3
    optimiser: str = "adam"
    weight_decay: float = 0.0
    decay: str = "none"
    bf16: bool = False

    def __post_init__(self) -> None:
        if self.epochs < 1 or self.batch < 1:
            raise ParameterError("training needs at least one epoch and one row per batch")
        if not self.learning_rate > 0:
            raise ParameterError(f"the learning rate must be positive, got {self.learning_rate}")
        if self.optimiser not in ("adam", "sgd"):
            raise ParameterError(f"unknown optimiser {self.optimiser!r}; choose adam or sgd")
        if self.decay not in DECAYS:
            raise ParameterError(f"unknown decay {self.decay!r}; choose one of {DECAYS}")

    def rate(self, epoch: int) -> float:
        """Return the learning rate of an epoch, counted from 0."""
        done = epoch / self.epochs
        share = {"none": 1.0, "linear": 1 - done, "cosine": (1 + math.cos(math.pi * done)) / 2}
        return self.learning_rate * share[self.decay]

    def make_optimiser(
        self, module: nn.Module, betas: tuple[float, float] = (0.9, 0.999)
    ) -> torch.optim.Optimizer:
        """Return an optimiser of a module's weights; ``betas`` are Adam's."""
        weights, rate, decay = module.parameters(), self.learning_rate, self.weight_decay
        if self.optimiser == "adam":
            return torch.optim.Adam(weights, rate, betas, weight_decay=decay, fused=True)
        return torch.optim.SGD(weights, rate, momentum=0.9, weight_decay=decay)


def train(
    module: nn.Module,
    inputs: torch.Tensor,
    targets: torch.Tensor,
    schedule: Schedule,
    generator: torch.Generator,
    augment: Augment | None = None,
    after_epoch: Callable[[int, float], bool] = lambda _epoch, _loss: True,
) -> None:
    """Train a module in place.

    Args:
        module: returns logits.
        inputs: all records, on the module's device.
        targets: class numbers, or rows of 0/1 with MISSING where a label is not known.
        schedule: how long and how fast.
        generator: draws the order of records.
        augment: changes every batch.
        after_epoch: called with the epoch and its mean loss; False ends the training.
    """
    optimiser = schedule.make_optimiser(module)
    module.train()
    if min(schedule.batch, len(inputs)) == 1:
        # Batch norm cannot estimate a variance from one record: it keeps its initial statistics.
        for layer in batch_norms(module):
            layer.eval()
    for epoch in range(schedule.epochs):
        set_rate(optimiser, schedule.rate(epoch))
        total = torch.zeros((), device=inputs.device)
        for rows in batches(len(inputs), schedule.batch, generator):
            batch = inputs[rows]
            if augment is not None:
                batch = augment(batch, generator)
            with autocast(schedule.bf16, inputs.device):
                loss = loss_of(module(batch), targets[rows])
            optimiser.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            total += loss.detach() * len(rows)
        mean = float(total) / len(inputs)
        if not math.isfinite(mean):
            raise DivergedError(DIVERGED)
        if not after_epoch(epoch, mean):
            break
    # The loss can stay finite while batch norm's running statistics do not.
    if not all(bool(torch.isfinite(value).all()) for value in module.state_dict().values()):
        raise DivergedError(DIVERGED)


def set_rate(optimiser: torch.optim.Optimizer, rate: float) -> None:
    """Set the learning rate."""
    for group in optimiser.param_groups:
        group["lr"] = rate


def loss_of(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Return cross-entropy; for several labels, binary cross-entropy on the known ones."""
    if targets.ndim == 1:
        return functional.cross_entropy(logits.float(), targets)
    known = targets != MISSING
    wanted = targets.clamp(min=0).to(logits.dtype).float()
    each = functional.binary_cross_entropy_with_logits(logits.float(), wanted, reduction="none")
    return (each * known).sum() / known.sum().clamp(min=1)


def batches(rows: int, size: int, generator: torch.Generator) -> Iterator[torch.Tensor]:
    """Yield every row once, in random order."""
    order = torch.randperm(rows, generator=generator)
    for part in slices(rows, size):
        yield order[part]


def slices(rows: int, size: int) -> Iterator[slice]:
    """Return the slice of each batch; a last batch of one row joins the one before it.

    Batch norm cannot train on one row, and dropping rows would waste private records.
    """
    ends = [*range(size, rows, size), rows]
    if len(ends) > 1 and ends[-1] - ends[-2] == 1:
        ends.pop(-2)
    return map(slice, [0, *ends], ends)


@contextmanager
def autocast(wanted: bool, device: torch.device) -> Iterator[None]:
    """Compute in bfloat16 if wanted."""
    with torch.autocast(device.type, dtype=torch.bfloat16, enabled=wanted):
        yield


@contextmanager
def seeded(seed: int) -> Iterator[torch.Generator]:
    """Make random draws inside follow from the seed, and leave outer generators unchanged."""
    repeatable = torch.backends.cudnn.flags(enabled=True, benchmark=False, deterministic=True)
    with torch.random.fork_rng(), repeatable:
        # torch.manual_seed also looks for other accelerators, which takes milliseconds per call.
        torch.default_generator.manual_seed(seed)
        if torch.cuda.is_available():
            torch.cuda.manual_seed_all(seed)
        yield torch.Generator().manual_seed(seed)

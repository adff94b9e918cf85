"""The training loop of all neural students."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel

from ballotine.neural.training import DivergedError
from ballotine.students.distill import TrainingInterrupted
from ballotine.students.neural.ema import averaged
from ballotine.students.neural.learner import CRITERION, Learner, Rows, Setting
from ballotine.students.neural.pools import draw

State = dict[str, torch.Tensor]
History = dict[str, list[float]]


@dataclass(frozen=True)
class Epoch:
    """What is told after each epoch.

    Attributes:
        number: from 1.
        of: how many there will be.
        stage: what is being done, for methods with several stages.
        losses: mean losses, and other numbers the method counts.
        rows: rows of ``X`` worth telling, such as those the peers disagreed on.
    """

    number: int
    of: int
    stage: str
    losses: dict[str, float]
    rows: Rows


OnEpoch = Callable[[Epoch], None]


@dataclass
class Outcome:
    """What training gave.

    Attributes:
        state: the weights to predict with.
        history: numbers by name, one per epoch.
        interrupted: whether it was ended before its time.
    """

    state: State = field(default_factory=dict)
    history: History = field(default_factory=dict)
    interrupted: bool = False


def run(
    learner: Learner,
    setting: Setting,
    on_epoch: OnEpoch | None = None,
    stage: str = "training",
    earlier: Outcome | None = None,
) -> Outcome:
    """Train to the end; when interrupted, keep the best epoch's weights.

    The best epoch is the one with the lowest mean loss on the answers. That is a public
    number; private records would be a better judge, and must not be asked.

    Args:
        learner: the method.
        setting: what it was made from.
        on_epoch: is told about each epoch.
        stage: what to call this training.
        earlier: what an earlier stage gave, kept when this one does not finish an epoch.
    """
    outcome, best = Outcome(), math.inf
    released: nn.Module = learner.nets
    average = averaged(learner.nets, setting.course.ema) if setting.course.ema > 0 else None
    if average is not None:
        released = average.module
    try:
        for epoch in range(setting.course.epochs):
            numbers, rows = _epoch(learner, setting, epoch, average)
            _check(numbers, learner, setting, epoch)
            for name, value in numbers.items():
                outcome.history.setdefault(name, []).append(value)
            if numbers[CRITERION] <= best:
                best, outcome.state = numbers[CRITERION], _copy(released)
            if on_epoch is not None:
                on_epoch(Epoch(epoch + 1, setting.course.epochs, stage, numbers, rows))
    except KeyboardInterrupt:
        done = len(outcome.history.get(CRITERION, ()))
        if not done and earlier is None:
            raise
        warnings.warn(
            f"{stage} was interrupted after {done} of {setting.course.epochs} epochs; the best "
            "weights so far are kept",
            TrainingInterrupted,
            stacklevel=2,
        )
        kept = outcome if done or earlier is None else earlier
        return replace(kept, interrupted=True)
    outcome.state = _copy(released)
    return outcome


def _epoch(
    learner: Learner, setting: Setting, epoch: int, average: AveragedModel | None
) -> tuple[dict[str, float], Rows]:
    learner.nets.train()
    learner.set_rate(setting.course.rate(epoch))
    totals: dict[str, torch.Tensor] = {}
    seen = 0
    for batch in draw(setting.pools, setting.course.batch, setting.generator, both=learner.both):
        for name, loss in learner.step(batch, epoch).items():
            totals[name] = totals.get(name, 0) + loss.detach() * len(batch.places)
        if average is not None:
            average.update_parameters(learner.nets)
        seen += len(batch.places)
    more, places = learner.end_epoch()
    numbers = {name: float(total) / seen for name, total in totals.items()}
    labelled = setting.pools.labelled.cpu().numpy()
    return {**numbers, **more}, {name: labelled[found] for name, found in places.items()}


def _check(numbers: dict[str, float], learner: Learner, setting: Setting, epoch: int) -> None:
    finite = all(math.isfinite(value) for value in numbers.values())
    if finite and all(bool(torch.isfinite(w).all()) for w in learner.nets.parameters()):
        return
    raise DivergedError(
        f"training diverged in epoch {epoch + 1}: a loss or a weight is not a number any more; "
        f"use a learning rate below {setting.course.learning_rate:g}, and check that features "
        "are scaled to about 0 to 1"
    )


def _copy(module: nn.Module) -> State:
    return {name: value.detach().clone() for name, value in module.state_dict().items()}

"""The training loop of all neural students."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel

from ballotine.errors import DivergedError
from ballotine.students.fitting import TrainingInterrupted
from ballotine.students.neural.learner import CRITERION, Learner
from ballotine.students.neural.pools import draw
from ballotine.students.neural.snapshot import capture, packed, restore, unpacked
from ballotine.students.neural.teaching import Rows

State = dict[str, torch.Tensor]
History = dict[str, list[float]]


@dataclass(frozen=True)
class Epoch:
    """What ``on_epoch`` receives after each epoch.

    Attributes:
        number: from 1.
        of: the total number of epochs.
        stage: the current stage, for methods with several.
        losses: mean losses, and other numbers that the method reports.
        rows: notable rows of ``X``, such as those the peers disagreed on.
    """

    number: int
    of: int
    stage: str
    losses: dict[str, float]
    rows: Rows


OnEpoch = Callable[[Epoch], None]


@dataclass
class Outcome:
    """The result of a training.

    Attributes:
        state: the weights to predict with.
        history: series by name, one number per epoch.
        interrupted: whether it was stopped early.
    """

    state: State = field(default_factory=dict)
    history: History = field(default_factory=dict)
    interrupted: bool = False


def run(
    learner: Learner,
    on_epoch: OnEpoch | None = None,
    stage: str = "training",
    earlier: Outcome | None = None,
) -> Outcome:
    """Train to the end; when interrupted, keep the best epoch's weights.

    With a checkpoint, training resumes after the last saved epoch; ``on_epoch`` receives the
    earlier epochs again, so that curves are complete.

    The best epoch is the one with the lowest mean loss on the answers. That is a public
    number; private records would be a better criterion, but must not be used.

    Args:
        learner: the training method.
        on_epoch: called after each epoch.
        stage: the name of this stage.
        earlier: the result of an earlier stage, returned if this one finishes no epoch.
    """
    training, setting = _Training(learner, stage, on_epoch), learner.setting
    try:
        training.resume()
        while training.done < setting.schedule.epochs:
            training.run_epoch()
        training.finish()
    except KeyboardInterrupt:
        done = training.done
        if not done and earlier is None:
            raise
        warnings.warn(
            f"{stage} was interrupted after {done} of {setting.schedule.epochs} epochs; the best "
            "weights so far are kept",
            TrainingInterrupted,
            stacklevel=2,
        )
        kept = training.outcome if done or earlier is None else earlier
        return replace(kept, interrupted=True)
    except DivergedError:
        if setting.checkpoint is not None:
            setting.checkpoint.remove()  # it would only diverge again
        raise
    finally:
        if setting.checkpoint is not None:
            setting.checkpoint.flush()
    return training.outcome


class _Training:
    """One stage in progress.

    Attributes:
        outcome: the result so far.
    """

    def __init__(self, learner: Learner, stage: str, on_epoch: OnEpoch | None) -> None:
        self._learner, self._setting = learner, learner.setting
        self._stage, self._on_epoch = stage, on_epoch
        ema = learner.setting.ema
        self._average = averaged(learner.nets, ema) if ema > 0 else None
        self._best, self._finished = math.inf, False
        self._rows: list[Rows] = []
        self.outcome = Outcome()

    @property
    def done(self) -> int:
        """The number of finished epochs."""
        return len(self.outcome.history.get(CRITERION, ()))

    def resume(self) -> None:
        """Resume from the checkpoint, if there is one."""
        checkpoint = self._setting.checkpoint
        kept = None if checkpoint is None else checkpoint.of(self._stage)
        if kept is None:
            return
        self._finished = kept["finished"]
        restore(kept, self._learner, self._average)
        self._best, self.outcome = kept["best"], Outcome(kept["state"], kept["history"])
        self._rows = unpacked(kept["rows"], self.done)
        for epoch in range(self.done):
            self._report(epoch)

    def run_epoch(self) -> None:
        """Train for one more epoch."""
        epoch, state, history = self.done, self.outcome.state, self.outcome.history
        numbers, rows = _epoch(self._learner, epoch, self._average)
        _check(numbers, self._learner, epoch)
        if numbers[CRITERION] <= self._best:
            self._best, state = numbers[CRITERION], self._weights()
        self._rows.append(rows)
        longer = {name: [*history.get(name, ()), value] for name, value in numbers.items()}
        self.outcome = Outcome(state, longer)
        self._keep()
        self._report(epoch)

    def finish(self) -> None:
        """Use the last weights to predict."""
        if not self._finished:
            self.outcome.state = self._weights()
            self._finished = True
            self._keep()

    def _keep(self) -> None:
        if self._setting.checkpoint is None:
            return
        now = capture(self._learner, self._average, finished=self._finished)
        progress = {
            "finished": self._finished,
            "best": self._best,
            "state": self.outcome.state,
            "history": self.outcome.history,
            "rows": packed(self._rows),
        }
        self._setting.checkpoint.keep(self._stage, {**now, **progress})

    def _report(self, epoch: int) -> None:
        if self._on_epoch is None:
            return
        numbers = {name: values[epoch] for name, values in self.outcome.history.items()}
        epochs = self._setting.schedule.epochs
        with torch.random.fork_rng():  # the callback must not change what is drawn next
            self._on_epoch(Epoch(epoch + 1, epochs, self._stage, numbers, self._rows[epoch]))

    def _weights(self) -> State:
        released = self._learner.nets if self._average is None else self._average.module
        return {name: value.detach().clone() for name, value in released.state_dict().items()}


def _epoch(
    learner: Learner, epoch: int, average: AveragedModel | None
) -> tuple[dict[str, float], Rows]:
    setting = learner.setting
    learner.nets.train()
    learner.set_rate(setting.schedule.rate(epoch))
    totals: dict[str, torch.Tensor] = {}
    seen = 0
    for batch in draw(
        setting.pools, setting.schedule.batch, setting.generator, unlabelled=learner.uses_unlabelled
    ):
        for name, loss in learner.step(batch, epoch).items():
            totals[name] = totals.get(name, 0) + loss.detach() * len(batch.places)
        if average is not None:
            average.update_parameters(learner.nets)
        seen += len(batch.places)
    more, places = learner.teaching.end_epoch()
    numbers = {name: float(total) / seen for name, total in totals.items()}
    labelled = setting.pools.labelled.cpu().numpy()
    return {**numbers, **more}, {name: labelled[found] for name, found in places.items()}


def _check(numbers: dict[str, float], learner: Learner, epoch: int) -> None:
    finite = all(math.isfinite(value) for value in numbers.values())
    if finite and all(bool(torch.isfinite(w).all()) for w in learner.nets.parameters()):
        return
    rate = learner.setting.schedule.learning_rate
    raise DivergedError(
        f"training diverged in epoch {epoch + 1}: a loss or a weight is no longer a number; "
        f"use a learning rate below {rate:g}, and check that features "
        "are scaled to about 0 to 1"
    )


def averaged(module: nn.Module, decay: float) -> AveragedModel:
    """Return a moving average of the weights: average ← d·average + (1 − d)·weight.

    At first d is smaller, (1 + t)/(10 + t) at step t, so that the random initial weights lose
    their influence within a few steps.

    Args:
        module: the module that is trained.
        decay: the largest d.
    """

    def follow(
        averages: Sequence[torch.Tensor], current: Sequence[torch.Tensor], steps: torch.Tensor | int
    ) -> None:
        keep = min(decay, (1 + int(steps)) / (10 + int(steps)))
        for average, value in zip(averages, current, strict=True):
            if average.is_floating_point():
                average.lerp_(value, 1 - keep)
            else:
                average.copy_(value)

    return AveragedModel(module, multi_avg_fn=follow, use_buffers=True)

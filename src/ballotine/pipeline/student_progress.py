"""Progress bars for the training of a student, with its losses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from sklearn.base import clone

from ballotine.progress import Advance, Progress
from ballotine.students import LabelStudents, learns_all_labels, losses_in, reports_epochs
from ballotine.types import IntArray

if TYPE_CHECKING:  # a run without networks needs no torch
    from ballotine.students.neural import Epoch

NAME = "student"
USUAL_STAGE = "training"


@contextmanager
def training_bars(progress: Progress, learner: Any, labels: IntArray) -> Iterator[Any]:
    """Show progress bars for the training of a student: per epoch, per label, or one step.

    Yields a learner that advances the bars.

    Args:
        progress: shows the bars.
        learner: the untrained student.
        labels: its training labels, shape (rows,) or (rows, labels).
    """
    if not reports_epochs(learner):
        with progress.stage(NAME, 1) as advance:
            yield learner
            advance(1)
    elif labels.ndim == 2 and not learns_all_labels(learner):
        with progress.stage(NAME, _answered_both_ways(labels)) as advance:
            bar = LabelBar(progress, advance)
            yield _reporting(learner, bar.epoch)
            advance(1)  # the last label is finished
    else:
        with ExitStack() as bars:
            shown = EpochBars(progress, bars, getattr(learner, "epochs", None))
            yield _reporting(learner, shown.epoch)


def remove_callback(model: Any) -> Any:
    """Return the trained model without its epoch callback."""
    for each in model.models if isinstance(model, LabelStudents) else [model]:
        if each is not None and reports_epochs(each):
            each.set_params(on_epoch=None)
    return model


class EpochBars:
    """A bar for the epochs of one network, one per stage of its training."""

    def __init__(self, progress: Progress, bars: ExitStack, epochs: object) -> None:
        self._progress, self._bars = progress, bars
        self._stage: str | None = None
        self._done = 0
        self._open(epochs if isinstance(epochs, int) else None)

    def epoch(self, epoch: Epoch) -> None:
        """Show the losses and advance the bar."""
        if self._stage not in (None, epoch.stage):
            self._bars.close()
            self._open(epoch.of)
        self._stage = epoch.stage
        self._progress.tell(losses_text(epoch))
        steps, self._done = epoch.number - self._done, epoch.number
        self._advance(steps)

    def _open(self, epochs: int | None) -> None:
        self._done = 0
        self._advance = self._bars.enter_context(self._progress.stage(NAME, epochs))


class LabelBar:
    """A bar for labels, if each has its own network."""

    def __init__(self, progress: Progress, advance: Advance) -> None:
        self._progress, self._advance = progress, advance
        self._first: str | None = None

    def epoch(self, epoch: Epoch) -> None:
        """Show the epoch; the first epoch of a label completes the previous label."""
        if (epoch.number, epoch.stage) == (1, self._first):
            self._advance(1)
        self._first = self._first or epoch.stage
        self._progress.tell(f"epoch {epoch.number} of {epoch.of}, {losses_text(epoch)}")


def losses_text(epoch: Epoch) -> str:
    """Return the losses of an epoch in one line."""
    losses = ", ".join(f"{name} {epoch.losses[name]:.3g}" for name in losses_in(epoch.losses))
    return losses if epoch.stage == USUAL_STAGE else f"{epoch.stage}: {losses}"


def _reporting(learner: Any, report: Callable[[Epoch], None]) -> Any:
    """Return a copy that reports its epochs."""

    def on_epoch(epoch: Epoch) -> None:
        report(epoch)  # not the bound method: a clone would copy its object

    return clone(learner).set_params(on_epoch=on_epoch)


def _answered_both_ways(labels: IntArray) -> int:
    """Return how many labels have both present and absent among their answers."""
    return int(((labels == 1).any(axis=0) & (labels == 0).any(axis=0)).sum())

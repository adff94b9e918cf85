"""How far a student's training is, with its losses: bars for whoever watches the run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from sklearn.base import clone

from ballotine.progress import Advance, Progress
from ballotine.students import LabelStudents, learns_all_labels, losses_in, tells_epochs
from ballotine.types import IntArray

if TYPE_CHECKING:  # a run without networks needs no torch
    from ballotine.students.neural import Epoch

NAME = "student"
USUAL_STAGE = "training"


@contextmanager
def watched(progress: Progress, learner: Any, labels: IntArray) -> Iterator[Any]:
    """Bars for the training of a student: of epochs, of labels, or of the student as a whole.

    The block is given the learner that moves them.

    Args:
        progress: shows them.
        learner: the student before its training.
        labels: what it will learn, shape (rows,) or (rows, labels).
    """
    if not tells_epochs(learner):
        with progress.stage(NAME, 1) as advance:
            yield learner
            advance(1)
    elif labels.ndim == 2 and not learns_all_labels(learner):
        with progress.stage(NAME, _answered_both_ways(labels)) as advance:
            bar = LabelBar(progress, advance)
            yield _telling(learner, bar.epoch)
            advance(1)  # the last label is over
    else:
        with ExitStack() as bars:
            yield _telling(
                learner, EpochBars(progress, bars, getattr(learner, "epochs", None)).epoch
            )


def unwatched(model: Any) -> Any:
    """The trained model without its listener."""
    for each in model.models if isinstance(model, LabelStudents) else [model]:
        if each is not None and tells_epochs(each):
            each.set_params(on_epoch=None)
    return model


class EpochBars:
    """A bar of one network's epochs; another for each further stage of its training."""

    def __init__(self, progress: Progress, bars: ExitStack, epochs: object) -> None:
        self._progress, self._bars = progress, bars
        self._stage: str | None = None
        self._done = 0
        self._open(epochs if isinstance(epochs, int) else None)

    def epoch(self, epoch: Epoch) -> None:
        """Show the losses and move on."""
        if self._stage not in (None, epoch.stage):
            self._bars.close()
            self._open(epoch.of)
        self._stage = epoch.stage
        self._progress.tell(in_words(epoch))
        steps, self._done = epoch.number - self._done, epoch.number
        self._advance(steps)

    def _open(self, epochs: int | None) -> None:
        self._done = 0
        self._advance = self._bars.enter_context(self._progress.stage(NAME, epochs))


class LabelBar:
    """A bar of labels, each with a network of its own."""

    def __init__(self, progress: Progress, advance: Advance) -> None:
        self._progress, self._advance = progress, advance
        self._first: str | None = None

    def epoch(self, epoch: Epoch) -> None:
        """Show how far the label's network is; its first epoch ends the label before."""
        if (epoch.number, epoch.stage) == (1, self._first):
            self._advance(1)
        self._first = self._first or epoch.stage
        self._progress.tell(f"epoch {epoch.number} of {epoch.of}, {in_words(epoch)}")


def in_words(epoch: Epoch) -> str:
    """The losses of an epoch in one short line."""
    losses = ", ".join(f"{name} {epoch.losses[name]:.3g}" for name in losses_in(epoch.losses))
    return losses if epoch.stage == USUAL_STAGE else f"{epoch.stage}: {losses}"


def _telling(learner: Any, listen: Callable[[Epoch], None]) -> Any:
    """A copy that tells its epochs."""

    def on_epoch(epoch: Epoch) -> None:
        listen(epoch)  # a function is the one thing that estimators' copies do not copy

    return clone(learner).set_params(on_epoch=on_epoch)


def _answered_both_ways(labels: IntArray) -> int:
    """How many labels have something to learn."""
    return int(((labels == 1).any(axis=0) & (labels == 0).any(axis=0)).sum())

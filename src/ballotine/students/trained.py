"""How a student's networks were trained: losses by epoch, whether to the end, what they forgot.

All of it follows from public rows and released answers, so it is public itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ballotine.students.features import FeaturedModel
from ballotine.students.multilabel import LabelStudents
from ballotine.students.student import Student
from ballotine.types import IntArray

STAGE = "stage"
"""The series that numbers the stages of a training with several."""
COUNTED = frozenset({STAGE, "agreement_1", "agreement_2", "disagreed", "suspected", "sure"})
"""Series that are no losses: shares of rows, and numbers of them."""


@dataclass(frozen=True)
class Trained:
    """The training of one network, or of peers that learnt together.

    Attributes:
        label: the one it learnt, where each label has a model of its own.
        curves: numbers by name, one per epoch: losses, and what the method counts.
        interrupted: whether somebody ended it early; the best weights so far were kept.
        removed: rows whose answers it forgot because they looked wrong; None for a method
            that trusts all answers.
    """

    label: str | None
    curves: dict[str, list[float]]
    interrupted: bool
    removed: IntArray | None = None

    @property
    def epochs(self) -> int:
        """How many were finished."""
        return max(map(len, self.curves.values()), default=0)


def losses_in(numbers: Iterable[str]) -> list[str]:
    """The names of losses among those of all numbers of an epoch."""
    return [name for name in numbers if name not in COUNTED]


def trainings(student: Student) -> tuple[Trained, ...]:
    """What a student's networks tell of their training; nothing for models of other kinds."""
    model = student.model
    if isinstance(model, FeaturedModel):
        model = model.model
    if isinstance(model, LabelStudents):
        pairs = zip(student.classes_.tolist(), model.models, strict=True)
        found = [_trained(each, str(name)) for name, each in pairs]
    else:
        found = [_trained(model, None)]
    return tuple(each for each in found if each is not None)


def _trained(model: Any, label: str | None) -> Trained | None:
    curves, interrupted = (getattr(model, name, None) for name in ("history_", "interrupted_"))
    if not isinstance(curves, dict) or interrupted is None:
        return None
    removed = getattr(model, "removed_", None)
    return Trained(label, curves, bool(interrupted), removed)

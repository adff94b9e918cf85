"""How a student's networks were trained: losses per epoch, interruption, removed answers.

All of it follows from public rows and released answers, so it is public.
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
"""The series of stage numbers, for trainings with several stages."""
COUNTED = frozenset({STAGE, "agreement_1", "agreement_2", "disagreed", "suspected", "sure"})
"""Series that are not losses but shares or numbers of rows."""


@dataclass(frozen=True)
class Trained:
    """The training of one network, or of two peers.

    Attributes:
        label: the label it learnt, if each label has its own model.
        curves: series by name, one number per epoch: losses and counts.
        interrupted: whether it was ended early, keeping the best weights so far.
        removed: rows whose answers were removed as probably wrong; None if the method
            removes none.
    """

    label: str | None
    curves: dict[str, list[float]]
    interrupted: bool
    removed: IntArray | None = None

    @property
    def epochs(self) -> int:
        """The number of finished epochs."""
        return max(map(len, self.curves.values()), default=0)


def losses_in(numbers: Iterable[str]) -> list[str]:
    """Return which of these series are losses."""
    return [name for name in numbers if name not in COUNTED]


def trainings(student: Student) -> tuple[Trained, ...]:
    """Return how a student's networks were trained; empty for other models."""
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

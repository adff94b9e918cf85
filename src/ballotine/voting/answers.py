"""Released answers, which are public."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ballotine.ledger.answers import answered
from ballotine.task import Task, task_kind
from ballotine.types import BoolArray, IntArray, Labels


@dataclass(frozen=True)
class Answers:
    """Released answers to a pool of queries, in the pool's order: public.

    Attributes:
        labels: a class number per query, ABSTAIN, or UNASKED; with several labels per query
            the shape is (queries, labels) and an answer is 1 (present) or 0 (absent).
        classes: what the class numbers stand for, or the names of the labels.
    """

    labels: IntArray
    classes: Labels

    @property
    def task(self) -> Task:
        """The task: one class, or several labels."""
        return task_kind(several=self.labels.ndim == 2)(self.classes)

    @property
    def multilabel(self) -> bool:
        """Whether every query has several labels."""
        return self.task.several

    @property
    def named(self) -> np.ma.MaskedArray[Any, Any]:
        """The answers as classes (or as 0 and 1 per label), masked where missing."""
        return self.task.named(self.labels)

    @property
    def answered(self) -> BoolArray:
        """Which queries got a class, or an answer for at least one label."""
        return answered(self.labels)

    @property
    def asked(self) -> BoolArray:
        """Which queries were asked at all."""
        return self.task.asked(self.labels)

    @property
    def abstained(self) -> BoolArray:
        """Which queries were asked and not answered."""
        return self.asked & ~self.answered

    def __len__(self) -> int:
        return len(self.labels)

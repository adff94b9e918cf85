"""Labels that imply each other: public knowledge that saves questions.

A cat is an animal. Where such a forest of labels is known beforehand (from a textbook, never
from the private records), part of the answers follows from the others, and what follows is
neither asked nor paid for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np

from ballotine.errors import ParameterError
from ballotine.types import BoolArray, IntArray

First = Literal["roots", "leaves"]
"""Which end of the forest is asked first."""

PRESENT = 1


@dataclass(frozen=True)
class Dependencies:
    """A forest of labels: whoever has a label has its parent too.

    "roots" first: a label is asked only where its parent is present. The children of an absent
    label are absent, those of a label that abstained abstain; neither are asked.

    "leaves" first: a label with a present child is present and not asked. Others are.

    So the answers show which labels were asked.

    Attributes:
        parents: for each label the number of its parent, or None.
        first: the end that is asked first. Roots first saves most where few labels are present.
    """

    parents: tuple[int | None, ...]
    first: First = "roots"

    def __post_init__(self) -> None:
        object.__setattr__(self, "parents", tuple(self.parents))
        if self.first not in get_args(First):
            raise ParameterError("dependencies are asked with roots or leaves first")
        for parent in self.parents:
            if parent is None:
                continue
            if isinstance(parent, bool) or not isinstance(parent, int):
                raise ParameterError("the parent of a label is a label's number, or none")
            if not 0 <= parent < len(self.parents):
                raise ParameterError(f"there is no label {parent} to be a parent")
        if len(self._outwards) != len(self.parents):
            raise ParameterError("the parents of labels run in a circle")

    @classmethod
    def of(cls, given: Dependencies | Mapping[str, Any] | None) -> Dependencies | None:
        """Dependencies as such, or as they stand in a description."""
        return cls(**given) if isinstance(given, Mapping) else given

    @property
    def labels(self) -> int:
        """How many labels the forest has."""
        return len(self.parents)

    def infer(self, answers: IntArray) -> IntArray:
        """Replace what need not be asked by what follows, shape (queries, labels).

        Args:
            answers: what asking each label would give.
        """
        known = answers.copy()
        if self.first == "roots":
            for label in self._outwards:
                parent = self.parents[label]
                if parent is not None:
                    above = known[:, parent]
                    known[:, label] = np.where(above == PRESENT, known[:, label], above)
        else:
            for label in reversed(self._outwards):
                known[self._has_present_child(known, label), label] = PRESENT
        return known

    def asked(self, answers: IntArray) -> BoolArray:
        """Which labels were asked, read from the answers, shape (queries, labels)."""
        asked = np.ones(answers.shape, dtype=bool)
        for label, parent in enumerate(self.parents):
            if self.first == "leaves":
                asked[:, label] = ~self._has_present_child(answers, label)
            elif parent is not None:
                asked[:, label] = answers[:, parent] == PRESENT
        return asked

    def _has_present_child(self, answers: IntArray, label: int) -> BoolArray:
        found: BoolArray = np.any(answers[:, self._children[label]] == PRESENT, axis=1)
        return found

    @cached_property
    def _children(self) -> list[list[int]]:
        children: list[list[int]] = [[] for _ in self.parents]
        for label, parent in enumerate(self.parents):
            if parent is not None:
                children[parent].append(label)
        return children

    @cached_property
    def _outwards(self) -> list[int]:
        """Labels from the roots outwards; those that hang on a circle are not reached."""
        reached = [label for label, parent in enumerate(self.parents) if parent is None]
        for label in reached:
            reached.extend(self._children[label])
        return reached

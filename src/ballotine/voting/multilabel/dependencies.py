"""Labels that imply others: public knowledge that reduces the cost.

A cat is an animal. If such a forest of labels is known beforehand (from a textbook, never from
the private records), some answers follow from others, and those are neither asked nor charged.
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
    """A forest of labels: a record that has a label also has its parent.

    "roots" first: a label is asked only if its parent is present. The children of an absent label
    are absent, and those of a label that abstained abstain; neither are asked.

    "leaves" first: a label with a present child is present and not asked. All others are asked.

    So the answers show which labels were asked.

    Attributes:
        parents: for each label the number of its parent, or None.
        first: the end that is asked first. "roots" saves most if few labels are present.
    """

    parents: tuple[int | None, ...]
    first: First = "roots"

    def __post_init__(self) -> None:
        object.__setattr__(self, "parents", tuple(self.parents))
        if self.first not in get_args(First):
            raise ParameterError("first must be roots or leaves")
        for parent in self.parents:
            if parent is None:
                continue
            if isinstance(parent, bool) or not isinstance(parent, int):
                raise ParameterError("the parent of a label must be the number of a label, or None")
            if not 0 <= parent < len(self.parents):
                raise ParameterError(f"a parent is label {parent}, which does not exist")
        if len(self._outwards) != len(self.parents):
            raise ParameterError("the parents of labels form a cycle")

    @classmethod
    def of(cls, given: Dependencies | Mapping[str, Any] | None) -> Dependencies | None:
        """Return dependencies from a mapping of their fields; others are returned unchanged."""
        return cls(**given) if isinstance(given, Mapping) else given

    @property
    def labels(self) -> int:
        """The number of labels."""
        return len(self.parents)

    def infer(self, answers: IntArray) -> IntArray:
        """Replace the answers of labels that are not asked by what follows from the others.

        Args:
            answers: the answers if every label were asked, shape (queries, labels).
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
        """Return which labels were asked, as the answers show, shape (queries, labels)."""
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
        """Labels from the roots outwards; those below a cycle are not reached."""
        reached = [label for label, parent in enumerate(self.parents) if parent is None]
        for label in reached:
            reached.extend(self._children[label])
        return reached

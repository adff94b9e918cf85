"""What a query asks for: one class, or several labels that are each present or absent.

The two differ in how targets are encoded, in the shape of ballots and answers, and in how answers
are named and counted, all of which is here. How teachers, students and evaluation handle each task
is in `ballotine.pipeline.steps`.
"""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ballotine.errors import DataError, ParameterError
from ballotine.types import ABSTAIN, UNASKED, BoolArray, IntArray, Labels

UNKNOWN = -1
"""In a matrix of labels: not known whether the record has the label."""


class Task(ABC):
    """What every query of a data set asks for.

    Attributes:
        several: whether there are several labels per row instead of one class.
        noun: what a record has, for messages.
        parts: what an answer can be missing for, for messages.
        names: the classes in the order of their numbers, or the names of the labels.
    """

    several: ClassVar[bool]
    noun: ClassVar[str]
    parts: ClassVar[str]

    def __init__(self, names: npt.ArrayLike) -> None:
        self.names: Labels = np.asarray(names)

    @classmethod
    @abstractmethod
    def encode(cls, y: Labels, given: Any) -> tuple[IntArray, Task]:
        """Return targets as numbers, and their task.

        Args:
            y: one class per record, or 0 and 1, shape (records, labels).
            given: the publicly known names, or the number of labels; None if not known.
        """

    @staticmethod
    @abstractmethod
    def tail(size: int) -> tuple[int, ...]:
        """Return the shape of one answer or one ballot within an array.

        Args:
            size: the number of classes or labels.
        """

    @abstractmethod
    def decode(self, codes: IntArray) -> Labels:
        """Convert numbers back to the holder's values: classes, or 0 and 1 per label."""

    @abstractmethod
    def columns(self, answers: IntArray) -> dict[str, np.ma.MaskedArray[Any, Any]]:
        """Return answers as columns of a table, masked where there is none."""

    @abstractmethod
    def counts(self, answers: IntArray) -> dict[str, Any]:
        """Count the answers per class or label, for the privacy card."""

    def named(self, answers: IntArray) -> np.ma.MaskedArray[Any, Any]:
        """Return answers as classes, or as 0 and 1 per label, masked where there is none."""
        return np.ma.masked_array(self.decode(answers.clip(0)), mask=answers < 0)

    @staticmethod
    def asked(answers: IntArray) -> BoolArray:
        """Return which queries were asked."""
        asked: BoolArray = np.all(answers != UNASKED, axis=tuple(range(1, answers.ndim)))
        return asked


class SingleLabel(Task):
    """One class out of several."""

    several = False
    noun = "one class"
    parts = "rows"

    @classmethod
    def encode(cls, y: Labels, given: Any) -> tuple[IntArray, Task]:
        """Return class numbers; the classes come from the public list if there is one."""
        from sklearn.utils.multiclass import check_classification_targets

        check_classification_targets(y)
        classes = np.unique(y if given is None else np.asarray(given))
        if len(classes) < 2:
            raise DataError(
                "a vote needs at least two classes, but the labels contain only one class"
            )
        codes = np.searchsorted(classes, y)
        if np.any(classes[np.minimum(codes, len(classes) - 1)] != y):
            raise DataError("some private labels are not among the given classes")
        return codes.astype(np.int64), cls(classes)

    @staticmethod
    def tail(size: int) -> tuple[int, ...]:  # noqa: ARG004
        """Return (): an answer is one number."""
        return ()

    def decode(self, codes: IntArray) -> Labels:
        """Return the class of each number."""
        named: Labels = self.names[codes]
        return named

    def columns(self, answers: IntArray) -> dict[str, np.ma.MaskedArray[Any, Any]]:
        """Return one column, the class."""
        return {"answer": self.named(answers)}

    def counts(self, answers: IntArray) -> dict[str, Any]:
        """Count the queries answered with each class."""
        found = np.bincount(answers[answers >= 0], minlength=len(self.names))
        names = [str(name) for name in self.names.tolist()]
        return {"by_class": dict(zip(names, found.tolist(), strict=True))}


class MultiLabel(Task):
    """Several labels, each of them present or absent."""

    several = True
    noun = "several labels"
    parts = "labels"

    @classmethod
    def encode(cls, y: Labels, given: Any) -> tuple[IntArray, Task]:
        """Return a matrix of 0, 1 and −1 (unknown)."""
        if given is None or isinstance(given, numbers.Integral):
            matrix = label_matrix(y, None if given is None else int(given), "the private data")
            return matrix, cls(np.arange(matrix.shape[1]))
        matrix = label_matrix(y, len(given), "the private data")
        names = np.asarray(given)
        if len(np.unique(names)) < len(names):
            raise ParameterError("classes name a label twice")
        return matrix, cls(names)

    @staticmethod
    def tail(size: int) -> tuple[int, ...]:
        """Return one axis, with an entry per label."""
        return (size,)

    def decode(self, codes: IntArray) -> Labels:
        """Return the numbers unchanged: 0 and 1 need no names."""
        return codes

    def columns(self, answers: IntArray) -> dict[str, np.ma.MaskedArray[Any, Any]]:
        """Return one column per label."""
        return {
            f"answer:{name}": np.ma.masked_array(column.astype(np.int8), mask=column < 0)
            for name, column in zip(self.names.tolist(), answers.T, strict=True)
        }

    def counts(self, answers: IntArray) -> dict[str, Any]:
        """Count how often each label was answered present or absent, or abstained on."""
        found = {
            "present": np.count_nonzero(answers == 1, axis=0),
            "absent": np.count_nonzero(answers == 0, axis=0),
            "abstained": np.count_nonzero(answers == ABSTAIN, axis=0),
        }
        return {
            "by_label": [
                {"label": str(name)} | {key: int(each[place]) for key, each in found.items()}
                for place, name in enumerate(self.names.tolist())
            ]
        }


def task_kind(*, several: bool) -> type[Task]:
    """Return the task with one class per row, or with several labels."""
    return MultiLabel if several else SingleLabel


def label_matrix(y: npt.ArrayLike, labels: int | None, where: str) -> IntArray:
    """Return labels as integers: 0, 1 or UNKNOWN (given as −1 or NaN), shape (records, labels).

    Raises:
        DataError: if the shape is wrong, or there are other values (which are not shown).
    """
    array = np.asarray(y)
    if array.ndim != 2 or array.shape[1] != (array.shape[1] if labels is None else labels):
        expected = "labels" if labels is None else labels
        raise DataError(
            f"the labels of {where} must have the shape (rows, {expected}), got {array.shape}"
        )
    if array.dtype.kind not in "biuf":
        raise DataError(f"the labels of {where} must be 0 or 1, and -1 where unknown")
    if array.dtype.kind == "f":
        array = np.where(np.isnan(array), UNKNOWN, array)
    if not np.isin(array, (0, 1, UNKNOWN)).all():
        raise DataError(f"the labels of {where} must be 0 or 1, and -1 where unknown")
    return array.astype(np.int64)

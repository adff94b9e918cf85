"""The target columns of a table: one class, or several labels of 0 and 1."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ballotine.data.table import as_column, class_indices, require_columns, texts
from ballotine.errors import DataError
from ballotine.task import UNKNOWN, MultiLabel, SingleLabel, Task, label_matrix
from ballotine.text import printable
from ballotine.types import IntArray, Labels

Classes = tuple[str | int, ...]

_VALUES = {
    "0": 0, "0.0": 0, "false": 0, "1": 1, "1.0": 1, "true": 1, "-1": UNKNOWN, "-1.0": UNKNOWN,
}  # fmt: skip


@dataclass(frozen=True)
class Target(ABC):
    """The columns that hold the labels of records.

    Attributes:
        columns: one column with a class, or one per label.
        task: the task that these labels are for.
    """

    columns: tuple[str, ...]
    task: ClassVar[type[Task]]

    def has_columns(self, names: tuple[str, ...]) -> bool:
        """Whether a table with these columns has all target columns."""
        return set(self.columns) <= set(names)

    @abstractmethod
    def fully_labelled(self, table: pa.Table, where: str) -> bool:
        """Whether every row is labelled as far as the task requires."""

    @abstractmethod
    def read(self, table: pa.Table, classes: Classes, where: str) -> IntArray:
        """Return each row's class number, or 0, 1 or UNKNOWN per label."""

    @abstractmethod
    def as_columns(self, y: Labels, where: str) -> dict[str, pa.ChunkedArray]:
        """Return an array of labels as columns of a table."""


@dataclass(frozen=True)
class ClassTarget(Target):
    """One column that holds a class."""

    task = SingleLabel

    def fully_labelled(self, table: pa.Table, where: str) -> bool:
        """Whether every row has a class."""
        return not any(texts(table[name], name, where).null_count for name in self.columns)

    def read(self, table: pa.Table, classes: Classes, where: str) -> IntArray:
        """Return each row's class number."""
        (name,) = self.columns
        require_columns(table.column_names, self.columns, where)
        return class_indices(table[name], classes, name, where)

    def as_columns(self, y: Labels, where: str) -> dict[str, pa.ChunkedArray]:
        """Return one column."""
        return {self.columns[0]: as_column(y, where)}


@dataclass(frozen=True)
class LabelTarget(Target):
    """One column of 0 and 1 per label, empty where a label is unknown."""

    task = MultiLabel

    def fully_labelled(self, table: pa.Table, where: str) -> bool:  # noqa: ARG002
        """Return True: rows may lack labels."""
        return True

    def read(self, table: pa.Table, classes: Classes, where: str) -> IntArray:  # noqa: ARG002
        """Return 0, 1 or UNKNOWN, shape (rows, labels)."""
        require_columns(table.column_names, self.columns, where)
        return np.column_stack([_presence(table[name], name, where) for name in self.columns])

    def as_columns(self, y: Labels, where: str) -> dict[str, pa.ChunkedArray]:
        """Return one column per label."""
        matrix = label_matrix(y, len(self.columns), where)
        return {name: as_column(matrix[:, place], where) for place, name in enumerate(self.columns)}


def label_words(y: Labels) -> Labels:
    """Return one text per record: its class, or its labels as a word of 0 and 1."""
    return y if y.ndim == 1 else np.asarray(["".join(map(str, row)) for row in y.tolist()])


def _presence(column: pa.ChunkedArray, name: str, where: str) -> IntArray:
    coded = pc.dictionary_encode(texts(column, name, where).combine_chunks())
    words = [_VALUES.get(str(word).lower()) for word in coded.dictionary.to_pylist()]
    if None in words:
        raise DataError(
            f"column '{printable(name)}' of {where} must contain 0 (absent) or "
            "1 (present), and be empty if the label is unknown"
        )
    lookup = np.array([*words, UNKNOWN], dtype=np.int64)
    places = pc.fill_null(coded.indices, len(words))
    return lookup[np.asarray(places, dtype=np.int64)]

"""What a record is labelled with: one class out of several, or several labels of 0 and 1."""

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

_MEANING = {
    "0": 0, "0.0": 0, "false": 0, "1": 1, "1.0": 1, "true": 1, "-1": UNKNOWN, "-1.0": UNKNOWN,
}  # fmt: skip


@dataclass(frozen=True)
class Target(ABC):
    """The columns that hold what records are labelled with.

    Attributes:
        columns: one column with a class, or one per label.
        task: what they are the target of.
    """

    columns: tuple[str, ...]
    task: ClassVar[type[Task]]

    def complete(self, names: tuple[str, ...]) -> bool:
        """Whether these are columns of a table that has every label column."""
        return set(self.columns) <= set(names)

    @abstractmethod
    def gapless(self, table: pa.Table, where: str) -> bool:
        """Whether every row has what it needs."""

    @abstractmethod
    def read(self, table: pa.Table, classes: Classes, where: str) -> IntArray:
        """Each row's label: its class's position, or 0, 1 and UNKNOWN per label."""

    @abstractmethod
    def as_columns(self, y: Labels, where: str) -> dict[str, pa.ChunkedArray]:
        """An array of labels as the columns of a table."""


@dataclass(frozen=True)
class ClassTarget(Target):
    """One column that holds a class."""

    task = SingleLabel

    def gapless(self, table: pa.Table, where: str) -> bool:
        """Whether every row has a class."""
        return not any(texts(table[name], name, where).null_count for name in self.columns)

    def read(self, table: pa.Table, classes: Classes, where: str) -> IntArray:
        """The position of each row's class."""
        (name,) = self.columns
        require_columns(table.column_names, self.columns, where)
        return class_indices(table[name], classes, name, where)

    def as_columns(self, y: Labels, where: str) -> dict[str, pa.ChunkedArray]:
        """One column."""
        return {self.columns[0]: as_column(y, where)}


@dataclass(frozen=True)
class LabelTarget(Target):
    """One column of 0 and 1 per label, empty where a label is unknown."""

    task = MultiLabel

    def gapless(self, table: pa.Table, where: str) -> bool:  # noqa: ARG002
        """A row may lack some of its labels."""
        return True

    def read(self, table: pa.Table, classes: Classes, where: str) -> IntArray:  # noqa: ARG002
        """0, 1 and UNKNOWN, shape (rows, labels)."""
        require_columns(table.column_names, self.columns, where)
        return np.column_stack([_presence(table[name], name, where) for name in self.columns])

    def as_columns(self, y: Labels, where: str) -> dict[str, pa.ChunkedArray]:
        """One column per label."""
        matrix = label_matrix(y, len(self.columns), where)
        return {name: as_column(matrix[:, place], where) for place, name in enumerate(self.columns)}


def label_words(y: Labels) -> Labels:
    """One text per record: its class, or its row of 0 and 1 as one word."""
    return y if y.ndim == 1 else np.asarray(["".join(map(str, row)) for row in y.tolist()])


def _presence(column: pa.ChunkedArray, name: str, where: str) -> IntArray:
    coded = pc.dictionary_encode(texts(column, name, where).combine_chunks())
    words = [_MEANING.get(str(word).lower()) for word in coded.dictionary.to_pylist()]
    if None in words:
        raise DataError(
            f"column '{printable(name)}' of {where} must hold 0 and 1 (present), "
            "and nothing where the label is unknown"
        )
    lookup = np.array([*words, UNKNOWN], dtype=np.int64)
    places = pc.fill_null(coded.indices, len(words))
    return lookup[np.asarray(places, dtype=np.int64)]

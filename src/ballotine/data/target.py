"""What a record is labelled with: one class out of several, or several labels of 0 and 1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ballotine.data.table import as_column, class_indices, require_columns, texts
from ballotine.errors import DataError
from ballotine.text import printable
from ballotine.types import IntArray, Labels

UNKNOWN = -1
"""In a matrix of labels: nobody says whether this record has this label."""

Classes = tuple[str | int, ...]

_MEANING = {
    "0": 0, "0.0": 0, "false": 0, "1": 1, "1.0": 1, "true": 1, "-1": UNKNOWN, "-1.0": UNKNOWN,
}  # fmt: skip


@dataclass(frozen=True)
class Target:
    """The columns that hold labels.

    Attributes:
        columns: one column with a class, or one per label with 0 and 1 (empty: unknown).
        several: whether a record may have several labels.
    """

    columns: tuple[str, ...]
    several: bool = False

    @classmethod
    def one(cls, column: str) -> Target:
        """One column that holds a class."""
        return cls((column,))

    def complete(self, names: tuple[str, ...]) -> bool:
        """Whether these are columns of a table that has every label column."""
        return set(self.columns) <= set(names)

    def gapless(self, table: pa.Table, where: str) -> bool:
        """Whether every row has a class; a row may lack some of several labels."""
        return self.several or not any(
            texts(table[name], name, where).null_count for name in self.columns
        )

    def read(self, table: pa.Table, classes: Classes, where: str) -> IntArray:
        """Each row's label: its class's position, or 0, 1 and UNKNOWN per label."""
        require_columns(table.column_names, self.columns, where)
        if not self.several:
            return class_indices(table[self.columns[0]], classes, self.columns[0], where)
        return np.column_stack([_presence(table[name], name, where) for name in self.columns])

    def as_columns(self, y: Labels, where: str) -> dict[str, pa.ChunkedArray]:
        """An array of labels as the columns of a table."""
        if not self.several:
            return {self.columns[0]: as_column(y, where)}
        matrix = label_matrix(y, len(self.columns), where)
        return {name: as_column(matrix[:, place], where) for place, name in enumerate(self.columns)}


def label_matrix(y: npt.ArrayLike, labels: int | None, where: str) -> IntArray:
    """Labels as whole numbers: 0, 1 or UNKNOWN (−1, or NaN), shape (records, labels).

    Raises:
        DataError: another shape, or other values (which are not shown).
    """
    array = np.asarray(y)
    if array.ndim != 2 or array.shape[1] != (array.shape[1] if labels is None else labels):
        expected = "labels" if labels is None else labels
        raise DataError(
            f"the labels of {where} must have the shape (rows, {expected}), got {array.shape}"
        )
    if array.dtype.kind not in "biuf":
        raise DataError(f"the labels of {where} must be 0 and 1, and -1 where one is unknown")
    if array.dtype.kind == "f":
        array = np.where(np.isnan(array), UNKNOWN, array)
    if not np.isin(array, (0, 1, UNKNOWN)).all():
        raise DataError(f"the labels of {where} must be 0 and 1, and -1 where one is unknown")
    return array.astype(np.int64)


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

"""Rows between a file and a matrix: tables in batches, or arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, Protocol, Self

import numpy as np
import pyarrow as pa

from ballotine.data.encode import Encoder, as_features
from ballotine.data.groups import group_names
from ballotine.data.identity import Records, joined, records_in, records_of
from ballotine.data.sources import Arrays, column_names, read_batches
from ballotine.data.table import as_column, class_indices, classes_of, require_columns
from ballotine.data.target import Classes, Target, label_words
from ballotine.errors import DataError
from ballotine.task import label_matrix
from ballotine.types import IntArray, Labels, Matrix


class EncodedRows(NamedTuple):
    """Encoded rows: features, labels and records."""

    X: Matrix
    y: IntArray | None
    records: Records | None


class Rows(Protocol):
    """Rows that can be counted, selected and turned into arrays."""

    @property
    def where(self) -> str:
        """How messages call these rows."""

    @property
    def labelled(self) -> bool:
        """Whether every row has a label."""

    def count(self) -> int:
        """Return the number of rows."""

    def select(self, positions: IntArray, where: str) -> Self:
        """Return only these rows, in this order."""

    def found_classes(self) -> Classes:
        """Return the classes that occur: sorted integers, or sorted texts."""

    def arrays(
        self, encoder: Encoder | None, classes: Classes | None, *, identify: bool = False
    ) -> EncodedRows:
        """Return features, labels if classes are given, and records if `identify` is set."""

    def grouped(self) -> Labels | None:
        """Return the group of each row, if rows have groups."""


@dataclass(frozen=True, eq=False)
class TableRows:
    """Rows of a table that is read again, batch by batch, whenever it is needed.

    Attributes:
        where: how messages call these rows.
        names: the columns of the table.
        target: the columns that hold labels.
        batches: reads the table.
        column: the column that names each row's group, if any; it is not a feature.
        groups: the group of each row of the table, if it comes from elsewhere.
        positions: the selected rows, in their order; None: all.
    """

    where: str
    names: tuple[str, ...]
    target: Target
    batches: Callable[[], Iterator[pa.Table]]
    column: str | None = None
    groups: Labels | None = None
    positions: IntArray | None = None

    @classmethod
    def from_file(cls, path: str | Path, target: Target, where: str) -> Self:
        """Return the rows of a CSV, Parquet or column .npz file."""
        return cls(where, tuple(column_names(path)), target, lambda: read_batches(path))

    @classmethod
    def from_table(cls, table: pa.Table, target: Target, where: str) -> Self:
        """Return the rows of a table in memory."""
        return cls(where, tuple(table.column_names), target, lambda: iter([table]))

    @property
    def features(self) -> tuple[str, ...]:
        """The columns that hold neither labels nor groups."""
        aside = {*self.target.columns, self.column}
        return tuple(name for name in self.names if name not in aside)

    @property
    def labelled(self) -> bool:
        """Whether the label columns exist; a single one must have no gaps."""
        if not self.target.has_columns(self.names):
            return False
        return all(self.target.fully_labelled(batch, self.where) for batch in self.selected())

    def count(self) -> int:
        """Return the number of rows."""
        if self.positions is not None:
            return len(self.positions)
        return sum(batch.num_rows for batch in self.batches())

    def select(self, positions: IntArray, where: str) -> Self:
        """Return only these rows, in this order."""
        return replace(self, positions=positions, where=where)

    def table(self) -> pa.Table:
        """Return all rows at once, in the order of the file."""
        return pa.concat_tables(self.selected())

    def found_classes(self) -> Classes:
        """Return the classes that occur in the target column."""
        (target,) = self.target.columns
        require_columns(self.names, [target], self.where)
        chunks = [chunk for batch in self.selected() for chunk in batch[target].chunks]
        return classes_of(pa.chunked_array(chunks), target, self.where)

    def arrays(
        self, encoder: Encoder | None, classes: Classes | None, *, identify: bool = False
    ) -> EncodedRows:
        """Encode batch by batch, so that the texts are never in memory all at once."""
        assert encoder is not None
        if classes is not None:
            require_columns(self.names, self.target.columns, self.where)
        features: list[Matrix] = []
        labels: list[IntArray] = []
        records: list[Records] = []
        for batch in self.selected():
            features.append(encoder.transform(batch, self.where))
            if classes is not None:
                labels.append(self.target.read(batch, classes, self.where))
                if identify:
                    known = label_words(self.target.task(classes).decode(labels[-1]))
                    records.append(records_in(batch, self.target.columns, known))
        X, y = np.concatenate(features), np.concatenate(labels) if labels else None
        order = self._order()
        if order is not None:
            X, y = X[order], None if y is None else y[order]
        return EncodedRows(X, y, joined(records) if records else None)

    def grouped(self) -> Labels | None:
        """Return the group of each row, from the column or from elsewhere."""
        if self.groups is not None:
            return self.groups if self.positions is None else self.groups[self.positions]
        if self.column is None:
            return None
        require_columns(self.names, [self.column], self.where)
        names = np.concatenate(
            [group_names(batch[self.column], self.column, self.where) for batch in self.selected()]
        )
        order = self._order()
        return names if order is None else names[order]

    def _order(self) -> IntArray | None:
        """Return how to reorder rows from the order of the file to that of the selection."""
        if self.positions is None or not (np.diff(self.positions) <= 0).any():
            return None
        return np.argsort(np.argsort(self.positions))

    def selected(self) -> Iterator[pa.Table]:
        """Yield the selected rows in batches, in the order of the file."""
        if self.positions is None:
            yield from self.batches()
            return
        wanted = np.sort(self.positions)
        start = 0
        for batch in self.batches():
            low, high = np.searchsorted(wanted, [start, start + batch.num_rows])
            if high > low:
                yield batch.take(pa.array(wanted[low:high] - start))
            start += batch.num_rows


@dataclass(frozen=True, eq=False)
class ArrayRows:
    """Rows of a feature array with or without labels, used as they are."""

    where: str
    X: Matrix
    y: Labels | None
    groups: Labels | None = None

    @classmethod
    def from_arrays(
        cls, X: Matrix, y: Labels | None, where: str, target: Target | None = None
    ) -> Self:
        """Validate the arrays; the features are flattened to rows of floats.

        Args:
            X: features.
            y: one label per row, or, with several labels, one column for each.
            where: how messages call these rows.
            target: names the labels, if rows may have several.
        """
        features = as_features(X, where)
        if y is not None and target is not None:
            y = label_matrix(y, len(target.columns), where)
        if y is not None and (np.ndim(y) != (2 if target else 1) or len(y) != len(features)):
            raise DataError(
                f"the labels of {where} must be one per row: there are {len(features)} rows "
                f"and labels of shape {np.shape(y)}"
            )
        return cls(where, features, y)

    @property
    def labelled(self) -> bool:
        """Whether there are labels."""
        return self.y is not None

    def count(self) -> int:
        """Return the number of rows."""
        return len(self.X)

    def select(self, positions: IntArray, where: str) -> Self:
        """Return only these rows, in this order."""
        y = None if self.y is None else np.asarray(self.y)[positions]
        groups = None if self.groups is None else self.groups[positions]
        return replace(self, where=where, X=self.X[positions], y=y, groups=groups)

    def found_classes(self) -> Classes:
        """Return the classes that occur among the labels."""
        return classes_of(self._column(), "y", self.where)

    def arrays(
        self, encoder: Encoder | None, classes: Classes | None, *, identify: bool = False
    ) -> EncodedRows:
        """Return the features, labels if classes are given, and records if `identify` is set."""
        del encoder
        if classes is None:
            return EncodedRows(self.X, None, None)
        given = self._labels()
        if given.ndim == 2:
            return EncodedRows(self.X, given, self._records(given) if identify else None)
        y = class_indices(self._column(), classes, "y", self.where)
        return EncodedRows(self.X, y, self._records(np.asarray(classes)[y]) if identify else None)

    def grouped(self) -> Labels | None:
        """Return the group of each row, if rows have groups."""
        return self.groups

    def _records(self, labels: Labels) -> Records:
        return records_of(self.X, label_words(labels))

    def _labels(self) -> Labels:
        if self.y is None:
            raise DataError(f"{self.where} holds no labels: add an array y")
        return np.asarray(self.y)

    def _column(self) -> pa.ChunkedArray:
        return as_column(self._labels(), self.where)


def as_table(arrays: Arrays, names: Sequence[str], target: Target | None, where: str) -> pa.Table:
    """Return a feature array as a table with the schema's column names, in the schema's order."""
    X = np.asarray(arrays.X)
    if X.ndim != 2 or X.shape[1] != len(names):
        raise DataError(
            f"the features of {where} have the shape {X.shape}, "
            f"but the schema describes {len(names)} columns"
        )
    columns = {name: as_column(X[:, index], where) for index, name in enumerate(names)}
    if arrays.y is not None and target is not None:
        columns |= target.as_columns(arrays.y, where)
    return pa.table(columns)

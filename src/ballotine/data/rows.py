"""Rows on their way from a file to a matrix, whatever the file: tables in batches, or arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, Protocol, Self

import numpy as np
import pyarrow as pa

from ballotine.data.encode import Encoder, as_features
from ballotine.data.identity import Records, joined, records_in, records_of
from ballotine.data.sources import Arrays, column_names, read_batches
from ballotine.data.table import as_column, class_indices, classes_of, require_columns, texts
from ballotine.errors import DataError
from ballotine.types import IntArray, Labels, Table

Classes = tuple[str | int, ...]


class Arrived(NamedTuple):
    """Rows at the end of their way."""

    X: Table
    y: IntArray | None
    records: Records | None


class Rows(Protocol):
    """Rows that can be counted, selected and turned into arrays."""

    @property
    def where(self) -> str:
        """What messages call these rows."""

    @property
    def labelled(self) -> bool:
        """Whether every row has a label."""

    def count(self) -> int:
        """How many rows there are."""

    def select(self, positions: IntArray, where: str) -> Self:
        """Only these rows, in this order."""

    def found_classes(self) -> Classes:
        """The classes that occur: sorted integers, or sorted texts."""

    def arrays(
        self, encoder: Encoder | None, classes: Classes | None, *, identify: bool = False
    ) -> Arrived:
        """Features, class positions if classes are given, and records if asked for."""


@dataclass(frozen=True, eq=False)
class TableRows:
    """Rows of a table that is read again, batch by batch, whenever it is needed."""

    where: str
    names: tuple[str, ...]
    target: str
    batches: Callable[[], Iterator[pa.Table]]
    positions: IntArray | None = None

    @classmethod
    def from_file(cls, path: str | Path, target: str, where: str) -> Self:
        """The rows of a CSV, Parquet or column .npz file."""
        return cls(where, tuple(column_names(path)), target, lambda: read_batches(path))

    @classmethod
    def from_table(cls, table: pa.Table, target: str, where: str) -> Self:
        """The rows of a table in memory."""
        return cls(where, tuple(table.column_names), target, lambda: iter([table]))

    @property
    def labelled(self) -> bool:
        """Whether there is a target column without gaps."""
        if self.target not in self.names:
            return False
        return not any(
            texts(batch[self.target], self.target, self.where).null_count
            for batch in self.selected()
        )

    def count(self) -> int:
        """How many rows there are."""
        if self.positions is not None:
            return len(self.positions)
        return sum(batch.num_rows for batch in self.batches())

    def select(self, positions: IntArray, where: str) -> Self:
        """Only these rows, in this order."""
        return replace(self, positions=positions, where=where)

    def table(self) -> pa.Table:
        """All rows at once, in the order of the file."""
        return pa.concat_tables(self.selected())

    def found_classes(self) -> Classes:
        """The classes that occur in the target column."""
        require_columns(self.names, [self.target], self.where)
        column = pa.chunked_array(
            [chunk for batch in self.selected() for chunk in batch[self.target].chunks]
        )
        return classes_of(column, self.target, self.where)

    def arrays(
        self, encoder: Encoder | None, classes: Classes | None, *, identify: bool = False
    ) -> Arrived:
        """Encode batch by batch, so that the texts are never all in memory."""
        assert encoder is not None
        if classes is not None:
            require_columns(self.names, [self.target], self.where)
        features: list[Table] = []
        labels: list[IntArray] = []
        records: list[Records] = []
        for batch in self.selected():
            features.append(encoder.transform(batch, self.where))
            if classes is not None:
                column = batch[self.target]
                labels.append(class_indices(column, classes, self.target, self.where))
                if identify:
                    names = np.asarray(classes)[labels[-1]]
                    records.append(records_in(batch, self.target, names))
        X, y = np.concatenate(features), np.concatenate(labels) if labels else None
        if self.positions is not None and (np.diff(self.positions) <= 0).any():
            # Rows come in the order of the file; the selection wanted its own.
            order = np.argsort(np.argsort(self.positions))
            X, y = X[order], None if y is None else y[order]
        return Arrived(X, y, joined(records) if records else None)

    def selected(self) -> Iterator[pa.Table]:
        """The selected rows in batches, in the order of the file."""
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
    X: Table
    y: Labels | None

    @classmethod
    def from_arrays(cls, X: Table, y: Labels | None, where: str) -> Self:
        """Check the arrays; the features are flattened to rows of floats."""
        features = as_features(X, where)
        if y is not None and (np.ndim(y) != 1 or len(y) != len(features)):
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
        """How many rows there are."""
        return len(self.X)

    def select(self, positions: IntArray, where: str) -> Self:
        """Only these rows, in this order."""
        y = None if self.y is None else np.asarray(self.y)[positions]
        return replace(self, where=where, X=self.X[positions], y=y)

    def found_classes(self) -> Classes:
        """The classes that occur among the labels."""
        return classes_of(self._column(), "y", self.where)

    def arrays(
        self, encoder: Encoder | None, classes: Classes | None, *, identify: bool = False
    ) -> Arrived:
        """The features, class positions if classes are given, and records if asked for."""
        del encoder
        if classes is None:
            return Arrived(self.X, None, None)
        y = class_indices(self._column(), classes, "y", self.where)
        records = records_of(self.X, np.asarray(classes)[y]) if identify else None
        return Arrived(self.X, y, records)

    def _column(self) -> pa.ChunkedArray:
        if self.y is None:
            raise DataError(f"{self.where} holds no labels: there is no array y")
        return as_column(self.y, "y", self.where)


def as_table(arrays: Arrays, names: Sequence[str], target: str, where: str) -> pa.Table:
    """A feature array as a table whose columns a schema names, in its order."""
    X = np.asarray(arrays.X)
    if X.ndim != 2 or X.shape[1] != len(names):
        raise DataError(
            f"the features of {where} have the shape {X.shape}, "
            f"but the schema describes {len(names)} columns"
        )
    columns = {name: as_column(X[:, index], name, where) for index, name in enumerate(names)}
    if arrays.y is not None:
        columns[target] = as_column(arrays.y, target, where)
    return pa.table(columns)

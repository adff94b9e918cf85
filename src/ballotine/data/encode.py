"""Encode a table by its schema as the matrix that teachers learn from.

Every row is encoded by itself, apart from validity checks: all parameters (range, fill, levels)
come from the public schema.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ballotine.data.schema import ColumnSchema, Schema
from ballotine.data.table import class_indices, numbers, require_columns, texts
from ballotine.errors import DataError
from ballotine.text import printable
from ballotine.types import FloatArray, IntArray, Matrix


class Encoder:
    """Scales numbers into [0, 1] by their public range and one-hot encodes categories.

    A missing number becomes the public fill; values outside the range are clipped; a missing
    or undeclared level leaves all columns of its category at 0.
    """

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.feature_names: tuple[str, ...] = tuple(
            feature for name, column in schema.columns.items() for feature in _names(name, column)
        )

    def transform(self, table: pa.Table, where: str = "the table") -> FloatArray:
        """Return the features of all rows, shape (rows, features)."""
        require_columns(table.column_names, list(self.schema.columns), where)
        out = np.zeros((table.num_rows, len(self.feature_names)))
        start = 0
        for name, column in self.schema.columns.items():
            width = len(_names(name, column))
            block = out[:, start : start + width]
            if column.levels is None:
                block[:, 0] = _scaled(numbers(table[name], name, where), column)
            else:
                _one_hot(texts(table[name], name, where), column.levels, block)
            start += width
        return out

    def labels(self, table: pa.Table, where: str = "the table") -> IntArray:
        """Return the target column as positions in the schema's classes."""
        target, classes = self.schema.target, self.schema.classes
        if target is None or classes is None:
            raise DataError("labels need a schema with a target and its classes")
        require_columns(table.column_names, [target], where)
        return class_indices(table[target], classes, target, where)

    def remarks(self, tables: Iterable[pa.Table], where: str = "the public data") -> list[str]:
        """Return signs in PUBLIC rows of a wrong schema (other units, other spelling)."""
        unseen = dict(self.schema.columns)
        for table in tables:
            for name in list(unseen):
                if _any_inside(table[name], name, unseen[name], where):
                    del unseen[name]
            if not unseen:
                break
        return [
            f"no row of {where} has a value of column '{printable(name)}' that its schema declares"
            for name in unseen
        ]


def as_features(X: Matrix, where: str) -> Matrix:
    """Return a feature array as rows of floats; images are flattened.

    Single precision stays single; everything else becomes double.

    Raises:
        DataError: not numeric, not at least two-dimensional, empty, NaN or infinite.
    """
    array = np.asarray(X)
    if array.dtype.kind not in "biuf":
        raise DataError(
            f"the features of {where} are not numeric; a table of texts needs a schema with levels"
        )
    if array.ndim < 2:
        raise DataError(f"the features of {where} must have the shape (rows, features)")
    if array.size == 0:
        raise DataError(f"{where} is empty")
    dtype = np.float32 if array.dtype == np.float32 else np.float64
    flat: Matrix = array.reshape(len(array), -1).astype(dtype, copy=False)
    if np.isnan(flat).any():
        raise DataError(
            f"the features of {where} hold NaN; fill the gaps yourself, "
            "or give a schema, whose public fill replaces missing values"
        )
    if np.isinf(flat).any():
        raise DataError(f"the features of {where} hold an infinite value")
    return flat


def _names(name: str, column: ColumnSchema) -> list[str]:
    return [name] if column.levels is None else [f"{name}={level}" for level in column.levels]


def _scaled(values: FloatArray, column: ColumnSchema) -> FloatArray:
    assert column.low is not None
    assert column.high is not None
    # A constant public column has no width to scale by; its values become 0 or are clipped.
    width = (column.high - column.low) or 1.0
    filled = np.where(np.isnan(values), column.fill, values)
    clipped = np.clip(filled, column.low, column.high)
    return np.asarray((clipped - column.low) / width, dtype=np.float64)


def _one_hot(column: pa.ChunkedArray, levels: tuple[str, ...], block: FloatArray) -> None:
    codes = _codes(column, levels)
    rows = np.flatnonzero(codes >= 0)
    block[rows, codes[rows]] = 1.0


def _codes(column: pa.ChunkedArray, levels: tuple[str, ...]) -> IntArray:
    known = pa.array([level.strip() for level in levels], pa.string())
    found = pc.fill_null(pc.index_in(column, value_set=known, skip_nulls=True), -1)
    return np.asarray(found, dtype=np.int64)


def _any_inside(data: pa.ChunkedArray, name: str, column: ColumnSchema, where: str) -> bool:
    if column.levels is not None:
        return bool((_codes(texts(data, name, where), column.levels) >= 0).any())
    assert column.low is not None
    assert column.high is not None
    values = numbers(data, name, where)
    return bool(((values >= column.low) & (values <= column.high)).any())

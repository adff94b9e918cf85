"""Read single columns of a table: as numbers, as texts, as classes.

A table is a `pyarrow.Table`. Its cells are plain data: a formula, a tag or an escape sequence is
a text like any other. Messages never show cell values, and only those column names that come from
a schema, a run file or public rows: the first line of a file without a header is a private record.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ballotine.errors import DataError
from ballotine.text import printable, quoted
from ballotine.types import FloatArray, IntArray

_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
_MISSING_NUMBERS = pa.array(["", "na", "n/a", "#n/a", "nan", "null", "none", "?"])


def numbers(column: pa.ChunkedArray, name: str, where: str) -> FloatArray:
    """Return the column as float64, NaN where a value is missing.

    Raises:
        DataError: the column holds text that is not a number, or an infinity.
    """
    column = _plain(column, name, where)
    try:
        if pa.types.is_string(column.type):
            column = _parsed(column)
        elif pa.types.is_boolean(column.type):
            column = column.cast(pa.uint8())
        values = np.asarray(column.cast(pa.float64(), safe=False), dtype=np.float64)
    except pa.ArrowInvalid:
        # The library's message quotes the cell, so it must not be passed on.
        raise DataError(
            f"column '{printable(name)}' of {where} should be numeric but holds text; "
            "declare its levels in a schema, or correct the file"
        ) from None
    if np.isinf(values).any():
        raise DataError(f"column '{printable(name)}' of {where} holds an infinite value")
    return values


def texts(column: pa.ChunkedArray, name: str, where: str) -> pa.ChunkedArray:
    """Return the column as trimmed texts, null where missing; the number 3.0 becomes '3'."""
    column = _plain(column, name, where)
    if pa.types.is_boolean(column.type):
        return column.cast(pa.string())
    if not pa.types.is_string(column.type):
        return _number_texts(column)
    column = pc.utf8_trim_whitespace(column)
    return pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column)


def is_numeric(column: pa.ChunkedArray) -> bool:
    """Return whether every present value of the column parses as a number."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if not _is_text(column.type):
        return _is_number(column.type) or pa.types.is_null(column.type)
    try:
        _parsed(column.cast(pa.string())).cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return True


def distinct(column: pa.ChunkedArray, name: str, where: str) -> set[str]:
    """Return the distinct texts of a column, without missing ones."""
    return set(pc.unique(texts(column, name, where)).drop_null().to_pylist())


def classes_of(column: pa.ChunkedArray, name: str, where: str) -> tuple[str | int, ...]:
    """Return the classes of a label column: sorted integers if all are, else sorted texts."""
    found = distinct(column, name, where)
    whole = {text: _whole(text) for text in found}
    if all(value is not None for value in whole.values()):
        return tuple(sorted({value for value in whole.values() if value is not None}))
    return tuple(sorted(found))


def class_indices(
    column: pa.ChunkedArray, classes: Sequence[str | int], name: str, where: str
) -> IntArray:
    """Return each label as its position in `classes`.

    Raises:
        DataError: a label is missing or is none of the classes (the message does not show it).
    """
    coded = pc.dictionary_encode(texts(column, name, where).combine_chunks())
    if coded.null_count:
        raise DataError(f"column '{printable(name)}' of {where} has rows without a label")
    position = {str(value).strip(): index for index, value in enumerate(classes)}
    lookup = [_position(text, position) for text in coded.dictionary.to_pylist()]
    if -1 in lookup:
        raise DataError(
            f"column '{printable(name)}' of {where} holds a label that is none of the classes; "
            "list every class in the schema or run file"
        )
    table = np.asarray(lookup, dtype=np.int64)
    return table[np.asarray(coded.indices, dtype=np.int64)] if len(coded) else table


def cells(column: pa.ChunkedArray) -> tuple[FloatArray, pa.ChunkedArray | None]:
    """Return for each cell its value if it parses as a number, else NaN and its text.

    Unlike `numbers` and `texts` this accepts any column, independently of a schema. The texts
    are None for numeric columns; a missing cell is NaN and the empty text.
    """
    kind = column.type
    if _is_number(kind) and not pa.types.is_boolean(kind):
        return np.asarray(column.cast(pa.float64(), safe=False), dtype=np.float64), None
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
    if not _is_text(column.type) and not pa.types.is_boolean(kind):
        column = pa.chunked_array([pa.array([str(v) for v in column.to_pylist()], pa.string())])
    column = pc.fill_null(pc.utf8_trim_whitespace(column.cast(pa.string())), "")
    missing = pc.is_in(pc.utf8_lower(column), value_set=_MISSING_NUMBERS)
    numeric = pc.match_substring_regex(column, _NUMBER)
    none = pa.scalar(None, pa.string())
    values = _parsed(pc.if_else(numeric, column, none))
    return np.asarray(values, dtype=np.float64), pc.if_else(pc.or_(missing, numeric), "", column)


def require_columns(present: Iterable[str], needed: Sequence[str], where: str) -> None:
    """Raise DataError unless all needed columns exist and every column has its own name.

    Args:
        present: the names in the file; never shown.
        needed: names from a schema, a run file or public rows.
        where: how messages call the table.
    """
    there = list(present)
    if len(set(there)) < len(there):
        raise DataError(
            f"{where} has columns of the same name; give each its own name, and start a CSV file "
            "with a header line"
        )
    if any(not name.strip() for name in there):
        raise DataError(f"{where} has a column without a name, possibly a row index; remove it")
    absent = [name for name in needed if name not in set(there)]
    if absent:
        raise DataError(
            f"{where} has no column {quoted(absent)} among its {len(there)}; correct the name, or "
            "start the CSV file with a header line"
        )


def as_column(values: Any, where: str) -> pa.ChunkedArray:
    """Return a one-dimensional NumPy array as a table column; NaN becomes missing."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise DataError(f"an array of {where} is not one-dimensional, as a column must be")
    try:
        return pa.chunked_array([pa.array(array, from_pandas=True)])
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        raise DataError(f"an array of {where} holds neither numbers nor texts") from None


def _plain(column: pa.ChunkedArray, name: str, where: str) -> pa.ChunkedArray:
    """Return strings as strings and numbers unchanged; refuse anything else."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    if _is_text(kind) or pa.types.is_null(kind):
        return column.cast(pa.string())
    if _is_number(kind):
        return column
    raise DataError(
        f"column '{printable(name)}' of {where} holds neither numbers nor texts; convert it "
        "first, or remove it"
    )


def _is_text(kind: Any) -> bool:
    is_view = getattr(pa.types, "is_string_view", lambda _: False)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or is_view(kind))


def _is_number(kind: Any) -> bool:
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean)
    return any(test(kind) for test in tests)


def _parsed(column: pa.ChunkedArray) -> pa.ChunkedArray:
    trimmed = pc.utf8_trim_whitespace(column)
    missing = pc.is_in(pc.utf8_lower(trimmed), value_set=_MISSING_NUMBERS)
    present = pc.if_else(missing, pa.scalar(None, pa.string()), trimmed)
    return pc.replace_substring_regex(present, r"^\+", "").cast(pa.float64())


def _number_texts(column: pa.ChunkedArray) -> pa.ChunkedArray:
    coded = pc.dictionary_encode(column.combine_chunks())
    words = pa.array([_number_text(v) for v in coded.dictionary.to_pylist()], pa.string())
    return pa.chunked_array([words.take(coded.indices)])


def _number_text(value: Any) -> str | None:
    if value is None or math.isnan(value):
        return None
    return str(int(value)) if value == value // 1 else str(value)


def _whole(text: str) -> int | None:
    """Return the integer that a text represents ('3', '-1', '3.0'), if any."""
    try:
        value = float(text)
    except ValueError:
        return None
    if not value.is_integer():
        return None
    try:
        return int(text)
    except ValueError:
        return int(value)


def _position(text: str, position: dict[str, int]) -> int:
    if text in position:
        return position[text]
    whole = _whole(text)
    return position.get(str(whole), -1) if whole is not None else -1

"""Convert OpenML's tables to the arrays that the original files hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from ballotine.data.named.readers import Part, Raw, adult_part
from ballotine.errors import DataError
from ballotine.types import FloatArray, Matrix

Converter = Callable[[Any], Raw]


def grey_images(bunch: Any) -> Raw:
    """Convert pixels from 0 to 255, and labels that are class numbers."""
    return Raw(Part(_pixels(bunch.data), _class_numbers(bunch.target)), whole=True)


def colour_images(bunch: Any) -> Raw:
    """Convert 32 by 32 colour images that are stored as red, green and blue planes."""
    return Raw(Part(_interleaved(bunch.data), _class_numbers(bunch.target)), whole=True)


def house_numbers(bunch: Any) -> Raw:
    """Convert colour images whose digit 0 is labelled 10."""
    return Raw(Part(_interleaved(bunch.data), _class_numbers(bunch.target) % 10), whole=True)


def adult(bunch: Any) -> Raw:
    """Convert the Adult table, whose categories are positions in a list."""
    columns = {}
    for index, name in enumerate(bunch.feature_names):
        values = bunch.data[:, index].astype(np.float64)
        levels = (bunch.categories or {}).get(name)
        columns[name.replace("-", "_")] = values if levels is None else _decoded(values, levels)
    columns["income"] = np.asarray(bunch.target, dtype=str)
    table = pa.table({name: pa.array(values) for name, values in columns.items()})
    return Raw(adult_part(table), whole=True)


def multilabel(bunch: Any) -> Raw:
    """Convert numeric features and one TRUE/FALSE (or 1/0) column per label."""
    words = np.char.upper(np.asarray(bunch.target).astype(str))
    present, absent = np.isin(words, ["TRUE", "1", "1.0"]), np.isin(words, ["FALSE", "0", "0.0"])
    if not (present | absent).all():
        raise DataError("the labels are not true or false")
    X = _dense(bunch.data).astype(np.float32)
    return Raw(Part(X, present.astype(np.uint8)), labels=tuple(bunch.target_names), whole=True)


def _dense(data: Any) -> FloatArray:
    """Return a dense array; some tables of OpenML are sparse."""
    return np.asarray(data.toarray() if hasattr(data, "toarray") else data, dtype=np.float64)


def _pixels(data: Matrix) -> Matrix:
    values = _dense(data)
    with np.errstate(invalid="ignore"):
        pixels = values.astype(np.uint8)
    if not np.array_equal(pixels, values):
        raise DataError("the pixels are not whole numbers from 0 to 255")
    return pixels


def _interleaved(data: Matrix) -> Matrix:
    planes = _pixels(data).reshape(-1, 3, 32, 32)
    return np.ascontiguousarray(planes.transpose(0, 2, 3, 1)).reshape(len(planes), -1)


def _class_numbers(target: Any) -> Matrix:
    return np.asarray(target).astype(np.float64).astype(np.int64)


def _decoded(codes: Matrix, levels: list[str]) -> Matrix:
    """Return category names; a missing code becomes the empty text, which matches no level."""
    names = np.asarray(["", *levels])
    return names[np.where(np.isnan(codes), -1, codes).astype(np.int64) + 1]

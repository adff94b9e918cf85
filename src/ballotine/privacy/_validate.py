"""Argument checks shared by the functions of this package.

Counts are private, so no error message repeats a count.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from ballotine.errors import DataError, ParameterError
from ballotine.types import FloatArray


def as_orders(orders: npt.ArrayLike) -> FloatArray:
    """Return Rényi orders as a float array of shape (m,).

    Raises:
        ParameterError: when they are not numbers, empty, not one-dimensional, or not all
            finite and above 1.
    """
    try:
        array = np.atleast_1d(np.asarray(orders, dtype=np.float64))
    except (TypeError, ValueError):
        raise ParameterError("orders must be numbers") from None
    if array.ndim != 1 or array.size == 0:
        raise ParameterError("orders must be a non-empty one-dimensional list of numbers")
    if not np.all(np.isfinite(array)) or np.any(array <= 1.0):
        raise ParameterError("orders must be finite and greater than 1")
    return array


def as_real(value: float, name: str) -> float:
    """Return the value as a finite float; the error names the parameter."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(f"{name} must be a number") from None
    if not math.isfinite(number):
        raise ParameterError(f"{name} must be finite")
    return number


def as_positive(value: float, name: str) -> float:
    """Return a finite number above zero."""
    number = as_real(value, name)
    if number <= 0.0:
        raise ParameterError(f"{name} must be greater than 0")
    return number


def as_nonnegative(value: float, name: str) -> float:
    """Return a finite number that is at least zero."""
    number = as_real(value, name)
    if number < 0.0:
        raise ParameterError(f"{name} must not be negative")
    return number


def as_sigma(value: float, name: str = "sigma") -> float:
    """Return a standard deviation of noise: finite and above zero."""
    return as_positive(value, name)


def as_sensitivity(value: float) -> float:
    """Return one teacher's weight: finite and at least zero."""
    return as_nonnegative(value, "sensitivity")


def as_delta(value: float) -> float:
    """Return δ, strictly between 0 and 1."""
    number = as_real(value, "delta")
    if not 0.0 < number < 1.0:
        raise ParameterError("delta must lie strictly between 0 and 1")
    return number


def numbers_of(values: npt.ArrayLike) -> FloatArray | None:
    """Return private values as floats, or None if they are not numbers.

    NumPy's error message repeats the value it could not read, and an exception raised while
    handling that error would carry the message along.
    """
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        return None


def as_counts(counts: npt.ArrayLike) -> FloatArray:
    """Return tallies as a float array of shape (queries, classes); one tally becomes one row.

    Raises:
        DataError: when they are not numbers, empty, of the wrong shape, infinite, NaN or negative.
    """
    array = numbers_of(counts)
    if array is None:
        raise DataError("counts must be numbers, one row of equal length per query")
    if array.ndim == 1:
        array = array[np.newaxis, :]
    if array.ndim != 2 or array.size == 0:
        raise DataError("counts must be a non-empty table of shape (queries, classes)")
    return _finite_nonnegative(array, "counts")


def as_tops(top: npt.ArrayLike) -> FloatArray:
    """Return the largest count of each query as a float array of shape (queries,)."""
    array = numbers_of(top)
    if array is None:
        raise DataError("top counts must be numbers")
    array = np.atleast_1d(array)
    if array.ndim != 1 or array.size == 0:
        raise DataError("top counts must be a non-empty one-dimensional list of numbers")
    return _finite_nonnegative(array, "top counts")


def _finite_nonnegative(array: FloatArray, name: str) -> FloatArray:
    if not np.all(np.isfinite(array)):
        raise DataError(f"{name} must be finite")
    if np.any(array < 0.0):
        raise DataError(f"{name} must not be negative")
    return array

"""Costs on a lattice of counts: the top count of a query, or its top and runner-up.

One teacher moves each of these counts by at most one, so after d changes a query is in the box of
radius d around its place. Places that no tally can have are NaN.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ballotine.errors import DataError, ParameterError
from ballotine.privacy._validate import numbers_of
from ballotine.types import FloatArray, IntArray


def as_costs(g: npt.ArrayLike) -> FloatArray:
    """Return costs by top count, shape (n + 1,), or by top and runner-up, two-dimensional."""
    try:
        costs = np.asarray(g, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError("g must be numbers, one cost for each top count from 0 to n") from None
    if costs.ndim not in {1, 2} or costs.shape[0] < 2:
        raise ParameterError("g must hold one cost for each top count from 0 to n")
    if np.isnan(costs).all() or np.any(np.isinf(costs)) or np.any(costs < 0.0):
        raise ParameterError("g must be finite and not negative")
    return costs


def as_places(places: npt.ArrayLike, costs: FloatArray) -> tuple[IntArray, ...]:
    """Return an index into the costs for every query; messages repeat no count."""
    values = numbers_of(places)
    if values is None:
        raise DataError("counts must be numbers")
    if costs.ndim == 1:
        values = values.reshape(-1, 1) if values.ndim <= 1 else values
    if values.ndim != 2 or values.shape[1] != costs.ndim or values.size == 0:
        raise DataError("give the top count of each query, or top and runner-up if g has two axes")
    if not np.all((values >= 0) & (values < np.array(costs.shape)) & (values == np.floor(values))):
        raise DataError("counts must be whole numbers from 0 to the number of teachers")
    index = tuple(values.astype(np.int64).T)
    if np.isnan(costs[index]).any():
        raise DataError("no tally of this many votes has such counts")
    return index


def widen(values: FloatArray) -> FloatArray:
    """Return the largest value within one step of each place, ignoring NaN."""
    for axis in range(values.ndim):
        ahead = np.moveaxis(values, axis, 0)
        wide = ahead.copy()
        wide[1:] = np.fmax(wide[1:], ahead[:-1])
        wide[:-1] = np.fmax(wide[:-1], ahead[1:])
        values = np.moveaxis(wide, 0, axis)
    return values


def steepest(values: FloatArray) -> FloatArray:
    """Return the largest change to a neighbouring place, 0 where there is none."""
    highest, lowest = widen(values), -widen(-values)
    change = np.fmax(highest - values, values - lowest)
    return np.where(np.isnan(change), 0.0, change)

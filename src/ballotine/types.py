"""Names for the arrays that packages exchange, and for answers that name nothing."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
WordArray: TypeAlias = npt.NDArray[np.uint64]
Matrix: TypeAlias = npt.NDArray[Any]
"""Rows of features, shape (records, features)."""

Labels: TypeAlias = npt.NDArray[Any]
"""One class per row: numbers or strings."""

ABSTAIN: int = -1
"""The answer of a mechanism that abstains."""

UNASKED: int = -2
"""In returned answers: the budget ended before this query was asked."""

"""Tallies of ballots: private, and not shown when printed."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ballotine.errors import DataError
from ballotine.privacy._validate import numbers_of
from ballotine.privacy.private import Private
from ballotine.types import FloatArray, IntArray

MAX_CLASSES = 1 << 16
"""Counting needs memory per class and query, and a forged ballot could name any class."""


class Tallies(Private):
    """The counts of a batch of queries, shape (queries, classes): private.

    A tally has no protection yet: only a mechanism, or a holder who states a reason, may unlock it.
    """

    __slots__ = ()
    multilabel: ClassVar[bool] = False

    def __init__(self, counts: FloatArray) -> None:
        numbers = numbers_of(counts)
        if numbers is None:
            raise DataError("tallies must be numbers")
        counts = numbers
        if counts.ndim != 2 or counts.shape[1] < 2:
            raise DataError("tallies need the shape (queries, classes) with at least two classes")
        if not np.all(np.isfinite(counts)) or np.any(counts < 0):
            raise DataError("tallies must be finite and not negative")
        super().__init__(counts)

    @classmethod
    def of(cls, ballots: IntArray, classes: int) -> Tallies:
        """Count ballots of shape (queries, teachers) holding class numbers."""
        cells = cells_of(ballots, classes)
        queries = len(ballots)
        counts = np.bincount(cells.ravel(), minlength=queries * classes)
        return cls(counts.reshape(queries, classes).astype(np.float64))

    @property
    def classes(self) -> int:
        """The number of classes: public."""
        return int(self._values.shape[1])


def cells_of(ballots: IntArray, classes: int) -> IntArray:
    """Return the flat index into (queries, classes) that each ballot counts for.

    Raises:
        DataError: if they are not ballots for this many classes; nothing is counted then.
    """
    if ballots.ndim != 2:
        raise DataError("ballots need the shape (queries, teachers)")
    if ballots.dtype.kind not in "biu":
        raise DataError("ballots must be whole numbers")
    if ballots.size and not (int(ballots.min()) >= 0 and int(ballots.max()) < classes):
        raise DataError(f"ballots must hold class numbers from 0 to {classes - 1}")
    if classes > MAX_CLASSES:
        raise DataError(f"votes can be counted for at most {MAX_CLASSES} classes")
    offsets = classes * np.arange(len(ballots))[:, None]
    # Adding to unsigned 64-bit integers would turn them into floats.
    cells: IntArray = np.add(ballots, offsets, dtype=np.int64, casting="unsafe")
    return cells

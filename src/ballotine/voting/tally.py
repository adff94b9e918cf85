"""Ballots become tallies; tallies are private and say nothing about themselves."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from ballotine.errors import DataError
from ballotine.types import FloatArray, IntArray


class Tallies:
    """The counts of a batch of queries, shape (queries, classes): private.

    A tally is not protected by anything yet. It therefore refuses to be printed,
    formatted, pickled or turned into an array by accident; only a mechanism, or a holder
    who states a reason, may open it.
    """

    __slots__ = ("_counts",)

    def __init__(self, counts: FloatArray) -> None:
        counts = np.asarray(counts, dtype=np.float64)
        if counts.ndim != 2 or counts.shape[1] < 2:
            raise DataError("tallies need the shape (queries, classes) with at least two classes")
        if not np.all(np.isfinite(counts)) or np.any(counts < 0):
            raise DataError("tallies must be finite and not negative")
        self._counts = counts

    @classmethod
    def of(cls, ballots: IntArray, classes: int) -> Tallies:
        """Count ballots of shape (queries, teachers) holding class numbers."""
        if ballots.ndim != 2:
            raise DataError("ballots need the shape (queries, teachers)")
        if ballots.size and not (int(ballots.min()) >= 0 and int(ballots.max()) < classes):
            raise DataError(f"ballots must hold class numbers from 0 to {classes - 1}")
        queries = ballots.shape[0]
        cells = ballots + classes * np.arange(queries)[:, None]
        counts = np.bincount(cells.ravel(), minlength=queries * classes)
        return cls(counts.reshape(queries, classes).astype(np.float64))

    def __len__(self) -> int:
        return len(self._counts)

    @property
    def classes(self) -> int:
        """The number of classes (public)."""
        return int(self._counts.shape[1])

    def unlock(self, *, reason: str) -> FloatArray:
        """The counts themselves, for code that states why it may see them."""
        if not reason.strip():
            raise DataError("opening a tally needs a reason")
        return self._counts

    def __repr__(self) -> str:
        return f"<Tallies of {len(self)} queries: private>"

    def __format__(self, spec: str) -> str:
        return repr(self)

    def __array__(self, *args: object, **kwargs: object) -> NoReturn:
        raise TypeError("tallies are private: a mechanism may release an answer from them")

    def __reduce__(self) -> NoReturn:
        raise TypeError("tallies are private and are not pickled")

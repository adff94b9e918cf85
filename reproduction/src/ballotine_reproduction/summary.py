"""Means over seeds, with intervals or standard deviations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ballotine.types import FloatArray, IntArray

Classes: TypeAlias = npt.NDArray[np.integer[Any]]

NOTHING = "–"


@dataclass(frozen=True)
class Interval:
    """A mean, and half the width of its 95 % interval (Student's t).

    Attributes:
        mean: of the values that are numbers; NaN if there is none.
        half: None for a single value.
    """

    mean: float
    half: float | None = None

    @classmethod
    def of(cls, values: Sequence[float]) -> Interval:
        """Over the values that are numbers."""
        from scipy.stats import t

        known = _numbers(values)
        if len(known) < 2:
            return cls(known[0] if known else float("nan"))
        error = float(np.std(known, ddof=1)) / sqrt(len(known))
        return cls(float(np.mean(known)), float(t.ppf(0.975, len(known) - 1)) * error)

    def text(self, digits: int = 0) -> str:
        """Mean ± half."""
        if np.isnan(self.mean):
            return NOTHING
        return _plus_minus(self.mean, self.half, digits)

    def brief(self, digits: int = 0) -> str:
        """Mean ± half, without a half that rounds to zero."""
        vanishes = self.half is not None and float(f"{self.half:.{digits}f}") == 0
        return (Interval(self.mean) if vanishes else self).text(digits)


def interval(values: Sequence[float], digits: int = 0) -> str:
    """The mean and its 95 % interval."""
    return Interval.of(values).text(digits)


def deviation(values: Sequence[float], digits: int = 1) -> str:
    """The mean and the standard deviation."""
    known = _numbers(values)
    if not known:
        return NOTHING
    half = float(np.std(known, ddof=1)) if len(known) > 1 else None
    return _plus_minus(float(np.mean(known)), half, digits)


def notes(*groups: Iterable[str]) -> tuple[str, ...]:
    """Notes of a table, without repetitions."""
    return tuple(dict.fromkeys(note for group in groups for note in group))


def percent_right(answers: Classes, truth: Classes) -> float:
    """How many answers are right, in percent."""
    return 100.0 * float(np.mean(answers == truth))


def plurality(ballots: Classes, classes: int) -> IntArray:
    """The class with most votes of every query, the lowest of several."""
    counts = np.stack([(ballots == label).sum(axis=1) for label in range(classes)], axis=1)
    winners: IntArray = counts.argmax(axis=1).astype(np.int64)
    return winners


def mean_of(rows: Sequence[Sequence[float]]) -> FloatArray:
    """Means over repetitions, column by column."""
    found: FloatArray = np.mean(rows, axis=0)
    return found


def _numbers(values: Sequence[float]) -> list[float]:
    return [float(value) for value in values if not np.isnan(value)]


def _plus_minus(mean: float, half: float | None, digits: int) -> str:
    shown = f"{mean:.{digits}f}"
    return shown if half is None else f"{shown} ± {half:.{digits}f}"

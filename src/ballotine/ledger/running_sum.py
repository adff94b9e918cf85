"""A sum of many parts that change one at a time."""

from __future__ import annotations

import numpy as np


class RunningSum:
    """The sum of numbered parts.

    The parts are kept and added up each time. Adjusting a total by differences would be faster,
    but would accumulate rounding errors: a budget must not depend on the number of payments.
    """

    def __init__(self) -> None:
        self._places: dict[int, int] = {}
        self._parts = np.zeros(16)

    def put(self, number: int, part: float) -> None:
        """Set one part."""
        place = self._places.setdefault(number, len(self._places))
        if place == len(self._parts):
            self._parts = np.concatenate((self._parts, np.zeros(place)))
        self._parts[place] = part

    def total(self) -> float:
        """The sum of all parts."""
        return float(self._parts[: len(self._places)].sum())

"""The reach of one record: what replacing it can change in the tally of one query."""

from __future__ import annotations

from dataclasses import dataclass

from ballotine.errors import ParameterError

SMALLEST_WEIGHT, LARGEST_WEIGHT = 1e-9, 1e9
"""Outside this range the lighter votes are lost in rounding beside the heavier ones."""


@dataclass(frozen=True)
class Reach:
    """What one replaced record can change.

    Attributes:
        weight: the weight of each vote it moves.
        teachers: the number of teachers that saw it; their votes may move independently.
    """

    weight: float = 1.0
    teachers: int = 1

    def __post_init__(self) -> None:
        if not SMALLEST_WEIGHT <= self.weight <= LARGEST_WEIGHT:  # also refuses NaN
            raise ParameterError(
                f"a vote's weight must be positive, from {SMALLEST_WEIGHT:g} to {LARGEST_WEIGHT:g}"
            )
        if self.teachers < 1:
            raise ParameterError(
                f"a record must be seen by at least one teacher, got {self.teachers}"
            )

    @property
    def votes(self) -> float:
        """The largest change of one count."""
        return self.weight * self.teachers


ONE_VOTE = Reach()
"""Standard PATE: one record, one teacher, one vote."""

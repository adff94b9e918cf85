"""Numbers printed in the paper, by table (Boenisch et al., PoPETs 2023(1), 158-176)."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import TypeAlias

Split: TypeAlias = tuple[int, int]
"""The higher budget as its exponential (4, 8 or 16) and the share that has it, in percent."""

LOW = log(2.0)
HIGHER = (4, 8, 16)
SHARES = (25, 50, 75)
BIAS_SHARES = (25, 50, 75, 100)


def _by_split(rows: tuple[tuple[float, ...], ...], shares: tuple[int, ...]) -> dict[Split, float]:
    return {
        (high, share): value
        for high, row in zip(HIGHER, rows, strict=True)
        for share, value in zip(shares, row, strict=True)
    }


TABLE5 = {
    "upsampling": _by_split(((158, 237, 326), (231, 414, 636), (308, 623, 1038)), SHARES),
    "weighting": _by_split(((433, 492, 564), (474, 890, 1163), (648, 1239, 1787)), SHARES),
}
TABLE5_BASELINE = 257

TABLE7 = {
    "upsampling": _by_split(((140, 202, 272), (198, 346, 541), (264, 530, 868)), SHARES),
    "weighting": _by_split(((139, 203, 273), (198, 349, 543), (259, 530, 872)), SHARES),
}
TABLE7_BASELINE = 88

FIGURE1 = {"standard": 257, "upsampling, higher budget": 890, "upsampling, lower budget": 957}

TABLE1: dict[tuple[str, str], tuple[float, float]] = {
    ("34/43/23", "standard"): (365, 97.40),
    ("34/43/23", "upsampling"): (1333, 97.20),
    ("34/43/23", "weighting"): (1312, 97.24),
    ("54/37/9", "standard"): (361, 97.32),
    ("54/37/9", "upsampling"): (949, 97.18),
    ("54/37/9", "weighting"): (1894, 97.33),
}
"""Labels and voting accuracy on MNIST, by shares of ε = 1, 2, 3 and method."""

TABLE11 = _by_split(((90, 95, 101, 109), (93, 108, 132, 162), (96, 129, 172, 225)), BIAS_SHARES)
TABLE11_BASELINE = 88


@dataclass(frozen=True)
class TwoClasses:
    """Accuracies on low-income and high-income records, in percent, and those of the baseline."""

    low: dict[Split, float]
    high: dict[Split, float]
    baseline: tuple[float, float]

    def value(self, split: Split | None, place: int) -> float:
        """The number for a split (None: the baseline) and a class."""
        if split is None:
            return self.baseline[place]
        return (self.low, self.high)[place][split]


STUDENTS = TwoClasses(
    _by_split(
        ((95.93, 93.11, 90.13, 86.24), (93.25, 86.82, 80.57, 77.91), (90.42, 80.74, 76.68, 73.82)),
        BIAS_SHARES,
    ),
    _by_split(
        ((36.77, 45.93, 54.74, 63.39), (45.91, 62.25, 72.61, 77.36), (54.00, 72.68, 79.42, 83.59)),
        BIAS_SHARES,
    ),
    (98.01, 24.78),
)
"""Table 6."""

TEACHERS = TwoClasses(
    _by_split(
        ((90.08, 87.75, 85.58, 83.62), (87.74, 83.57, 79.99, 76.86), (85.58, 79.93, 75.48, 71.57)),
        BIAS_SHARES,
    ),
    _by_split(
        ((56.05, 61.70, 66.24, 69.68), (61.73, 69.84, 75.46, 79.44), (66.12, 75.48, 81.01, 84.79)),
        BIAS_SHARES,
    ),
    (92.55, 48.82),
)
"""Table 10a."""

LABELS = TwoClasses(
    _by_split(
        ((95.21, 93.02, 91.24, 88.59), (93.19, 88.71, 84.42, 81.41), (91.02, 84.47, 79.99, 75.32)),
        BIAS_SHARES,
    ),
    _by_split(
        ((55.99, 64.11, 68.93, 74.11), (64.11, 73.91, 81.14, 85.23), (68.55, 81.36, 86.49, 90.22)),
        BIAS_SHARES,
    ),
    (97.13, 46.29),
)
"""Table 10b."""


@dataclass(frozen=True)
class Students:
    """Accuracies of students in percent, by method and split, and that of the baseline."""

    upsampling: dict[Split, float]
    weighting: dict[Split, float]
    baseline: float

    def value(self, method: str, split: Split | None) -> float | None:
        """The number for a method and a split (None: the baseline), where one is printed."""
        if split is None:
            return self.baseline
        tables = {"upsampling": self.upsampling, "weighting": self.weighting}
        return tables.get(method, {}).get(split)


TABLE8 = Students(
    _by_split(((92.32, 92.52, 94.38), (93.12, 94.48, 96.20), (93.96, 96.38, 96.90)), SHARES),
    _by_split(((93.26, 93.08, 93.70), (88.94, 94.68, 95.74), (90.24, 96.32, 96.60)), SHARES),
    88.70,
)
"""Students on MNIST."""

TABLE9 = Students(
    _by_split(((81.02, 81.76, 82.16), (81.79, 82.52, 82.87), (82.30, 82.82, 83.07)), SHARES),
    _by_split(((80.87, 81.76, 82.26), (81.67, 82.60, 82.89), (82.25, 82.84, 83.04)), SHARES),
    79.85,
)
"""Students on Adult."""

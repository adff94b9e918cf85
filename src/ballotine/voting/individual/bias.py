"""Bias of answers towards the classes of large budgets, if budgets and classes are associated.

Groups with larger budgets have more influence: more teachers see their records, or their
teachers have more votes. If they also hold more of some class, that class is predicted too often,
and the others too rarely (Individualized PATE, Tables 6, 10 and 11).
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from scipy.special import chdtrc

from ballotine.errors import DataError, ParameterError
from ballotine.types import Labels

NOTE: Final = (
    "groups with larger budgets weigh more in every vote; where they hold more of some class "
    "than others do, answers and student favour that class"
)
"""True of every run with individual budgets, whatever the data, so it may be shown."""

WARNING: Final = (
    "budgets and classes are associated in the private records: groups with larger budgets have "
    "more influence, so answers and student will favour the classes that are common among them; "
    "compare the accuracy by class, or give all records the same budget"
)

NOTICEABLE = 0.1
"""The association (Cramér's V) above which a warning is given."""

CHANCE = 1e-3
"""No warning if chance alone would show as much association with at least this probability."""


def budget_class_association(
    budgets: Labels, classes: Labels, threshold: float = NOTICEABLE
) -> str | None:
    """Return a warning if budgets and classes are associated, or None.

    Whether there is a warning depends on private labels. It is for the holder only (a terminal, a
    private log), and not for the card or the report, unless the labels are public. The text
    contains no number from the data. `NOTE` may always be shown.

    Args:
        budgets: the group, or the ε, of each record.
        classes: the class of each record.
        threshold: warn above this association, between 0 (none) and 1 (one determines the other).
    """
    if not 0 <= threshold <= 1:
        raise ParameterError(f"an association must be between 0 and 1, got {threshold}")
    association, chance = _association(budgets, classes)
    return WARNING if association > threshold and chance < CHANCE else None


def _association(rows: Labels, columns: Labels) -> tuple[float, float]:
    """Return Cramér's V, and the probability of as much by chance alone (Pearson's χ²)."""
    rows, columns = np.asarray(rows), np.asarray(columns)
    if rows.ndim != 1 or rows.shape != columns.shape or rows.size == 0:
        raise DataError("give one budget and one class for every record")
    _, row = np.unique(rows, return_inverse=True)
    _, column = np.unique(columns, return_inverse=True)
    r, c, n = int(row.max()) + 1, int(column.max()) + 1, len(rows)
    if min(r, c) < 2:
        return 0.0, 1.0
    seen = np.bincount(row * c + column, minlength=r * c).reshape(r, c)
    expected = np.outer(seen.sum(axis=1), seen.sum(axis=0)) / n
    statistic = float((((seen - expected) ** 2) / expected).sum())
    chance = float(chdtrc((r - 1) * (c - 1), statistic))
    return math.sqrt(statistic / (n * (min(r, c) - 1))), chance

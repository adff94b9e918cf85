"""When budgets and classes go together, answers lean towards the classes of large budgets.

Groups with larger budgets weigh more: their records reach more teachers, or their teachers
more votes. Where they also hold more of some class, that class is predicted more often than it
should be, and the others less (Individualized PATE, Tables 6, 10 and 11).
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
"""True of every run with individual budgets, whatever the data: it may be shown."""

WARNING: Final = (
    "budgets and classes go together in the private records: groups with larger budgets weigh "
    "more, so answers and student will favour the classes that are common among them; compare "
    "the accuracy of each class, or give all records one budget"
)

NOTICEABLE = 0.1
"""The association (Cramér's V) from which the warning is given."""

CHANCE = 1e-3  # what chance alone shows so often is no reason to warn


def budget_class_association(
    budgets: Labels, classes: Labels, threshold: float = NOTICEABLE
) -> str | None:
    """A warning when budgets and classes correlate, or None.

    Whether there is a warning depends on private labels. It is for the holder's eyes (a terminal,
    a private log), and not for the card or the report, unless the labels are public. The text
    holds no number of the data. What may always be shown is `NOTE`.

    Args:
        budgets: the group, or the ε, of each record.
        classes: the class of each record.
        threshold: the association to warn from, between 0 (none) and 1 (one decides the other).
    """
    if not 0 <= threshold <= 1:
        raise ParameterError(f"an association lies between 0 and 1, got {threshold}")
    association, luck = _association(budgets, classes)
    return WARNING if association > threshold and luck < CHANCE else None


def _association(rows: Labels, columns: Labels) -> tuple[float, float]:
    """Cramér's V, and the probability that chance alone shows as much (Pearson's χ²)."""
    rows, columns = np.asarray(rows), np.asarray(columns)
    if rows.ndim != 1 or rows.shape != columns.shape or rows.size == 0:
        raise DataError("an association needs one budget and one class for every record")
    _, row = np.unique(rows, return_inverse=True)
    _, column = np.unique(columns, return_inverse=True)
    r, c, n = int(row.max()) + 1, int(column.max()) + 1, len(rows)
    if min(r, c) < 2:
        return 0.0, 1.0
    seen = np.bincount(row * c + column, minlength=r * c).reshape(r, c)
    expected = np.outer(seen.sum(axis=1), seen.sum(axis=0)) / n
    statistic = float((((seen - expected) ** 2) / expected).sum())
    luck = float(chdtrc((r - 1) * (c - 1), statistic))
    return math.sqrt(statistic / (n * (min(r, c) - 1))), luck

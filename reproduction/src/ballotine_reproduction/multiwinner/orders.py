"""The Rényi orders on which everything here is accounted."""

from __future__ import annotations

import numpy as np

from ballotine.types import FloatArray

ORDERS: FloatArray = np.concatenate(
    (
        [1.1, 1.25, 1.5, 1.75],
        np.arange(2.0, 5.0, 0.25),
        np.arange(5.0, 10.0, 0.5),
        [10.0, 11.0, 12.0, 14.0, 16.0, 18.0, 20.0, 24.0, 28.0, 32.0, 40.0, 48.0, 64.0],
    )
)
"""Budgets between 1 and 20 have their best order inside; a coarse grid only errs upwards."""

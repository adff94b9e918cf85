"""What several tests of individual budgets start from."""

from __future__ import annotations

import numpy as np

from ballotine.voting import ConfidentGNMax, GNMax
from ballotine.voting.individual import Scheme, Upsampling, Vanishing, Weighting

BUDGETS = {"high": 1.0, "average": 2.0, "low": 3.0}
RECORDS = {"high": 340, "average": 430, "low": 230}
DELTA = 1e-5
GNMAX = GNMax(40.0)
CONFIDENT = ConfidentGNMax(40.0, threshold=200.0, sigma_threshold=150.0)


def every_rule(budgets: dict[str, float]) -> list[Scheme]:
    """Every scheme with every rule."""
    return [
        Upsampling(budgets),
        Upsampling(budgets, rule="data-independent"),
        Upsampling(budgets, rule="proportional"),
        Weighting(budgets),
        Weighting(budgets, "data-independent"),
        Weighting(budgets, "proportional"),
        Vanishing(budgets),
        Vanishing(budgets, "quadratic"),
        Vanishing(budgets, "quartic"),
    ]


def numbers_of(records: dict[str, int], seed: int = 0) -> np.ndarray:
    """The group of each record, in no order."""
    groups = np.repeat(np.arange(len(records)), list(records.values()))
    return np.random.default_rng(seed).permutation(groups)

"""Budgets of groups of records: named levels, and the numbers of groups."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

import numpy as np

from ballotine.errors import DataError, ParameterError
from ballotine.types import IntArray, Labels

LEVELS: Final[Mapping[str, float]] = {"high": 1.0, "average": 2.0, "low": 3.0}
"""Levels of privacy to choose from, and the ε of each."""

NO_PRIVACY: Final = "none"
"""The level of records that need no privacy: their ε is infinite."""

Pairs: TypeAlias = tuple[tuple[str, float], ...]
Budgets: TypeAlias = Mapping[str, float | str] | Pairs
"""ε by group name: a number, a level, or "none"."""


def budget_of(value: float | str) -> float:
    """Return the ε of a number or a level; infinite for records that need no privacy."""
    if isinstance(value, str) and value in LEVELS:
        return LEVELS[value]
    try:
        epsilon = math.inf if value == NO_PRIVACY else float(value)
    except (TypeError, ValueError) as problem:
        raise ParameterError(
            f"a budget must be a number, {', '.join(LEVELS)} or {NO_PRIVACY}, got {value!r}"
        ) from problem
    if not epsilon > 0:
        raise ParameterError(f"a group's ε must be positive, got {value}")
    return epsilon


def budgets_of_levels(names: Iterable[str]) -> dict[str, float]:
    """Return the budgets of groups that are named after levels."""
    chosen = list(names)
    if unknown := [name for name in chosen if name not in {*LEVELS, NO_PRIVACY}]:
        raise ParameterError(
            f"unknown privacy level {unknown[0]!r}; choose from {', '.join(LEVELS)}, {NO_PRIVACY}"
        )
    return {name: budget_of(name) for name in chosen}


def as_pairs(budgets: Budgets) -> Pairs:
    """Return validated budgets as hashable pairs, in the given order."""
    items = tuple(budgets.items()) if isinstance(budgets, Mapping) else tuple(budgets)
    pairs = tuple((name, budget_of(value)) for name, value in items)
    names = [name for name, _ in pairs]
    if not pairs or not all(isinstance(name, str) and name for name in names):
        raise ParameterError("individual budgets need at least one group, each with a name")
    if len(set(names)) != len(names):
        raise ParameterError("a group of records must have one budget, not several")
    if all(math.isinf(epsilon) for _, epsilon in pairs):
        raise ParameterError("no group needs privacy, so there is nothing to protect")
    return pairs


def group_numbers(labels: Labels, budgets: Budgets) -> IntArray:
    """Return the group of each record as its position among the budgets.

    Args:
        labels: the group's name for every record.
        budgets: ε by name; their order gives the numbers.
    """
    names = [name for name, _ in as_pairs(budgets)]
    known, place = np.unique(np.asarray(labels).astype(str), return_inverse=True)
    if not set(known.tolist()) <= set(names):
        # The message does not show the value: it may come from the wrong column.
        raise DataError(
            f"some records belong to a group without a budget; known: {', '.join(names)}"
        )
    numbers = np.array([names.index(name) for name in known.tolist()], dtype=np.int64)
    return numbers[place.ravel()]

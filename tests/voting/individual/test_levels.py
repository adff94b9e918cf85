"""Budgets by name, level and number."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ballotine.errors import DataError, ParameterError
from ballotine.voting.individual import (
    LEVELS,
    Weighting,
    budget_of,
    budgets_of_levels,
    group_numbers,
)


def test_more_privacy_is_a_smaller_epsilon() -> None:
    assert LEVELS["high"] < LEVELS["average"] < LEVELS["low"]
    assert dict(LEVELS) == {"high": 1.0, "average": 2.0, "low": 3.0}


def test_levels_become_budgets() -> None:
    assert budgets_of_levels(["low", "none", "high"]) == {"low": 3.0, "none": math.inf, "high": 1.0}
    with pytest.raises(ParameterError, match="unknown privacy level 'secret'"):
        budgets_of_levels(["high", "secret"])


@pytest.mark.parametrize(
    ("given", "meant"), [(2, 2.0), ("average", 2.0), ("0.5", 0.5), ("none", math.inf)]
)
def test_a_budget_is_a_number_or_a_level(given: float | str, meant: float) -> None:
    assert budget_of(given) == meant


@pytest.mark.parametrize("bad", [0, -1.0, math.nan, "nan", "-inf", "secret", ""])
def test_other_budgets_are_refused(bad: float | str) -> None:
    with pytest.raises(ParameterError):
        budget_of(bad)
    with pytest.raises(ParameterError):
        Weighting({"a": 1.0, "b": bad})


@pytest.mark.parametrize(
    "bad", [{}, {"": 1.0}, (("a", 1.0), ("a", 2.0)), {"a": "none", "b": math.inf}]
)
def test_groups_that_make_no_sense_are_refused(bad: object) -> None:
    with pytest.raises(ParameterError):
        Weighting(bad)  # type: ignore[arg-type]


def test_schemes_are_values() -> None:
    scheme = Weighting({"a": "high", "b": 2})
    assert scheme == Weighting((("a", 1.0), ("b", 2.0)))
    assert hash(scheme) == hash(Weighting({"a": 1.0, "b": 2.0}))
    assert scheme.budgets == (("a", 1.0), ("b", 2.0))
    assert scheme != Weighting({"a": 1.0, "b": 2.5})


def test_names_of_groups_become_numbers() -> None:
    labels = np.array(["b", "a", "c", "b"])
    assert group_numbers(labels, {"a": 1, "b": 2, "c": 3, "d": 4}).tolist() == [1, 0, 2, 1]
    assert group_numbers(np.array([2, 1, 2]), {"1": 1, "2": 2}).tolist() == [1, 0, 1]


def test_an_unknown_name_is_refused_and_not_repeated() -> None:
    with pytest.raises(DataError, match="known: a, b") as caught:
        group_numbers(np.array(["a", "diagnosis F32"]), {"a": 1.0, "b": 2.0})
    assert "F32" not in str(caught.value)

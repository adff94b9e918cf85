"""Budgets that go with classes."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy.stats import chi2_contingency, contingency

from ballotine.errors import DataError, ParameterError
from ballotine.voting.individual import NOTE, budget_class_association
from ballotine.voting.individual.bias import _association


def test_large_budgets_for_one_class_are_noticed() -> None:
    """A quarter of the smaller class with a larger budget, as in the paper's mildest case."""
    classes = np.repeat(["low", "high"], [7500, 2500])
    budgets = np.full(10_000, 0.69)
    budgets[7500 : 7500 + 625] = 1.39
    warning = budget_class_association(budgets, classes)
    assert warning is not None
    assert "favour" in warning
    assert not re.search(r"\d", warning + NOTE)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("records", [60, 3000])
def test_budgets_given_at_random_are_not(seed: int, records: int) -> None:
    rng = np.random.default_rng(seed)
    budgets = rng.choice([1.0, 2.0, 3.0], size=records, p=[0.34, 0.43, 0.23])
    classes = rng.integers(0, 10, size=records)
    assert budget_class_association(budgets, classes) is None


def test_the_measure_against_scipy() -> None:
    rng = np.random.default_rng(9)
    budgets = rng.integers(0, 3, size=400)
    classes = np.where(rng.random(400) < 0.1, budgets, rng.integers(0, 5, size=400))
    table = np.zeros((3, 5), dtype=int)
    np.add.at(table, (budgets, classes), 1)
    found, luck = _association(budgets, classes)
    assert found == pytest.approx(contingency.association(table, method="cramer"), rel=1e-12)
    assert luck == pytest.approx(chi2_contingency(table).pvalue, rel=1e-9)
    assert _association(budgets, budgets)[0] == pytest.approx(1.0)
    assert _association(budgets, np.zeros(400)) == (0.0, 1.0)
    assert _association(np.array([1]), np.array([1])) == (0.0, 1.0)


def test_only_noticeable_associations_are_mentioned() -> None:
    budgets, classes = np.repeat([0, 1], 500), np.tile([0, 0, 1, 0, 1], 200)
    classes[:200] = 0
    assert budget_class_association(budgets, classes, 0.05) is not None
    assert budget_class_association(budgets, classes, 0.9) is None
    with pytest.raises(ParameterError):
        budget_class_association(budgets, classes, 1.5)
    with pytest.raises(DataError):
        budget_class_association(budgets[:-1], classes)
    with pytest.raises(DataError):
        budget_class_association(np.array([]), np.array([]))

"""Plans: the ledger then behaves as planned."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ballotine.errors import BudgetError
from ballotine.ledger import Binding, Ledger
from ballotine.ledger.charge import Charge
from ballotine.privacy import conversion, plan, published
from ballotine.privacy.best import best_epsilon
from ballotine.privacy.events import GaussianArgmax, GaussianCheck, LaplaceArgmax
from ballotine.privacy.guarantee import Budget

BUDGET = Budget(3.0, 1e-5)


def gnmax_sigma(queries: int, budget: Budget, classes: int) -> float:
    return plan.smallest_noise(lambda sigma: [(GaussianArgmax(sigma, classes), queries)], budget)


def test_the_smallest_sigma_meets_the_budget_and_a_smaller_one_does_not() -> None:
    sigma = gnmax_sigma(1000, BUDGET, classes=10)
    assert plan.epsilon_of([(GaussianArgmax(sigma, 10), 1000)], 1e-5) <= 3.0
    assert plan.epsilon_of([(GaussianArgmax(0.999 * sigma, 10), 1000)], 1e-5) > 3.0
    orders = np.linspace(1.5, 60, 400)
    published_cost = 1000 * published.gnmax(orders, sigma)
    assert conversion.epsilon(orders, published_cost, 1e-5)[0] > 3.0, "tight beats published"


def test_two_classes_need_less_noise() -> None:
    assert gnmax_sigma(100, BUDGET, classes=2) < gnmax_sigma(100, BUDGET, classes=3)


def test_the_number_of_queries_is_where_the_ledger_stops() -> None:
    for sigma in (5.0, 40.0):
        events = (GaussianCheck(3 * sigma), GaussianArgmax(sigma, 10))
        charges = [(event, 1.0) for event in events]
        binding = Binding(Charge.of(events), "ensemble", "rule")
        stop = Ledger.open(None, BUDGET).spending().affordable(binding)
        assert abs(plan.queries_for(charges, BUDGET) - stop) <= 1


@settings(deadline=None, max_examples=8)
@given(st.integers(1, 3000), st.floats(0.5, 20.0), st.sampled_from([1e-4, 1e-6]))
def test_sigma_and_queries_are_inverse(queries: int, epsilon: float, delta: float) -> None:
    budget = Budget(epsilon, delta)
    sigma = gnmax_sigma(queries, budget, classes=10)
    afforded = plan.queries_for([(GaussianArgmax(sigma, 10), 1.0)], budget)
    assert queries - 1 <= afforded <= queries * 1.001 + 1


def test_mixed_charges_meet_their_budget() -> None:
    def charges(sigma: float) -> plan.Charges:
        return [(GaussianCheck(3.75 * sigma), 1500), (GaussianArgmax(sigma, 10), 900)]

    spent = plan.epsilon_of(charges(plan.smallest_noise(charges, BUDGET)), 1e-5)
    assert 2.999 < spent <= 3.0


def test_noise_that_is_no_gaussian() -> None:
    def charges(scale: float) -> plan.Charges:
        return [(LaplaceArgmax(1.0 / scale), 200)]

    spent = plan.epsilon_of(charges(plan.smallest_noise(charges, BUDGET)), 1e-5)
    assert 2.999 < spent <= 3.0


def test_curves_rise_with_the_queries() -> None:
    values = plan.curve([(GaussianArgmax(20.0, 10), 1.0)], np.array([1, 10, 100, 1000]), 1e-5)
    assert np.all(np.diff(values) > 0)
    assert values[2] == pytest.approx(plan.epsilon_of([(GaussianArgmax(20.0, 10), 100)], 1e-5))


def test_the_grid_widens_until_the_best_order_is_inside() -> None:
    def tiny(orders: np.ndarray) -> np.ndarray:
        return 1e-9 * orders

    epsilon, order = best_epsilon(tiny, 1e-6)
    assert order > 1024
    fine = np.geomspace(2, 1e7, 4000)
    assert epsilon == pytest.approx(conversion.epsilon(fine, tiny(fine), 1e-6)[0], rel=0.05)


def test_impossible_plans() -> None:
    with pytest.raises(BudgetError, match="no amount of noise"):
        gnmax_sigma(1, Budget(1e-9, 1e-9), classes=10)
    with pytest.raises(BudgetError, match="no amount of noise"):  # this release has none
        plan.smallest_noise(lambda _: [(GaussianArgmax(1.0, 10), 1000)], BUDGET)

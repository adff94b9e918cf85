"""Plans: the ledger then behaves as planned."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ballotine.errors import BudgetError, ParameterError
from ballotine.ledger import Binding, Ledger
from ballotine.ledger.charge import Charge
from ballotine.privacy import conversion, plan, published
from ballotine.privacy.best import best_epsilon
from ballotine.privacy.events import GaussianArgmax, GaussianCheck
from ballotine.privacy.guarantee import Budget

BUDGET = Budget(3.0, 1e-5)


def test_the_smallest_sigma_meets_the_budget_and_a_smaller_one_does_not() -> None:
    sigma = plan.gnmax_sigma(1000, BUDGET, classes=10)
    assert plan.epsilon_of([(GaussianArgmax(sigma, 10), 1000)], 1e-5) <= 3.0
    assert plan.epsilon_of([(GaussianArgmax(0.999 * sigma, 10), 1000)], 1e-5) > 3.0
    orders = np.linspace(1.5, 60, 400)
    published_cost = 1000 * published.gnmax(orders, sigma)
    assert conversion.epsilon(orders, published_cost, 1e-5)[0] > 3.0, "tight beats published"


def test_two_classes_need_less_noise() -> None:
    assert plan.gnmax_sigma(100, BUDGET, classes=2) < plan.gnmax_sigma(100, BUDGET, classes=3)


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
    sigma = plan.gnmax_sigma(queries, budget, classes=10)
    afforded = plan.queries_for([(GaussianArgmax(sigma, 10), 1.0)], budget)
    assert queries - 1 <= afforded <= queries * 1.001 + 1


def test_a_confident_plan_meets_its_budget() -> None:
    made = plan.confident_gnmax(1500, 0.6, BUDGET, teachers=250, classes=10)
    charges = [
        (GaussianCheck(made.sigma_threshold), 1500),
        (GaussianArgmax(made.sigma, 10), 900),
    ]
    assert plan.epsilon_of(charges, 1e-5) == pytest.approx(made.epsilon)
    assert 2.999 < made.epsilon <= 3.0
    assert made.threshold == 200.0
    more = plan.confident_gnmax(1500, 0.9, BUDGET, teachers=250, classes=10)
    assert more.sigma > made.sigma


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
        plan.gnmax_sigma(1, Budget(1e-9, 1e-9), classes=10)
    for bad in (
        lambda: plan.gnmax_sigma(0, BUDGET, 10),
        lambda: plan.confident_gnmax(10, 0.0, BUDGET, 50, 10),
        lambda: plan.confident_gnmax(10, 0.5, BUDGET, 50, 10, ratio=-1.0),
    ):
        with pytest.raises(ParameterError):
            bad()

"""Rényi curves and (ε, δ); the oracles are mpmath and the exact Gaussian trade-off."""

from __future__ import annotations

import math
import warnings

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import norm

from ballotine.errors import ParameterError
from ballotine.privacy import conversion
from ballotine.privacy.conversion import OrderGridWarning
from ballotine.privacy.orders import DEFAULT_ORDERS, widen

METHODS = ["improved", "classic"]


def gaussian_epsilon(mu: float, delta: float) -> float:
    """ε of a Gaussian mechanism with shift μ in standard deviations, from its exact δ(ε)."""

    def excess(epsilon: float) -> float:
        below = norm.cdf(mu / 2 - epsilon / mu)
        return float(below - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu) - delta)

    return float(brentq(excess, 1e-9, 200.0))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("delta", [1e-3, 1e-5, 1e-12])
def test_epsilon_matches_the_formula_at_fifty_digits(method: str, delta: float) -> None:
    mp.mp.dps = 50
    rho = 0.05
    costs = rho * DEFAULT_ORDERS
    expected = mp.inf
    for order in DEFAULT_ORDERS:
        alpha, cost = mp.mpf(float(order)), mp.mpf(float(rho * order))
        if method == "classic":
            candidate = cost + mp.log(1 / mp.mpf(delta)) / (alpha - 1)
        else:
            candidate = (
                cost + mp.log((alpha - 1) / alpha) - mp.log(mp.mpf(delta) * alpha) / (alpha - 1)
            )
        expected = min(expected, candidate)
    value, order = conversion.epsilon(DEFAULT_ORDERS, costs, delta, method)  # type: ignore[arg-type]
    assert value == pytest.approx(float(expected), rel=1e-13)
    assert order in DEFAULT_ORDERS


@pytest.mark.parametrize("mu", [0.2, 0.7, 1.5, 4.0])
@pytest.mark.parametrize("delta", [1e-3, 1e-6])
def test_epsilon_is_above_the_truth_and_not_far(mu: float, delta: float) -> None:
    truth = gaussian_epsilon(mu, delta)
    costs = DEFAULT_ORDERS * mu**2 / 2
    improved, _ = conversion.epsilon(DEFAULT_ORDERS, costs, delta)
    classic, _ = conversion.epsilon(DEFAULT_ORDERS, costs, delta, "classic")
    assert truth <= improved < classic
    assert improved <= 1.2 * truth


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=60, deadline=None)
@given(rho=st.floats(1e-3, 2.0), delta=st.floats(1e-12, 0.4))
def test_delta_inverts_epsilon(method: str, rho: float, delta: float) -> None:
    costs = rho * DEFAULT_ORDERS
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OrderGridWarning)
        epsilon, _ = conversion.epsilon(DEFAULT_ORDERS, costs, delta, method)  # type: ignore[arg-type]
    back = conversion.delta(DEFAULT_ORDERS, costs, epsilon, method)  # type: ignore[arg-type]
    if epsilon > 0.0:
        assert back == pytest.approx(delta, rel=1e-9)
    else:
        assert back <= delta


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=60, deadline=None)
@given(epsilon=st.floats(0.0, 30.0), delta=st.floats(1e-15, 0.9))
def test_allowance_is_the_largest_cost_that_fits(method: str, epsilon: float, delta: float) -> None:
    allowance = conversion.allowance(DEFAULT_ORDERS, epsilon, delta, method)  # type: ignore[arg-type]
    for order, cost in zip(DEFAULT_ORDERS[::7], allowance[::7], strict=True):
        if cost <= 0.0:
            continue
        within, _ = conversion.epsilon([order], [cost], delta, method)  # type: ignore[arg-type]
        beyond, _ = conversion.epsilon([order], [cost + 1e-9 + 1e-9 * epsilon], delta, method)  # type: ignore[arg-type]
        assert within <= epsilon < beyond


def test_allowance_is_negative_where_an_order_cannot_meet_the_budget() -> None:
    allowance = conversion.allowance([1.5, 200.0], 1.0, 1e-5)
    assert allowance[0] < 0.0 < allowance[1]


def test_zero_cost_is_zero_epsilon_and_zero_delta() -> None:
    zeros = np.zeros(DEFAULT_ORDERS.size)
    assert conversion.epsilon(DEFAULT_ORDERS, zeros, 1e-5)[0] == 0.0
    with pytest.raises(ParameterError, match="delta"):
        conversion.epsilon(DEFAULT_ORDERS, zeros, 2.0)
    assert conversion.delta(DEFAULT_ORDERS, zeros, 0.0) == 0.0


def test_zero_at_some_orders_only_is_not_free() -> None:
    costs = np.where(DEFAULT_ORDERS < 3.0, 0.0, 5.0 * DEFAULT_ORDERS)
    assert conversion.epsilon(DEFAULT_ORDERS, costs, 1e-5)[0] > 1.0


def test_epsilon_is_never_negative() -> None:
    value, _ = conversion.epsilon(DEFAULT_ORDERS, 1e-9 * DEFAULT_ORDERS, 0.5)
    assert value == 0.0


def test_infinite_costs_are_skipped_and_only_infinite_ones_stay_infinite() -> None:
    costs = np.where(DEFAULT_ORDERS > 20.0, np.inf, 0.5 * DEFAULT_ORDERS)
    assert conversion.epsilon(DEFAULT_ORDERS, costs, 1e-5)[0] < 7.0
    all_infinite = np.full(DEFAULT_ORDERS.size, np.inf)
    assert conversion.epsilon(DEFAULT_ORDERS, all_infinite, 1e-5)[0] == math.inf
    assert conversion.delta(DEFAULT_ORDERS, all_infinite, 3.0) == 1.0


@pytest.mark.parametrize("grid", [[2.0, 3.0], [30.0, 40.0]])
def test_an_optimum_on_the_edge_warns(grid: list[float]) -> None:
    costs = 0.05 * np.array(grid)
    with pytest.warns(OrderGridWarning, match="edge of the grid"):
        conversion.epsilon(grid, costs, 1e-5)


def test_one_order_is_a_choice_not_an_edge() -> None:
    value, order = conversion.epsilon([4.0], [0.2], 1e-5)
    assert order == 4.0
    assert value == pytest.approx(0.2 + math.log(0.75) - math.log(4e-5) / 3)


def test_widening_moves_the_optimum_off_the_edge() -> None:
    grid = np.array([2.0, 3.0, 4.0])
    with pytest.warns(OrderGridWarning):
        narrow, _ = conversion.epsilon(grid, 0.05 * grid, 1e-5)
    wide = widen(grid)
    value, order = conversion.epsilon(wide, 0.05 * wide, 1e-5)
    assert value < narrow
    assert order > 4.0


def test_orders_may_come_in_any_sequence() -> None:
    costs = 0.05 * DEFAULT_ORDERS
    shuffled = np.random.default_rng(7).permutation(DEFAULT_ORDERS.size)
    expected = conversion.epsilon(DEFAULT_ORDERS, costs, 1e-5)
    assert conversion.epsilon(DEFAULT_ORDERS[shuffled], costs[shuffled], 1e-5) == expected


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        ([0.1, math.nan, 0.3], "NaN"),
        ([-0.1, 0.2, 0.3], "negative"),
        ([0.3, 0.2, 0.4], "fall"),
        ([math.inf, 0.2, 0.4], "fall"),
        ([0.1, 0.2], "one cost per order"),
        (["a", "b", "c"], "numbers"),
    ],
)
def test_curves_that_cannot_be_are_refused(costs: list[float], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        conversion.epsilon([2.0, 3.0, 4.0], costs, 1e-5)
    with pytest.raises(ParameterError, match=message):
        conversion.delta([2.0, 3.0, 4.0], costs, 1.0)


def test_rounding_of_a_sum_is_forgiven() -> None:
    cost = 0.2
    fallen = conversion.epsilon([4.0, 16.0, 64.0], [cost, np.nextafter(cost, 0.0), 9.0], 1e-5)
    level = conversion.epsilon([4.0, 16.0, 64.0], [cost, cost, 9.0], 1e-5)
    assert fallen == pytest.approx(level)


@pytest.mark.parametrize("delta", [0.0, 1.0, -1e-5, 1.5, math.nan, math.inf, "x", None])
def test_delta_outside_its_domain_is_refused(delta: float) -> None:
    with pytest.raises(ParameterError, match="delta"):
        conversion.epsilon([2.0, 3.0], [0.1, 0.2], delta)
    with pytest.raises(ParameterError, match="delta"):
        conversion.allowance([2.0, 3.0], 1.0, delta)


@pytest.mark.parametrize("epsilon", [-0.1, math.nan, math.inf])
def test_epsilon_outside_its_domain_is_refused(epsilon: float) -> None:
    with pytest.raises(ParameterError, match="epsilon"):
        conversion.delta([2.0, 3.0], [0.1, 0.2], epsilon)


@pytest.mark.parametrize("orders", [[], [1.0, 2.0], [0.5], [math.nan], [math.inf], [[2.0]], ["a"]])
def test_orders_outside_their_domain_are_refused(orders: list[float]) -> None:
    with pytest.raises(ParameterError, match="orders"):
        conversion.epsilon(orders, [0.1] * len(orders), 1e-5)
    with pytest.raises(ParameterError, match="orders"):
        widen(orders)


def test_an_unknown_method_is_refused() -> None:
    with pytest.raises(ParameterError, match="method"):
        conversion.epsilon([2.0, 3.0], [0.1, 0.2], 1e-5, "best")  # type: ignore[arg-type]


def test_the_default_grid_is_sensible() -> None:
    assert 90 <= DEFAULT_ORDERS.size <= 120
    assert np.all(np.diff(DEFAULT_ORDERS) > 0.0)
    assert DEFAULT_ORDERS[0] == pytest.approx(1.01)
    assert DEFAULT_ORDERS[-1] == 1024.0
    assert set(range(2, 65)) <= set(DEFAULT_ORDERS.tolist())
    with pytest.raises(ValueError, match="read-only"):
        DEFAULT_ORDERS[0] = 2.0


@pytest.mark.parametrize("target", [0.5, 1.0, 2.0, 5.0, 10.0])
def test_the_default_grid_loses_little(target: float) -> None:
    rho = brentq(
        lambda rho: conversion.epsilon(DEFAULT_ORDERS, rho * DEFAULT_ORDERS, 1e-5)[0] - target,
        1e-4,
        20.0,
    )
    fine = np.geomspace(1.01, 1024.0, 200_000)
    value, _ = conversion.epsilon(fine, rho * fine, 1e-5)
    assert value <= target <= 1.005 * value


def test_widening_keeps_every_order_and_ends_somewhere() -> None:
    wide = widen(DEFAULT_ORDERS)
    assert np.isin(DEFAULT_ORDERS, wide).all()
    assert wide[0] == pytest.approx(1.001)
    assert wide[-1] == pytest.approx(10240.0)
    for _ in range(20):
        wide = widen(wide)
    assert wide[0] > 1.0
    assert wide[-1] <= 1e7

"""Published bounds: formulas in many digits, the conditions, and the papers' omissions."""

from __future__ import annotations

import itertools
import math

import mpmath as mp
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from ballotine.errors import DataError, ParameterError
from ballotine.privacy import conversion, published
from ballotine.privacy.orders import DEFAULT_ORDERS

Array = npt.NDArray[np.float64]
ORDERS = np.array([1.25, 2.0, 3.0, 8.0, 20.0, 64.0, 300.0])


def theorem6(q: mp.mpf, order: float, sigma: float, weight: float) -> float:
    """Theorem 6 as printed, with the missing condition, in many digits and without logs."""
    alpha, scale = mp.mpf(order), mp.mpf(sigma) / mp.mpf(weight)
    independent = alpha / scale**2
    mu2 = scale * mp.sqrt(-mp.log(q))
    mu1 = mu2 + 1
    eps1, eps2 = mu1 / scale**2, mu2 / scale**2
    if mu2 <= 1 or alpha > mu1 or q * mp.exp(eps2) >= 1:
        return float(independent)
    limit = mp.exp((mu2 - 1) * eps2) / ((mu1 / (mu1 - 1)) * (mu2 / (mu2 - 1))) ** mu2
    if q > limit:
        return float(independent)
    a = (1 - q) / (1 - (q * mp.exp(eps2)) ** ((mu2 - 1) / mu2))
    b = mp.exp(eps1) / q ** (1 / (mu1 - 1))
    bound = mp.log((1 - q) * a ** (alpha - 1) + q * b ** (alpha - 1)) / (alpha - 1)
    return float(min(bound, independent))


def union_bound(counts: npt.ArrayLike, sigma: float) -> mp.mpf:
    ranked = sorted(np.asarray(counts, dtype=float).tolist(), reverse=True)
    total = sum(mp.erfc((mp.mpf(ranked[0]) - mp.mpf(c)) / (2 * mp.mpf(sigma))) for c in ranked[1:])
    return min(total / 2, 1 - mp.mpf(1) / len(ranked))


def moved(counts: Array, weight: float) -> list[Array]:
    """The tally and every neighbour in which one teacher of this weight has moved."""
    result = [counts]
    for giver, taker in itertools.permutations(range(counts.size), 2):
        if counts[giver] >= weight:
            neighbour = counts.copy()
            neighbour[giver] -= weight
            neighbour[taker] += weight
            result.append(neighbour)
    return result


TALLIES = [
    ([250.0, 0.0, 0.0], 40.0, 1.0),
    ([230.0, 15.0, 5.0, 0.0], 40.0, 1.0),
    ([130.0, 120.0], 40.0, 1.0),
    ([50.0, 0.0], 7.0, 1.0),
    ([61.5, 20.25, 3.0], 9.0, 0.3),
    ([200.0, 10.0, 0.0], 20.0, 4.0),
    ([900.0, 100.0, 0.0], 60.0, 20.0),
    ([40.0, 3.0, 2.0], 1.0, 1.0),
    ([3.0, 1.0, 0.0], 0.4, 1.0),
]


@pytest.mark.parametrize(("counts", "sigma", "weight"), TALLIES)
@pytest.mark.parametrize("two_sided", [False, True])
def test_theorem_6_matches_many_digits(
    counts: list[float], sigma: float, weight: float, two_sided: bool
) -> None:
    mp.mp.dps = 400
    tally = np.array(counts)
    tallies = moved(tally, weight) if two_sided else [tally]
    expected = [
        max(theorem6(union_bound(t, sigma), order, sigma, weight) for t in tallies)
        for order in ORDERS
    ]
    found = published.gnmax_data_dependent(tally, ORDERS, sigma, weight, two_sided)
    assert found.shape == (1, ORDERS.size)
    np.testing.assert_allclose(found[0], np.maximum(expected, 1e-300), rtol=1e-11)


def test_data_dependent_costs_do_pay_off() -> None:
    cost = published.gnmax_data_dependent([250.0, 0.0, 0.0], [8.0], 40.0)[0, 0]
    assert cost < 0.05 * published.gnmax([8.0], 40.0)[0]


def two_class(first: tuple[int, int], second: tuple[int, int], sigma: float, order: float) -> float:
    """Exact D_α between GNMax's answers to two tallies of two classes."""
    deviation = sigma * math.sqrt(2.0)
    logs = [
        np.array([norm.logcdf(gap, scale=deviation), norm.logsf(gap, scale=deviation)])
        for gap in (first[0] - first[1], second[0] - second[1])
    ]
    total = np.logaddexp.reduce(order * logs[0] + (1.0 - order) * logs[1])
    return float(total / (order - 1.0))


def test_theorem_6_alone_is_false_in_the_other_direction() -> None:
    reverse = two_class((49, 1), (50, 0), 7.0, 4.0)
    one_sided = published.gnmax_data_dependent([50, 0], [4.0], 7.0, two_sided=False)[0, 0]
    assert two_class((50, 0), (49, 1), 7.0, 4.0) <= one_sided
    assert reverse / one_sided == pytest.approx(1.56, abs=0.005)
    assert reverse <= published.gnmax_data_dependent([50, 0], [4.0], 7.0)[0, 0]


def test_theorem_6_as_printed_is_false_without_the_missing_condition() -> None:
    sigma, mu1, mu2, order = 1.5, 4.0, 11.6, 2.0
    q = float(norm.sf(3.0 / (sigma * math.sqrt(2.0))))
    eps1, eps2 = mu1 / sigma**2, mu2 / sigma**2
    # Every printed condition holds, the missing one does not.
    assert order <= mu1
    assert q <= math.exp((mu2 - 1) * eps2) / (mu1 / (mu1 - 1) * mu2 / (mu2 - 1)) ** mu2
    assert q * math.exp(eps2) >= 1.0
    a = (1 - q) / (1 - (q * math.exp(eps2)) ** ((mu2 - 1) / mu2))
    b = math.exp(eps1) / q ** (1 / (mu1 - 1))
    printed = math.log((1 - q) * a ** (order - 1) + q * b ** (order - 1)) / (order - 1)
    truth = two_class((5, 2), (4, 3), sigma, order)
    assert truth > 500.0 * printed > 0.0
    assert truth <= published.gnmax_data_dependent([5, 2], [order], sigma)[0, 0]


@pytest.mark.parametrize("sigma", [0.2, 0.5, 0.9])
def test_little_noise_falls_back_where_a_condition_fails(sigma: float) -> None:
    # q e^ε2 ≥ 1 and μ2 ≤ 1 are the same condition for the orders of Prop. 10.
    tally = np.array([1.0, 1.0])
    found = published.gnmax_data_dependent(tally, ORDERS, sigma, two_sided=False)
    np.testing.assert_array_equal(found[0], published.gnmax(ORDERS, sigma))


def test_weights_enter_the_orders_and_not_the_error() -> None:
    # Scaling votes, weight and noise together changes nothing; putting σ/w into q would.
    tally = np.array([60.0, 5.0, 3.0])
    plain = published.gnmax_data_dependent(tally, ORDERS, 8.0, 1.0)
    scaled = published.gnmax_data_dependent(0.3 * tally, ORDERS, 2.4, 0.3)
    np.testing.assert_allclose(scaled, plain, rtol=1e-12)
    assert np.all(published.gnmax_data_dependent(tally, ORDERS, 8.0, 3.0) >= plain)


def test_unanimous_votes_cost_something_finite() -> None:
    counts = np.array([[250.0, 0.0, 0.0], [1e6, 0.0, 0.0], [5.0, 0.0, 0.0]])
    for sigma in (0.5, 1.0, 5.0, 40.0):
        cost = published.gnmax_data_dependent(counts, DEFAULT_ORDERS, sigma)
        assert np.all(np.isfinite(cost))
        assert np.all(cost > 0.0)
        assert np.all(published.lnmax(counts, DEFAULT_ORDERS, 1.0 / sigma) > 0.0)


def test_close_races_cost_the_data_independent_price() -> None:
    counts = [[50.0, 49.0, 0.0], [50.0, 50.0, 0.0], [1.0, 0.0, 0.0]]
    found = published.gnmax_data_dependent(counts, ORDERS, 5.0)
    np.testing.assert_array_equal(found, np.tile(published.gnmax(ORDERS, 5.0), (3, 1)))


@settings(max_examples=60, deadline=None)
@given(
    counts=st.lists(st.integers(0, 250), min_size=2, max_size=6),
    sigma=st.floats(0.3, 100.0),
    weight=st.floats(0.3, 20.0),
)
def test_data_dependent_curves_are_curves(counts: list[int], sigma: float, weight: float) -> None:
    cost = published.gnmax_data_dependent(counts, DEFAULT_ORDERS, sigma, weight)[0]
    one_sided = published.gnmax_data_dependent(counts, DEFAULT_ORDERS, sigma, weight, False)[0]
    assert np.all(cost > 0.0)
    assert np.all(np.diff(cost) >= -1e-12 * cost[1:])
    assert np.all(cost <= published.gnmax(DEFAULT_ORDERS, sigma, weight))
    assert np.all(one_sided <= cost * (1.0 + 1e-12))
    check = published.threshold_data_dependent(counts, 60.0, DEFAULT_ORDERS, sigma, weight)
    assert check.shape == (len(counts), DEFAULT_ORDERS.size)
    assert np.all(check > 0.0)
    assert np.all(np.diff(check, axis=1) >= -1e-12 * check[:, 1:])
    laplace = published.lnmax(counts, DEFAULT_ORDERS, 1.0 / sigma)[0]
    assert np.all(np.diff(laplace) >= -1e-12 * laplace[1:])


def test_many_tallies_are_priced_one_by_one() -> None:
    rng = np.random.default_rng(3)
    counts = rng.multinomial(100, [0.9, 0.06, 0.04], size=9000).astype(float)
    together = published.gnmax_data_dependent(counts, ORDERS, 12.0)
    picks = rng.choice(9000, 25, replace=False)
    for pick in picks:
        alone = published.gnmax_data_dependent(counts[pick], ORDERS, 12.0)
        np.testing.assert_allclose(together[pick], alone[0], rtol=1e-12)
    mirrored = published.gnmax_data_dependent(counts[:, ::-1], ORDERS, 12.0)
    np.testing.assert_allclose(mirrored, together, rtol=1e-11)


@pytest.mark.parametrize("weight", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("two_sided", [False, True])
def test_threshold_matches_many_digits(weight: float, two_sided: bool) -> None:
    mp.mp.dps = 100
    level, sigma = 200.0, 15.0
    tops = np.array([0.0, 120.0, 150.0, 198.5, 200.0, 202.0, 235.0, 250.0])
    found = published.threshold_data_dependent(
        tops, level, ORDERS, sigma, weight, two_sided=two_sided
    )
    reach = np.linspace(-weight, weight, 13) if two_sided else [0.0]
    for top, row in zip(tops, found, strict=True):
        expected = []
        for order in ORDERS:
            bounds = []
            for move in reach:
                gap = abs(mp.mpf(float(top + move)) - level)
                q = mp.erfc(gap / (mp.sqrt(2) * sigma)) / 2
                bounds.append(theorem6(q, order, sigma * math.sqrt(2.0), weight))
            expected.append(max(bounds))
        np.testing.assert_allclose(row, expected, rtol=1e-11)


def test_data_independent_costs() -> None:
    np.testing.assert_allclose(published.gnmax(ORDERS, 40.0), ORDERS / 1600.0, rtol=1e-15)
    np.testing.assert_allclose(published.gnmax(ORDERS, 40.0, 3.0), 9.0 * ORDERS / 1600.0)
    np.testing.assert_allclose(published.threshold(ORDERS, 40.0), ORDERS / 3200.0, rtol=1e-15)
    np.testing.assert_allclose(published.threshold(ORDERS, 4.0, 0.3), 0.09 * ORDERS / 32.0)


def test_zero_sensitivity_and_a_single_class_are_free_and_tiny_ones_are_not() -> None:
    counts = [[5.0, 1.0], [3.0, 3.0]]
    assert not published.gnmax(ORDERS, 3.0, 0.0).any()
    assert not published.gnmax_data_dependent(counts, ORDERS, 3.0, 0.0).any()
    assert not published.threshold_data_dependent([5.0], 3.0, ORDERS, 3.0, 0.0).any()
    assert not published.gnmax_data_dependent([[5.0], [0.0]], ORDERS, 3.0).any()
    assert not published.lnmax([[5.0], [0.0]], ORDERS, 3.0).any()
    assert np.all(published.gnmax(ORDERS, 1e200, 1e-100) > 0.0)
    assert np.all(published.threshold(ORDERS, 1e200, 1e-100) > 0.0)


def test_equation_10_alone_gives_the_published_epsilon() -> None:
    # TTAC's table: 100 queries at γ = 0.1, δ = 1e-5, moments 1 … 8, tail bound of the accountant.
    orders = np.arange(2.0, 10.0)
    tie = published.lnmax([10.0, 10.0], orders, 0.1)[0]
    np.testing.assert_allclose(tie, 2.0 * 0.1**2 * orders, rtol=1e-14)
    value, order = conversion.epsilon(orders, 100 * tie, 1e-5, "classic")
    assert value == pytest.approx(11.756, abs=5e-4)
    assert order == 3.0


@pytest.mark.parametrize("gamma", [0.05, 0.3, 1.5])
@pytest.mark.parametrize("two_sided", [False, True])
def test_lnmax_matches_many_digits(gamma: float, two_sided: bool) -> None:
    mp.mp.dps = 400
    for counts in ([100.0, 0.0, 0.0], [70.0, 20.0, 10.0], [40.0, 38.0, 0.0], [9.0, 1.0]):
        tally = np.array(counts)
        found = published.lnmax(tally, ORDERS, gamma, two_sided=two_sided)[0]
        g = mp.mpf(gamma)
        expected = []
        for order in ORDERS:
            moment = mp.mpf(order) - 1
            bounds = []
            for other in moved(tally, 1.0) if two_sided else [tally]:
                ranked = sorted(other.tolist(), reverse=True)
                gaps = [mp.mpf(ranked[0] - c) for c in ranked[1:]]
                q = sum((2 + g * gap) / (4 * mp.exp(g * gap)) for gap in gaps)
                bound = 2 * g**2 * moment * (moment + 1)
                if q < (mp.exp(2 * g) - 1) / (mp.exp(4 * g) - 1):
                    a = (1 - q) / (1 - mp.exp(2 * g) * q)
                    eq11 = mp.log((1 - q) * a**moment + q * mp.exp(2 * g * moment))
                    bound = min(bound, eq11)
                bounds.append(bound / moment)
            expected.append(float(max(bounds)))
        np.testing.assert_allclose(found, expected, rtol=1e-11)


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([], "non-empty"),
        ([[]], "non-empty"),
        ([[[1.0]]], "shape"),
        ([3.0, -1.0], "negative"),
        ([3.0, math.nan], "finite"),
        ([3.0, math.inf], "finite"),
        (["a", "b"], "numbers"),
        ([[1.0, 2.0], [1.0]], "numbers"),
    ],
)
def test_tallies_that_cannot_be_are_refused(counts: list[float], message: str) -> None:
    with pytest.raises(DataError, match=message):
        published.gnmax_data_dependent(counts, ORDERS, 3.0)
    with pytest.raises(DataError, match=message):
        published.lnmax(counts, ORDERS, 3.0)


@pytest.mark.parametrize("top", [[], [-1.0], [math.nan], [[1.0]], ["a"]])
def test_tops_that_cannot_be_are_refused(top: list[float]) -> None:
    with pytest.raises(DataError, match="top"):
        published.threshold_data_dependent(top, 3.0, ORDERS, 3.0)


def test_messages_do_not_repeat_private_counts() -> None:
    with pytest.raises(DataError) as caught:
        published.gnmax_data_dependent([[417.0, -73.0]], ORDERS, 3.0)
    assert "417" not in str(caught.value)
    assert "73" not in str(caught.value)


def test_bad_parameters_are_refused() -> None:
    for sigma in (0.0, -3.0, math.nan, None):
        with pytest.raises(ParameterError, match="sigma"):
            published.gnmax(ORDERS, sigma)  # type: ignore[arg-type]
        with pytest.raises(ParameterError, match="sigma"):
            published.gnmax_data_dependent([3, 1], ORDERS, sigma)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="sensitivity"):
        published.threshold(ORDERS, 1.0, -0.5)
    with pytest.raises(ParameterError, match="threshold"):
        published.threshold_data_dependent([3.0], math.nan, ORDERS, 1.0)
    with pytest.raises(ParameterError, match="gamma"):
        published.lnmax([3, 1], ORDERS, 0.0)
    with pytest.raises(ParameterError, match="orders"):
        published.lnmax([3, 1], [1.0], 0.1)

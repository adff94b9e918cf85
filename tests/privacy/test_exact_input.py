"""Bad input is refused in one sentence; limiting cases are right; nothing is ever NaN."""

import math

import numpy as np
import pytest

from ballotine.errors import DataError, ParameterError
from ballotine.privacy import exact

GOOD = [[5.0, 3.0, 1.0]]
ORDERS = [2.0, 8.0]


@pytest.mark.parametrize(
    "counts",
    [[[-1.0, 3.0]], [[math.nan, 3.0]], [[math.inf, 3.0]], [], [[]], [[[1.0]]], [["a", "b"]]],
)
def test_bad_counts(counts):
    for call in (
        lambda: exact.gnmax_law(counts, 2.0),
        lambda: exact.gnmax(counts, ORDERS, 2.0),
        lambda: exact.confident_gnmax(counts, ORDERS, 2.0, 3.0, 4.0),
    ):
        with pytest.raises(DataError):
            call()


@pytest.mark.parametrize("sigma", [0.0, -1.0, math.nan, math.inf, "wide"])
def test_bad_sigma(sigma):
    for call in (
        lambda: exact.gnmax_law(GOOD, sigma),
        lambda: exact.gnmax(GOOD, ORDERS, sigma),
        lambda: exact.confident_gnmax(GOOD, ORDERS, sigma, 3.0, 4.0),
        lambda: exact.confident_gnmax(GOOD, ORDERS, 2.0, 3.0, sigma),
        lambda: exact.threshold([5.0], 3.0, ORDERS, sigma),
    ):
        with pytest.raises(ParameterError, match="sigma"):
            call()


@pytest.mark.parametrize("orders", [[], [1.0], [0.5, 2.0], [math.nan], [math.inf], [[2.0]]])
def test_bad_orders(orders):
    for call in (
        lambda: exact.gnmax(GOOD, orders, 2.0),
        lambda: exact.confident_gnmax(GOOD, orders, 2.0, 3.0, 4.0),
        lambda: exact.threshold([5.0], 3.0, orders, 2.0),
        lambda: exact.cost_of_laws([[0.0]], [[0.0]], orders),
    ):
        with pytest.raises(ParameterError, match="orders"):
            call()


@pytest.mark.parametrize("weight", [-0.1, math.nan, math.inf])
def test_bad_sensitivity(weight):
    for call in (
        lambda: exact.gnmax(GOOD, ORDERS, 2.0, weight),
        lambda: exact.confident_gnmax(GOOD, ORDERS, 2.0, 3.0, 4.0, weight),
        lambda: exact.threshold([5.0], 3.0, ORDERS, 2.0, weight),
    ):
        with pytest.raises(ParameterError, match="sensitivity"):
            call()


@pytest.mark.parametrize("top", [[], [-1.0], [math.nan], [[1.0]]])
def test_bad_tops(top):
    with pytest.raises(DataError):
        exact.threshold(top, 3.0, ORDERS, 2.0)


def test_bad_threshold():
    with pytest.raises(ParameterError, match="threshold"):
        exact.threshold([5.0], math.nan, ORDERS, 2.0)
    with pytest.raises(ParameterError, match="threshold"):
        exact.confident_gnmax(GOOD, ORDERS, 2.0, math.inf, 4.0)


@pytest.mark.parametrize("teachers", [0, -1, 1.5, math.nan])
def test_bad_teachers(teachers):
    with pytest.raises(ParameterError, match="teachers"):
        exact.gnmax(GOOD, ORDERS, 2.0, teachers=teachers)


def test_too_many_split_moves_are_refused_with_a_way_out():
    with pytest.raises(ParameterError, match="published"):
        exact.gnmax(np.ones((1, 10)), ORDERS, 2.0, teachers=4)
    with pytest.raises(ParameterError, match="published"):
        exact.confident_gnmax(np.ones((1, 100)), ORDERS, 2.0, 3.0, 4.0, teachers=2)


def test_a_tally_without_such_a_teacher_is_refused_without_telling_its_counts():
    with pytest.raises(DataError, match="sensitivity") as caught:
        exact.gnmax([[977.25, 13.5]], ORDERS, 50.0, sensitivity=1000.0)
    assert "977" not in str(caught.value)


def test_rounded_sums_of_weights_still_hold_their_teachers():
    rounded = 0.7 - 0.4
    assert rounded < 0.3
    short = exact.gnmax([[rounded, 0.0]], ORDERS, 2.0, sensitivity=0.3)
    exactly = exact.gnmax([[0.3, 0.0]], ORDERS, 2.0, sensitivity=0.3)
    np.testing.assert_allclose(short, exactly, rtol=1e-9)


def test_no_sensitivity_costs_nothing():
    assert not exact.gnmax(GOOD, ORDERS, 2.0, 0.0).any()
    assert not exact.confident_gnmax(GOOD, ORDERS, 2.0, 3.0, 4.0, 0.0).any()
    assert not exact.threshold([5.0], 3.0, ORDERS, 2.0, 0.0).any()
    assert not exact.gnmax(GOOD, ORDERS, 2.0, 0.0, total=True).any()


def test_one_class_costs_nothing_and_always_wins():
    assert not exact.gnmax([[5.0]], ORDERS, 2.0).any()
    assert exact.gnmax_law([[5.0]], 2.0).item() == pytest.approx(0.0, abs=1e-12)


def test_shapes():
    counts = np.array([[5, 3, 1], [4, 4, 1], [3, 5, 1]])
    assert exact.gnmax_law(counts, 2.0).shape == (3, 3)
    assert exact.gnmax(counts, ORDERS, 2.0).shape == (3, 2)
    assert exact.gnmax(counts, ORDERS, 2.0, total=True).shape == (2,)
    assert exact.confident_gnmax(counts, ORDERS, 2.0, 3.0, 4.0).shape == (3, 2)
    assert exact.threshold([5.0, 4.0, 5.0], 3.0, ORDERS, 2.0).shape == (3, 2)
    assert exact.gnmax([5, 3, 1], 2.0, 2.0).shape == (1, 1)


def test_input_is_left_alone():
    counts = np.array([[1.0, 5.0, 3.0], [4.0, 4.0, 1.0]])
    kept = counts.copy()
    exact.gnmax(counts, ORDERS, 2.0)
    exact.gnmax_law(counts, 2.0)
    np.testing.assert_array_equal(counts, kept)


@pytest.mark.parametrize("sigma", [1e-3, 0.05, 0.5, 1e6])
@pytest.mark.parametrize("weight", [1e-6, 0.3, 20.0])
def test_extremes_stay_finite(sigma, weight):
    counts = np.array([[250.0, 0.0, 0.0], [100.0, 100.0, 50.0], [84.0, 83.0, 83.0]])
    orders = np.array([1.0 + 1e-6, 1.5, 2.0, 10.0, 64.0, 1024.0, 1e5, 1e6, 1e7, 1e7 + 1.0])
    law = exact.gnmax_law(counts, sigma)
    assert np.all(np.isfinite(law))
    for cost in (
        exact.gnmax(counts, orders, sigma, weight),
        exact.confident_gnmax(counts, orders, sigma, 120.0, sigma, weight),
        exact.threshold(counts[:, 0], 120.0, orders, sigma, weight),
    ):
        assert np.all(np.isfinite(cost))
        assert np.all(cost >= 0.0)
        assert np.all(np.diff(cost, axis=1) >= 0.0)


def test_noise_beyond_double_precision_is_refused():
    with pytest.raises(ParameterError, match="too small"):
        exact.gnmax_law([[250.0, 0.0]], 1e-7)
    with pytest.raises(ParameterError, match="too small"):
        exact.gnmax([[250.0, 0.0]], ORDERS, 1e-7)


@pytest.mark.parametrize(
    ("log_p", "log_q"),
    [
        ([[0.0, 0.0]], [[0.0, 0.0]]),
        ([[math.nan]], [[0.0]]),
        ([[5000.0]], [[0.0]]),
        ([[0.0]], [np.log([0.5, 0.5])]),
        ([], []),
        ([["a"]], [[0.0]]),
    ],
)
def test_what_is_no_law_is_refused(log_p, log_q):
    with pytest.raises(DataError):
        exact.cost_of_laws(log_p, log_q, ORDERS)

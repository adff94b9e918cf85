"""Powerset voting: laws and costs against full enumeration, plain quadrature and mpmath."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import mpmath
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_ndtr
from scipy.stats import norm

from ballotine.errors import DataError, ParameterError
from ballotine.privacy import exact, powerset, published
from ballotine.privacy.exact.tallies import Levels
from ballotine.privacy.powerset.crowd import grid_for, log_law_of_levels

Array = npt.NDArray[np.float64]
ORDERS = np.array([1.5, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0])


def plain_law(groups: dict[float, float], sigma: float) -> dict[float, float]:
    """Log-probability of one set of each count; `groups` has the number of sets per count."""
    places = np.array(list(groups)) / sigma
    numbers = np.array(list(groups.values()))
    x = np.arange(places.min() - 10.0, places.max() + 22.0, 0.004)
    below = norm.logcdf(x - places[:, None])
    result = {}
    for winner, count in enumerate(groups):
        others = (numbers - (np.arange(numbers.size) == winner)) @ below
        density = norm.logpdf(x - places[winner]) + others
        result[count] = float(np.logaddexp.reduce(density) + math.log(0.004))
    return result


def grouped(counts: Sequence[float], allowed: int) -> dict[float, float]:
    groups: dict[float, float] = {}
    for count in counts:
        groups[count] = groups.get(count, 0.0) + 1.0
    groups[0.0] = groups.get(0.0, 0.0) + allowed - len(counts)
    return {count: number for count, number in groups.items() if number > 0.0}


def divergence(p: Array, q: Array) -> Array:
    terms = ORDERS[:, None] * p + (1.0 - ORDERS[:, None]) * q
    return np.asarray(np.logaddexp.reduce(terms, axis=1) / (ORDERS - 1.0))


def true_cost(counts: Sequence[float], allowed: int, sigma: float, weight: float = 1.0) -> Array:
    """All neighbours, one by one; the unlisted sets that stay are one outcome."""
    listed = [*counts, 0.0] if allowed > len(counts) else list(counts)
    rest = allowed - len(listed)
    law = plain_law(grouped(listed, allowed), sigma)
    worst = np.zeros(ORDERS.size)
    for giver, taker in itertools.permutations(range(len(listed)), 2):
        if listed[giver] < weight:
            continue
        moved = list(listed)
        moved[giver] -= weight
        moved[taker] += weight
        after = plain_law(grouped(moved, allowed), sigma)
        p, q = [law[c] for c in listed], [after[c] for c in moved]
        if rest:
            p.append(law[0.0] + math.log(rest))
            q.append(after[0.0] + math.log(rest))
        found = np.maximum(
            divergence(np.array(p), np.array(q)), divergence(np.array(q), np.array(p))
        )
        worst = np.maximum(worst, found)
    return worst


def log_cdf(x: mpmath.mpf) -> mpmath.mpf:
    tail = mpmath.erfc(abs(x) / mpmath.sqrt(2)) / 2
    return mpmath.log(tail) if x < 0 else mpmath.log1p(-tail)


def precise_law(counts: Sequence[float], allowed: int, sigma: float) -> dict[float, float]:
    """The same in mpmath: Gauss-Legendre on short panels, 25 digits."""
    groups = grouped(counts, allowed)
    with mpmath.workdps(25):
        nodes, weights = np.polynomial.legendre.leggauss(24)
        places = {count: mpmath.mpf(count) / mpmath.mpf(sigma) for count in groups}
        peak = mpmath.sqrt(2 * mpmath.log(allowed))
        low, high = peak - 3, max(peak, *places.values()) + 9
        panels = math.ceil(float(high - low) / 0.75)
        half = (high - low) / panels / 2
        totals = dict.fromkeys(groups, mpmath.mpf(0))
        for panel, (node, weight) in itertools.product(
            range(panels), zip(nodes, weights, strict=True)
        ):
            x = low + half * (2 * panel + 1) + half * mpmath.mpf(float(node))
            logs = {c: log_cdf(x - v) for c, v in places.items()}
            everyone = sum(mpmath.mpf(groups[c]) * logs[c] for c in groups)
            for c, v in places.items():
                density = mpmath.exp(everyone - logs[c]) * mpmath.npdf(x - v)
                totals[c] += half * mpmath.mpf(float(weight)) * density
        return {c: float(mpmath.log(total)) for c, total in totals.items()}


# --- the law ---


@pytest.mark.parametrize("sigma", [0.6, 2.0, 9.0])
@pytest.mark.parametrize("counts", [[5.0, 2.0], [3.0, 3.0, 1.0], [7.0], [1.0] * 8, [2.5, 0.5, 0.0]])
def test_law_of_three_labels_is_that_of_eight_sets(counts: list[float], sigma: float) -> None:
    found = powerset.law(counts, 8, sigma)[0]
    every = np.array([*counts, *[0.0] * (8 - len(counts))])
    expected = plain_law(grouped(every, 8), sigma)
    assert np.allclose(found[:-1], [expected[c] for c in counts], rtol=0.0, atol=1e-10)
    if len(counts) == 8:
        assert found[-1] == -np.inf
    else:
        assert found[-1] == pytest.approx(expected[0.0] + math.log(8 - len(counts)), abs=1e-10)


@pytest.mark.parametrize(
    ("counts", "allowed", "sigma"),
    [
        ([40.0, 5.0, 5.0], 1 << 20, 1.5),
        ([9.0, 7.0, 1.0], 1 << 20, 7.0),
        ([30.0, 2.0], 1 << 60, 4.0),
    ],
)
def test_law_of_very_many_sets_keeps_nine_digits(
    counts: list[float], allowed: int, sigma: float
) -> None:
    found = powerset.law(counts, allowed, sigma)[0]
    expected = precise_law(counts, allowed, sigma)
    reference = [expected[c] for c in counts] + [expected[0.0] + math.log(allowed - len(counts))]
    assert np.allclose(np.expm1(found - np.array(reference)), 0.0, atol=1e-9)


@settings(max_examples=40, deadline=None)
@given(
    counts=st.lists(st.floats(0.0, 60.0), min_size=1, max_size=7),
    labels=st.integers(7, 60),
    sigma=st.floats(0.3, 30.0),
)
def test_probabilities_add_up_to_one(counts: list[float], labels: int, sigma: float) -> None:
    law = powerset.law(counts, 1 << labels, sigma)[0]
    assert np.exp(law).sum() == pytest.approx(1.0, abs=1e-11)
    ranks = np.argsort(counts)
    assert np.all(np.diff(law[:-1][ranks]) >= -1e-11)


def test_listed_zero_is_one_of_the_unobserved() -> None:
    plain = powerset.law([6.0, 2.0], 1 << 20, 2.0)[0]
    filled = powerset.law([6.0, 0.0, 2.0, 0.0], 1 << 20, 2.0)[0]
    assert np.allclose(filled[[0, 2]], plain[:2], rtol=1e-13)
    share = plain[2] - math.log((1 << 20) - 2)
    assert np.allclose(filled[[1, 3]], share, rtol=1e-13)
    assert np.logaddexp(filled[4], math.log(2.0) + share) == pytest.approx(plain[2], rel=1e-12)


def test_enumerated_and_integrated_crowds_agree() -> None:
    counts = np.array([[9.0, 4.0, 4.0, 1.0, 1.0], [6.0, 6.0, 4.0, 2.0, 1.0], [19.0, 0, 0, 0, 0]])
    full = np.pad(counts, ((0, 0), (0, 123)))
    for sigma in (0.2, 1.0, 6.0):
        assert np.allclose(
            powerset.law(counts, 128, sigma)[:, :5],
            exact.gnmax_law(full, sigma)[:, :5],
            rtol=1e-12,
            atol=1e-13,
        )
        assert np.allclose(
            powerset.data_dependent(counts, 128, ORDERS, sigma),
            exact.gnmax(full, ORDERS, sigma),
            rtol=1e-9,
            atol=1e-11,
        )


def test_small_noise_is_integrated_around_each_mode() -> None:
    """Gaps of 300 noise deviations: the grid would have too many nodes."""
    counts = np.array([150.0, 90.0, 1.0, 0.0])
    sizes = np.array([1.0, 1.0, 2.0, 2.0**20 - 4])
    sigma = 0.5
    found = log_law_of_levels(Levels(np.array([0]), counts[None], sizes[None]), sigma)[0]
    # One rival decides: P(N(0,1) + N(0,1) noise overcomes the gap), to leading order exact.
    assert found[1] == pytest.approx(norm.logsf(60.0 / (sigma * math.sqrt(2.0))), rel=1e-10)
    assert found[0] == pytest.approx(0.0, abs=1e-13)
    costs = powerset.data_dependent([[150.0, 90.0, 1.0, 1.0]], 1 << 20, ORDERS, sigma)[0]
    assert np.all(np.isfinite(costs))
    assert np.all(costs <= published.gnmax(ORDERS, sigma) * (1.0 + 1e-9))
    before, after = (norm.logsf(gap / (sigma * math.sqrt(2.0))) for gap in (60.0, 58.0))
    pair = (
        np.array([np.log1p(-np.exp(after)), after]),
        np.array([np.log1p(-np.exp(before)), before]),
    )
    assert np.all(costs >= divergence(*pair) * (1.0 - 1e-9))


@pytest.mark.parametrize("crowd", [64.0, 2.0**10, 2.0**20, 2.0**60, 2.0**500])
def test_integrands_grow_little_off_the_real_line(crowd: float) -> None:
    """The step of the trapezoid rule rests on this growth being below 8."""
    sizes = np.array([[1.0, crowd]])
    step = grid_for(np.array([0.0]), sizes).step
    lowest = math.sqrt(2.0 * math.log(crowd))
    for _ in range(60):
        hazard = math.exp(float(norm.logpdf(lowest) - norm.logcdf(lowest)) + math.log(crowd - 2.0))
        lowest += 0.3 * (math.log(hazard) - math.log(lowest)) / (lowest + 1.0)
    height = 1.4 / lowest
    assert step < 2.0 * math.pi * height / math.log(2.0 * 8.0 / 1e-14)
    x = np.arange(0.0, 60.0, 0.004)
    for place, rivals in itertools.product(
        (0.0, 1.0, lowest, 2 * lowest), ([], [3.0, 1.0], [lowest])
    ):

        def log_size(
            z: npt.NDArray[np.complex128], place: float = place, rivals: list[float] = rivals
        ) -> Array:
            logs = (crowd - 1.0) * log_ndtr(z) - (z - place) ** 2 / 2.0
            return np.real(logs + sum(log_ndtr(z - rival) for rival in rivals))

        real, shifted = log_size(x + 0j), log_size(x + 1j * height)
        growth = np.exp(np.logaddexp.reduce(shifted) - np.logaddexp.reduce(real))
        assert growth < 8.0 * math.exp(len(rivals) * height**2 / 2.0)


# --- the cost ---


@pytest.mark.parametrize("sigma", [0.7, 3.0])
@pytest.mark.parametrize(
    "counts", [[3.0], [2.0, 1.0], [1.0, 1.0, 1.0], [4.0, 2.0, 1.0], [1.0] * 8, [5.0, 0.0, 2.0]]
)
def test_cost_of_three_labels_by_full_enumeration(counts: list[float], sigma: float) -> None:
    found = powerset.data_dependent(counts, 8, ORDERS, sigma)[0]
    expected = true_cost(counts, 8, sigma)
    assert np.all(found >= expected * (1.0 - 1e-9) - 1e-12)
    assert np.all(found <= expected * (1.0 + 1e-9) + 1e-11)
    assert np.all(found <= powerset.cost(ORDERS, sigma, allowed=8))


@pytest.mark.parametrize(
    ("counts", "allowed", "sigma", "weight"),
    [
        ([1.0], 1 << 20, 2.0, 1.0),
        ([12.0, 3.0, 3.0, 1.0], 1 << 20, 2.0, 1.0),
        ([20.0, 1.0, 1.0], 1 << 20, 7.0, 1.0),
        ([20.0, 1.0, 1.0], powerset.allowed_subsets(20, 3), 4.0, 1.0),
        ([7.5, 2.5, 0.5], 1 << 12, 1.5, 2.5),
        ([30.0, 6.0], 1 << 40, 5.0, 1.0),
        ([5.0, 2.0, 1.0], 1 << 10, 0.15, 1.0),
    ],
)
def test_cost_of_many_sets_against_every_neighbour(
    counts: list[float], allowed: int, sigma: float, weight: float
) -> None:
    """Moves between observed sets, to an unobserved one, and of a set's only vote."""
    found = powerset.data_dependent(counts, allowed, ORDERS, sigma, weight)[0]
    expected = true_cost(counts, allowed, sigma, weight)
    assert np.all(found >= expected * (1.0 - 1e-8) - 1e-11)
    assert np.all(found <= expected * (1.0 + 1e-8) + 1e-10)
    assert np.any(expected > 0.95 * found)


def test_true_costs_stay_below_the_data_independent_one() -> None:
    worst = np.zeros(ORDERS.size)
    for sigma in (1.0, 4.0):
        claimed = powerset.cost(ORDERS, sigma)
        assert np.all(claimed <= published.gnmax(ORDERS, sigma))
        for counts in itertools.combinations_with_replacement(range(7), 3):
            if sum(counts):
                found = powerset.data_dependent([counts], 1 << 10, ORDERS, sigma)[0]
                assert np.all(found <= claimed)
                worst = np.maximum(worst, found / claimed)
    assert np.all(worst > 0.0)


def test_noise_on_observed_sets_alone_has_infinite_cost() -> None:
    """With votes (6, 1) the second set can win; one vote moved, it is not even a candidate."""
    log_p = powerset.law([6.0, 1.0], 2, 3.0)[0, :2]
    log_q = np.array([0.0, -np.inf])
    assert np.all(np.isinf(exact.cost_of_laws(log_p, log_q, ORDERS)))
    with_noise_on_all = powerset.data_dependent([6.0, 1.0], 1 << 20, ORDERS, 3.0)
    assert np.all(with_noise_on_all <= published.gnmax(ORDERS, 3.0))


def test_duplicates_order_of_orders_and_totals_change_nothing() -> None:
    rng = np.random.default_rng(3)
    counts = rng.integers(0, 5, size=(300, 4)).astype(float)
    counts[:, 0] += 1.0
    orders = np.array([8.0, 2.0, 8.0])
    each = powerset.data_dependent(counts, 1 << 20, orders, 2.0)
    mirrored = powerset.data_dependent(counts[:, ::-1], 1 << 20, orders, 2.0)
    assert np.allclose(each, mirrored, rtol=1e-12)
    assert np.array_equal(each[:, 0], each[:, 2])
    one = powerset.data_dependent(counts[7], 1 << 20, orders, 2.0)[0]
    assert np.allclose(each[7], one, rtol=1e-9)
    total = powerset.data_dependent(counts, 1 << 20, orders, 2.0, total=True)
    assert np.allclose(total, each.sum(axis=0), rtol=1e-12)
    assert powerset.data_dependent(counts, 8, orders, 2.0, total=True).shape == (3,)


# --- sets and noises ---


def test_number_of_allowed_sets() -> None:
    assert powerset.allowed_subsets(20) == 1 << 20
    assert [powerset.allowed_subsets(5, tau) for tau in (0, 1, 2, 4, 5, 9)] == [
        1,
        6,
        16,
        31,
        32,
        32,
    ]
    assert powerset.allowed_subsets(60) == 1 << 60


@pytest.mark.parametrize("number", [1, 2, 1000, (1 << 20) - 7, 1 << 60, 1 << 300])
def test_quantiles_of_the_unobserved_maximum(number: int) -> None:
    u = np.array([1e-300, 1e-12, 0.01, 0.5, 0.99, 1.0 - 1e-12])
    found = powerset.unobserved_maximum_quantile(u, number, 3.0)
    assert found.shape == u.shape
    assert np.all(np.diff(found) > 0.0)
    with mpmath.workdps(400):
        for probability, quantile in zip(u, found, strict=True):
            x = mpmath.mpf(float(quantile)) / 3
            target = mpmath.log(mpmath.mpf(float(probability)))
            # A relative error e of the quantile changes log Φ(x)^M by about e x² of itself.
            assert abs(float(number * log_cdf(x) / target) - 1.0) < 1e-13 * (10.0 + float(x) ** 2)


def test_draws_by_quantile_have_the_law_of_a_maximum() -> None:
    rng = np.random.default_rng(5)
    drawn = powerset.unobserved_maximum_quantile(rng.random(4000), 50, 2.0)
    largest = (2.0 * rng.standard_normal((4000, 50))).max(axis=1)
    assert np.allclose(
        np.quantile(drawn, [0.1, 0.5, 0.9]), np.quantile(largest, [0.1, 0.5, 0.9]), atol=0.12
    )


# --- bad input ---


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"counts": [[-1.0, 2.0]]}, DataError),
        ({"counts": [[math.nan, 2.0]]}, DataError),
        ({"counts": []}, DataError),
        ({"counts": [[0.0, 0.0]]}, DataError),
        ({"counts": [[0.5, 0.2]]}, DataError),
        ({"counts": [[1.0] * 20], "allowed": 8}, DataError),
        ({"allowed": 0}, ParameterError),
        ({"allowed": 2.5}, ParameterError),
        ({"allowed": True}, ParameterError),
        ({"allowed": 1 << 600}, ParameterError),
        ({"sigma": 0.0}, ParameterError),
        ({"sigma": 1e-9}, ParameterError),
        ({"orders": [0.9]}, ParameterError),
        ({"sensitivity": -1.0}, ParameterError),
    ],
)
def test_bad_input_is_refused(change: dict[str, object], error: type[Exception]) -> None:
    good: dict[str, object] = {
        "counts": [[4.0, 2.0]],
        "allowed": 1 << 20,
        "orders": [2.0],
        "sigma": 2.0,
    }
    with pytest.raises(error):
        powerset.data_dependent(**{**good, **change})  # type: ignore[arg-type]


def test_bad_numbers_of_labels_and_probabilities_are_refused() -> None:
    for labels, tau in ((0, None), (2.5, None), (501, None), (5, -1), (5, 1.5)):
        with pytest.raises(ParameterError):
            powerset.allowed_subsets(labels, tau)  # type: ignore[arg-type]
    for u in (0.0, 1.0, -0.1, math.nan):
        with pytest.raises(ParameterError):
            powerset.unobserved_maximum_quantile(u, 10, 1.0)
    with pytest.raises(ParameterError):
        powerset.unobserved_maximum_quantile(0.5, 0, 1.0)


def test_vote_of_no_weight_costs_nothing() -> None:
    for allowed in (8, 1 << 20):
        found = powerset.data_dependent([[3.0, 1.0]], allowed, ORDERS, 2.0, 0.0)
        assert np.all(found == 0.0)

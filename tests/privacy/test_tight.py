"""The one-bit and three-cell suprema against maximisations that share no code with them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import mpmath as mp
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import differential_evolution, minimize_scalar
from scipy.stats import norm

from ballotine.errors import ParameterError
from ballotine.privacy import published, tight
from ballotine.privacy.orders import DEFAULT_ORDERS
from ballotine.privacy.tight.arcs import Cut, Intervals, Scale, _bend, _log_depth

Array = npt.NDArray[np.float64]

# The promise: an upper bound that exceeds the supremum by at most this.
AGREEMENT = 1e-6


def mass(low: mp.mpf, high: mp.mpf) -> mp.mpf:
    """Mass of a standard Gaussian between two points, from the side that keeps the digits."""
    if low > 0:
        return (mp.erfc(low / mp.sqrt(2)) - mp.erfc(high / mp.sqrt(2))) / 2
    return (mp.erfc(-high / mp.sqrt(2)) - mp.erfc(-low / mp.sqrt(2))) / 2


def quantised(order: mp.mpf, shift: mp.mpf, cuts: Sequence[mp.mpf]) -> mp.mpf:
    """D_α of N(0, 1) against N(−s, 1) after these cuts, by definition."""
    edges = [-mp.inf, *sorted(cuts), mp.inf]
    total = mp.mpf(0)
    for low, high in itertools.pairwise(edges):
        p, q = mass(low, high), mass(low + shift, high + shift)
        if p > 0:
            total += p * (p / q) ** (order - 1)
    return mp.log(total) / (order - 1)


def climb(value: Callable[[list[mp.mpf]], mp.mpf], start: Sequence[float]) -> mp.mpf:
    """Pattern search: try steps along every coordinate and the diagonal, halve when stuck."""
    at = [mp.mpf(x) for x in start]
    best, step = value(at), mp.mpf(1) / 2
    moves = [[1] * len(at)] + [[int(i == j) for j in range(len(at))] for i in range(len(at))]
    while step > 2e-5:
        for move in moves:
            for sign in (step, -step):
                there = [x + sign * m for x, m in zip(at, move, strict=False)]
                height = value(there)
                while height > best:
                    at, best = there, height
                    there = [x + sign * m for x, m in zip(at, move, strict=False)]
                    height = value(there)
        step /= 3
    return best


def supremum(order: float, shift: float, cuts: int) -> float:
    """The worst cuts at 30 digits, from several starts."""
    mp.mp.dps = 30
    alpha, s = mp.mpf(order), mp.mpf(shift)
    tilt = (order - 1.0) * shift
    starts = [[0.0], [tilt]] if cuts == 1 else [[-0.6, 0.6], [tilt - 1.0, tilt]]
    return float(max(climb(lambda at: quantised(alpha, s, at), start) for start in starts))


@pytest.mark.parametrize(
    ("ratio", "order"),
    [(1e-4, 1.01), (1e-4, 2.0), (1e-4, 1024.0), (0.01, 20.0), (0.3, 1.05), (1.0, 4.0), (5.0, 1.2)],
)
def test_agrees_with_a_climb_at_thirty_digits(ratio: float, order: float) -> None:
    one_bit = supremum(order, ratio, 1)
    assert one_bit <= tight.threshold([order], 1.0 / ratio)[0] <= one_bit * (1.0 + AGREEMENT)
    three_cell = supremum(order, math.sqrt(2.0) * ratio, 2)
    assert three_cell <= tight.gnmax([order], 1.0 / ratio)[0] <= three_cell * (1.0 + AGREEMENT)


def log_moment(order: float, shift: float, cuts: Array) -> float:
    """Log-moment in floating point through scipy's logcdf and logsf; for larger divergences."""
    below, above = norm.logcdf, norm.logsf
    terms = []
    edges = np.concatenate([[-np.inf], np.sort(cuts), [np.inf]])
    for low, high in itertools.pairwise(edges):
        logs = []
        for mean in (0.0, -shift):
            if low > mean:
                a, b = above(low, mean), above(high, mean)
            else:
                a, b = below(high, mean), below(low, mean)
            logs.append(a + np.log1p(-np.exp(b - a)) if b < a else -np.inf)
        if np.isfinite(logs).all():
            terms.append(logs[0] + (order - 1.0) * (logs[0] - logs[1]))
    return float(np.logaddexp.reduce(terms))


@pytest.mark.parametrize(
    ("ratio", "order"), [(0.05, 32.0), (0.2, 64.0), (2.0, 3.0), (20.0, 1.5), (0.05, 1024.0)]
)
def test_agrees_with_differential_evolution(ratio: float, order: float) -> None:
    for cuts, bound in ((1, tight.threshold), (2, tight.gnmax)):
        shift = ratio * math.sqrt(cuts)
        tilt = (order - 1.0) * shift
        found = differential_evolution(
            lambda at, shift=shift: -log_moment(order, shift, at),
            bounds=[(-shift - 4.0, tilt + 4.0)] * cuts,
            seed=1,
            tol=1e-10,
            atol=1e-12,
            popsize=12,
        )
        expected = -found.fun / (order - 1.0)
        value = bound([order], 1.0 / ratio)[0]
        assert expected <= value <= expected * (1.0 + AGREEMENT)


@pytest.mark.parametrize("ratio", [1e-4, 0.02, 0.5, 3.0, 20.0])
def test_no_cut_on_a_dense_grid_exceeds_the_bound(ratio: float) -> None:
    orders = np.array([1.01, 1.3, 2.0, 8.0, 64.0, 1024.0])
    one_bit = tight.threshold(orders, 1.0 / ratio)
    three_cell = tight.gnmax(orders, 1.0 / ratio)
    mp.mp.dps = 30
    for cuts, bounds in ((1, one_bit), (2, three_cell)):
        shift = ratio * math.sqrt(cuts)
        for order, bound in zip(orders, bounds, strict=True):
            tilt = (order - 1.0) * shift
            places = np.unique(np.linspace(-shift - 3.0, tilt + 3.0, 17).round(3))
            corners = [[x] for x in places]
            if cuts == 2:
                corners = [[x, y] for x in places[::2] for y in places[1::2] if x < y]
            for corner in corners:
                cut = [mp.mpf(float(x)) for x in corner]
                assert quantised(mp.mpf(float(order)), mp.mpf(shift), cut) <= bound


@settings(max_examples=60, deadline=None)
@given(shift=st.floats(1e-4, 25.0), start=st.floats(-12.0, 60.0), log_width=st.floats(-8.0, 0.5))
def test_the_triangle_holds_the_arc(shift: float, start: float, log_width: float) -> None:
    # Its third corner must lie below both end tangents of x → (Φ(x + s), Φ(x)), and not far.
    mp.mp.dps = 60
    width = math.exp(log_width)
    x0, s = mp.mpf(start), mp.mpf(shift)
    x1 = mp.mpf(start + width)
    middle = (x0 + x1) / 2
    drop = mp.exp(mp.mpf(float(_log_depth(shift, np.array([start]), np.array([start + width]))[0])))
    needed = mp.mpf(0)
    for end in (x0, x1):
        slope = mp.exp(s * end + s**2 / 2)
        low, high = min(end, middle), max(end, middle)
        away_p, away_q = mass(low, high), mass(low + s, high + s)
        below = away_p - slope * away_q if end == x0 else slope * away_q - away_p
        needed = max(needed, below)
    assert needed <= drop * (1 + mp.mpf(10) ** -9)
    steepness = max(abs(start), abs(start + width)) + shift
    assert drop <= 4 * needed * mp.exp(width * steepness)


@pytest.mark.parametrize("x", [-30.0, -3.0, 0.0, 1.0, 9.0, 60.0, 99.9, 100.1, 3e3, 3e4, 1e7])
def test_the_hazards_slope_keeps_its_digits(x: float) -> None:
    mp.mp.dps = 60
    if x > 1e3:
        truth = 1 - mp.mpf(x) ** -2 + 6 * mp.mpf(x) ** -4
    else:
        hazard = mp.sqrt(2 / mp.pi) * mp.exp(-(mp.mpf(x) ** 2) / 2) / mp.erfc(x / mp.sqrt(2))
        truth = hazard * (hazard - x)
    assert _bend(np.array([x]))[0] == pytest.approx(float(truth), abs=2e-12)


@settings(max_examples=60, deadline=None)
@given(
    order=st.floats(1.01, 1024.0),
    shift=st.floats(1e-4, 20.0),
    index=st.integers(0, 31),
    level=st.integers(0, 9),
    inner=st.floats(0.0, 1.0),
)
@np.errstate(all="ignore")
def test_bounds_over_an_interval_hold_inside_it(
    order: float, shift: float, index: int, level: int, inner: float
) -> None:
    scale = Scale.of(np.array([order]), shift)
    row, at = np.array([0]), np.array([index * 2**level])
    cells = Intervals.of(scale, row, at, level)
    x = scale.low + scale.width[0] * 0.5**level * (at + inner)
    cut = Cut.of(scale, row, x, np.array([-np.inf]))
    exact = 1.0 + 1e-9
    corner = np.nan_to_num(cells.corner.left + cells.corner.right, nan=1e300, posinf=1e300)
    ends = np.maximum(cells.start.left + cells.start.right, cells.end.left + cells.end.right)
    assert np.all(cut.left + cut.right <= np.maximum(corner, ends) * exact)
    resolved = cells.start.left + cells.inside + cells.end.right
    assert np.all(cut.left + cut.right <= resolved * exact + 1e-300)
    if not scale.small[0]:
        assert np.all(cut.left <= cells.end.left * exact)
        assert np.all(cut.right <= cells.right * exact)


def test_known_values() -> None:
    orders = np.array([8.0, 32.0])
    shares = tight.gnmax(orders, 20.0) / published.gnmax(orders, 20.0)
    assert shares == pytest.approx([0.811, 0.839], abs=6e-4)


def test_small_shifts_keep_the_classical_shares_of_information() -> None:
    # What a sign, and the best three levels, keep of a Gaussian's Fisher information.
    levels = minimize_scalar(lambda c: -2.0 * norm.pdf(c) ** 2 / norm.sf(c), bounds=(0.1, 2.0))
    orders = np.array([1.01, 2.0, 10.0])
    for sigma in (1e4, 1e5):
        one_bit = tight.threshold(orders, sigma) / published.threshold(orders, sigma)
        assert one_bit == pytest.approx(2.0 / math.pi, rel=2e-6)
        three_cell = tight.gnmax(orders, sigma) / published.gnmax(orders, sigma)
        assert three_cell == pytest.approx(-levels.fun, rel=2e-6)


def test_large_shifts_approach_the_whole_gaussian() -> None:
    orders = np.array([16.0, 256.0])
    share = tight.threshold(orders, 0.5) / published.threshold(orders, 0.5)
    assert np.all(share < 1.0)
    assert np.all(share > 0.99)
    assert np.all(np.diff(share) > 0.0)


@settings(max_examples=25, deadline=None)
@given(log_ratio=st.floats(-9.2, 3.0))
def test_curves_rise_with_the_order_and_stay_below_the_published_ones(log_ratio: float) -> None:
    sigma = math.exp(-log_ratio)
    orders = DEFAULT_ORDERS[::6]
    one_bit, three_cell = tight.threshold(orders, sigma), tight.gnmax(orders, sigma)
    assert np.all(np.diff(one_bit) >= 0.0)
    assert np.all(np.diff(three_cell) >= 0.0)
    assert np.all(one_bit <= published.threshold(orders, sigma))
    assert np.all(three_cell <= published.gnmax(orders, sigma))
    # Three cells reveal at least as much as two, and the sign keeps 2/π of the information.
    two_class = tight.gnmax(orders, sigma, classes=2)
    assert np.all(two_class <= three_cell * (1.0 + AGREEMENT))
    assert np.all(two_class >= 0.6366 * published.gnmax(orders, sigma))


def test_orders_next_to_each_other_do_not_fall() -> None:
    orders = 2.0 + np.arange(200) * 1e-8
    for sigma in (0.8, 3.0, 40.0):
        assert np.all(np.diff(tight.threshold(orders, sigma)) >= 0.0)
        assert np.all(np.diff(tight.gnmax(orders, sigma)) >= 0.0)


@settings(max_examples=15, deadline=None)
@given(sigma=st.floats(0.1, 1e4), factor=st.floats(1.001, 3.0), weight=st.floats(0.3, 20.0))
def test_curves_fall_with_noise_and_depend_on_the_ratio_alone(
    sigma: float, factor: float, weight: float
) -> None:
    orders = np.array([1.05, 2.0, 9.0, 70.0, 500.0])
    for cost in (tight.threshold, tight.gnmax):
        assert np.all(cost(orders, sigma * factor) < cost(orders, sigma))
        assert np.all(cost(orders, sigma, factor) > cost(orders, sigma))
        scaled = cost(orders, sigma * weight, weight)
        np.testing.assert_allclose(scaled, cost(orders, sigma), rtol=AGREEMENT)


def test_two_classes_are_one_bit_and_one_class_is_free() -> None:
    orders = np.array([1.5, 8.0, 40.0])
    two = tight.gnmax(orders, 7.0, 1.5, classes=2)
    np.testing.assert_allclose(two, tight.threshold(orders, 7.0, 1.5 * math.sqrt(2.0)), rtol=1e-12)
    assert np.all(two < tight.gnmax(orders, 7.0, 1.5))
    np.testing.assert_array_equal(
        tight.gnmax(orders, 7.0, classes=3), tight.gnmax(orders, 7.0, classes=None)
    )
    assert not tight.gnmax(orders, 7.0, classes=1).any()


def test_zero_sensitivity_is_free_and_a_tiny_one_is_not() -> None:
    for cost in (tight.threshold, tight.gnmax):
        assert not cost([2.0, 9.0], 3.0, 0.0).any()
        assert np.all(cost([2.0, 9.0], 1e200, 1e-100) > 0.0)
        assert np.all(np.isfinite(cost([2.0, 9.0], 1e-3, 20.0)))


def test_orders_may_repeat_and_come_in_any_sequence() -> None:
    grid = np.array([9.0, 2.0, 9.0, 1.1])
    values = tight.gnmax(grid, 5.0)
    assert values[0] == values[2]
    np.testing.assert_array_equal(np.argsort(values[[3, 1, 0]]), [0, 1, 2])


def test_callers_cannot_change_what_is_remembered() -> None:
    first = tight.gnmax([2.0, 3.0], 5.0)
    kept = first.copy()
    first[:] = 0.0
    np.testing.assert_array_equal(tight.gnmax([2.0, 3.0], 5.0), kept)


def test_more_orders_than_one_batch() -> None:
    orders = np.linspace(1.5, 60.0, 600)
    many = tight.threshold(orders, 5.0)
    np.testing.assert_allclose(many[::97], tight.threshold(orders[::97], 5.0), rtol=AGREEMENT)


@pytest.mark.parametrize("cost", [tight.threshold, tight.gnmax])
def test_bad_parameters_are_refused(cost: Callable[..., Array]) -> None:
    for sigma in (0.0, -1.0, math.nan, math.inf, "x"):
        with pytest.raises(ParameterError, match="sigma"):
            cost([2.0], sigma)
    for sensitivity in (-1.0, math.nan, math.inf):
        with pytest.raises(ParameterError, match="sensitivity"):
            cost([2.0], 1.0, sensitivity)
    with pytest.raises(ParameterError, match="orders"):
        cost([1.0, 2.0], 1.0)


def test_a_number_of_classes_below_one_is_refused() -> None:
    with pytest.raises(ParameterError, match="classes"):
        tight.gnmax([2.0], 1.0, classes=0)

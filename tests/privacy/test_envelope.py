"""Envelopes against true costs of every tally, and against plain quadrature."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp
from scipy.integrate import quad
from scipy.stats import norm

from ballotine.errors import ParameterError
from ballotine.privacy import envelope, exact, tight
from ballotine.privacy.envelope.moves import MoveTables, Size
from ballotine.privacy.envelope.tables import SPREAD, Bend, Weights, excess, grid

Array = npt.NDArray[np.float64]
ORDERS = (1.5, 2.0, 8.0, 32.0)


def partitions(votes: int, classes: int, largest: int) -> Iterator[tuple[int, ...]]:
    """All tallies up to renaming classes, largest count first."""
    if classes == 1:
        if votes <= largest:
            yield (votes,)
        return
    for first in range(min(votes, largest), -1, -1):
        for rest in partitions(votes - first, classes - 1, first):
            yield (first, *rest)


def tallies(votes: int, classes: int) -> Array:
    return np.array(list(partitions(votes, classes, votes)), dtype=float)


def plain_law(tally: Array, sigma: float) -> Array:
    """The law of the winner, by a fine trapezoid sum written for this file."""
    x = np.linspace(tally.min() - 12 * sigma, tally.max() + 12 * sigma, 6001)
    cdf = norm.cdf((x[None] - tally[:, None]) / sigma)
    pdf = norm.pdf((x[None] - tally[:, None]) / sigma) / sigma
    others = [np.prod(np.delete(cdf, c, axis=0), axis=0) for c in range(len(tally))]
    law = np.array([(pdf[c] * others[c]).sum() for c in range(len(tally))]) * (x[1] - x[0])
    return np.asarray(law)


def plain_cost(
    tally: Array, order: float, sigma: float, check: tuple[float, float] | None = None
) -> float:
    """The largest divergence over all neighbours, both directions."""

    def whole(votes: Array) -> Array:
        law = plain_law(votes, sigma)
        if check is None:
            return law
        passed = norm.cdf((votes.max() - check[0]) / check[1])
        return np.append(passed * law, 1.0 - passed)

    worst = 0.0
    here = whole(tally)
    for giver, taker in itertools.permutations(range(len(tally)), 2):
        if tally[giver] >= 1:
            moved = tally.copy()
            moved[giver] -= 1
            moved[taker] += 1
            there = whole(moved)
            for p, q in ((here, there), (there, here)):
                worst = max(worst, np.log((p**order * q ** (1 - order)).sum()) / (order - 1))
    return float(worst)


@pytest.mark.parametrize("sigma", [1.0, 2.5, 8.0])
@pytest.mark.parametrize("order", ORDERS)
def test_no_small_tally_costs_more(order: float, sigma: float) -> None:
    for teachers, classes in itertools.product((3, 12), (2, 3, 4)):
        counts = tallies(teachers, classes)
        top, second = counts[:, 0].astype(int), counts[:, 1].astype(int)
        true = exact.gnmax(counts, [order], sigma)[:, 0]
        pairs = envelope.gnmax(teachers, classes, order, sigma, runner_up=True)
        assert np.all(true <= pairs[top, second])
        bar, noise = 0.7 * teachers, 1.3 * sigma
        true = exact.confident_gnmax(counts, [order], sigma, bar, noise)[:, 0]
        pairs = envelope.confident_gnmax(
            teachers, classes, order, sigma, bar, noise, runner_up=True
        )
        assert np.all(true <= pairs[top, second])


@pytest.mark.parametrize(("order", "sigma"), [(2.0, 1.5), (8.0, 4.0)])
def test_no_small_tally_costs_more_by_plain_quadrature(order: float, sigma: float) -> None:
    for teachers, classes in ((5, 3), (6, 4)):
        g = envelope.gnmax(teachers, classes, order, sigma)
        whole = envelope.confident_gnmax(teachers, classes, order, sigma, 4.0, 3.0)
        for tally in tallies(teachers, classes):
            top = int(tally.max())
            assert plain_cost(tally, order, sigma) <= g[top]
            assert plain_cost(tally, order, sigma, (4.0, 3.0)) <= whole[top]


@pytest.mark.parametrize(("teachers", "classes"), [(7, 3), (8, 4)])
def test_every_move_has_a_bound_with_its_own_tops(teachers: int, classes: int) -> None:
    order, sigma = 6.0, 3.0
    ceiling = np.expm1((order - 1.0) * tight.gnmax([order], sigma)[0])
    size = Size.of(teachers, classes)
    tables = MoveTables.of(size, Bend(order, np.sqrt(2.0) / sigma), ceiling)
    for tally in tallies(teachers, classes):
        top = int(tally[0])
        column = size.runners(top).tolist().index(int(tally[1]))
        bounds: dict[tuple[int, int], float] = {}
        for moves in tables.moves(top):
            excess_of = np.broadcast_to(moves.excess, moves.possible.shape)
            for row in np.flatnonzero(moves.possible[:, column]):
                before, after = (
                    int(np.ravel(tops)[min(row, np.size(tops) - 1)])
                    for tops in (moves.before, moves.after)
                )
                key = (before, after)
                bounds[key] = max(bounds.get(key, 0.0), float(excess_of[row, column]))
        here = plain_law(tally, sigma)
        for giver, taker in itertools.permutations(range(classes), 2):
            if tally[giver] >= 1:
                moved = tally.copy()
                moved[giver] -= 1
                moved[taker] += 1
                there, after = plain_law(moved, sigma), int(moved.max())
                forth = (here**order * there ** (1.0 - order)).sum() - 1.0
                back = (there**order * here ** (1.0 - order)).sum() - 1.0
                assert forth <= bounds[top, after] + 1e-10
                assert back <= bounds[after, top] + 1e-10


def test_large_tallies_stay_below_and_the_envelope_is_tight() -> None:
    rng = np.random.default_rng(5)
    shares = np.vstack([rng.dirichlet(np.full(10, c), 60) for c in (0.1, 0.3, 1.0, 5.0)])
    counts = np.vstack([rng.multinomial(250, p) for p in shares]).astype(float)
    top = np.arange(125, 251)
    lone = np.zeros((top.size, 10))
    lone[:, 0], lone[:, 1] = top, 250 - top
    counts = np.vstack((counts, lone))
    ranked = (-np.sort(-counts, axis=1)).astype(int)
    g = envelope.confident_gnmax(250, 10, 13.0, 40.0, 200.0, 150.0, runner_up=True)
    ratio = exact.confident_gnmax(counts, [13.0], 40.0, 200.0, 150.0)[:, 0]
    ratio /= g[ranked[:, 0], ranked[:, 1]]
    assert ratio.max() <= 1.0
    # With a single runner-up it is nearly attained.
    assert ratio[-top.size :].min() > 0.97


def test_two_classes_are_exact() -> None:
    counts = np.stack((np.arange(15, 31), 30 - np.arange(15, 31)), axis=1).astype(float)
    g = envelope.gnmax(30, 2, 6.0, 7.0)
    np.testing.assert_allclose(g[15:], exact.gnmax(counts, [6.0], 7.0)[:, 0], rtol=1e-5)
    whole = envelope.confident_gnmax(30, 2, 6.0, 7.0, 20.0, 9.0)
    true = exact.confident_gnmax(counts, [6.0], 7.0, 20.0, 9.0)[:, 0]
    np.testing.assert_allclose(whole[15:], true, rtol=1e-5)


def test_top_alone_is_the_worst_runner_up() -> None:
    g = envelope.gnmax(20, 4, 4.0, 5.0)
    pairs = envelope.gnmax(20, 4, 4.0, 5.0, runner_up=True)
    np.testing.assert_array_equal(g[5:], np.nanmax(pairs[5:], axis=1))
    np.testing.assert_array_equal(g[:5], g[5])
    assert np.isnan(pairs[20, 1:]).all()
    assert pairs[20, 0] > 0.0


def test_never_above_the_data_independent_cost() -> None:
    for order, sigma in ((1.5, 0.3), (64.0, 0.2), (8.0, 1e5), (3.0, 3.0)):
        ceiling = tight.gnmax([order], sigma)[0]
        g = envelope.gnmax(12, 3, order, sigma)
        assert np.all(g > 0.0)
        assert np.all(g <= ceiling)


def test_weights_scale_the_noise() -> None:
    np.testing.assert_array_equal(
        envelope.gnmax(9, 3, 3.0, 6.0, sensitivity=2.0), envelope.gnmax(9, 3, 3.0, 3.0)
    )
    np.testing.assert_array_equal(envelope.gnmax(9, 3, 3.0, 6.0, sensitivity=0.0), np.zeros(10))


def test_check_is_the_exact_one() -> None:
    tops = np.arange(41)
    np.testing.assert_array_equal(
        envelope.check(40, 5.0, 30.0, 12.0), exact.threshold(tops, 30.0, [5.0], 12.0)[:, 0]
    )


@pytest.mark.parametrize(("order", "drift"), [(1.5, 0.3), (8.0, 0.04), (32.0, 0.3), (20.0, 0.8)])
def test_chords_lie_above_the_excess(order: float, drift: float) -> None:
    bend = Bend(order, drift)
    gaps = np.arange(-20, 21) * drift / 2.0
    nodes = grid(bend, 1.0, 20.0 * drift)
    ceiling = np.expm1((order - 1.0) * tight.gnmax([order], np.sqrt(2.0) / drift)[0])
    plain, table = excess(bend, gaps, nodes, ceiling)
    rng = np.random.default_rng(1)
    for row in range(0, gaps.size, 5):
        for cut in rng.uniform(0.0, 5.0, 40):
            true = three_cells(order, drift, gaps[row], cut)
            chord = np.interp(cut, nodes, table[row])
            assert true <= chord * (1.0 + 1e-9) + 1e-11 * ceiling
            if true > 1e-3 * ceiling:
                assert np.log1p(chord) <= np.log1p(true) * (1.0 + 2e-3)
        zero = three_cells(order, drift, gaps[row], 0.0)
        assert plain[row] == pytest.approx(zero, rel=1e-6, abs=1e-11 * ceiling)


def three_cells(order: float, drift: float, gap: float, cut: float) -> float:
    """The excess of the cells cut at ±cut, at 60 digits."""
    with mp.workdps(60):
        cells = []
        for mean in (mp.mpf(gap), mp.mpf(gap) + mp.mpf(drift)):
            left, right = mp.ncdf(-mp.mpf(cut) - mean), mp.ncdf(mean - mp.mpf(cut))
            cells.append((left, right, 1 - left - right))
        pairs = [(p, q) for p, q in zip(*cells, strict=True) if q > 0]
        return float(mp.fsum(p ** mp.mpf(order) * q ** (1 - mp.mpf(order)) for p, q in pairs) - 1)


def test_weights_are_expectations_of_hats() -> None:
    nodes = np.linspace(0.0, 8.0, 41)
    means = np.array([-6.0, 0.3, 4.0, 30.0])
    weights = Weights.of(nodes, means)
    np.testing.assert_allclose(weights.all.sum(axis=0), 1.0, rtol=1e-12)
    np.testing.assert_allclose(
        weights.positive.sum(axis=0), norm.sf(0.0, means, SPREAD), rtol=1e-10
    )
    for node, column in itertools.product((1, 7, 20, 33), range(3)):
        hat, _ = quad(
            lambda x, node=node, column=column: (
                max(0.0, 1.0 - abs(x - nodes[node]) / 0.2) * norm.pdf(x, means[column], SPREAD)
            ),
            nodes[node] - 0.2,
            nodes[node] + 0.2,
            points=[nodes[node]],
        )
        assert weights.positive[node, column] == pytest.approx(hat, rel=1e-7, abs=1e-14)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(1e-6, 10.0), min_size=2, max_size=12),
    st.floats(0.01, 2.0),
    st.floats(0.0, 5.0),
)
def test_shape_is_the_smallest_slow_majorant(g: list[float], rate: float, offset: float) -> None:
    shaped = envelope.shape(g, rate, offset)
    logs = np.log(shaped + offset)
    assert np.all(shaped >= np.array(g))
    assert np.all(np.abs(np.diff(logs)) <= rate * (1.0 + 1e-6) + 1e-9)
    far = np.abs(np.subtract.outer(np.arange(len(g)), np.arange(len(g))))
    smallest = ((np.array(g) + offset) * np.exp(-rate * far)).max(axis=1) - offset
    np.testing.assert_allclose(shaped, np.maximum(smallest, g), rtol=1e-9, atol=1e-9)


def test_shape_of_pairs_follows_both_counts() -> None:
    g = np.array([[np.nan, 1.0, 1.0], [8.0, 1.0, 1.0], [1.0, 1.0, 1.0]])
    shaped = envelope.shape(g, np.log(2.0))
    expected = np.array([[np.nan, 4.0, 2.0], [8.0, 4.0, 2.0], [4.0, 4.0, 2.0]])
    np.testing.assert_allclose(shaped, expected)


@pytest.mark.parametrize(
    "call",
    [
        lambda: envelope.gnmax(0, 3, 2.0, 1.0),
        lambda: envelope.gnmax(5, 1, 2.0, 1.0),
        lambda: envelope.gnmax(5, 3, 1.0, 1.0),
        lambda: envelope.gnmax(5, 3, [2.0, 3.0], 1.0),  # type: ignore[arg-type]
        lambda: envelope.gnmax(5, 3, 2.0, 0.0),
        lambda: envelope.gnmax(5, 3, 2.0, 1.0, sensitivity=-1.0),
        lambda: envelope.gnmax(5, 3, float("nan"), 1.0),
        lambda: envelope.confident_gnmax(5, 3, 2.0, 1.0, float("inf"), 1.0),
        lambda: envelope.confident_gnmax(5, 1, 2.0, 1.0, 3.0, 1.0),
        lambda: envelope.confident_gnmax(5, 3, 2.0, 1.0, 3.0, -1.0),
        lambda: envelope.shape([1.0, 2.0], 0.0),
        lambda: envelope.shape([1.0, 2.0], 0.1, offset=-1.0),
        lambda: envelope.shape([1.0], 0.1),
        lambda: envelope.shape([1.0, -2.0], 0.1),
        lambda: envelope.shape([[np.nan, np.nan], [np.nan, np.nan]], 0.1),
        lambda: envelope.shape(["a", "b"], 0.1),
    ],
)
def test_bad_parameters_are_refused(call: object) -> None:
    with pytest.raises(ParameterError):
        call()  # type: ignore[operator]

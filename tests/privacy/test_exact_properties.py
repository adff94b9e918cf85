"""Properties that hold for every tally, and values known from other sources."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from ballotine.privacy import exact
from ballotine.privacy.exact import moves, pricing

ORDERS = np.array([1.1, 1.5, 2.0, 3.0, 8.0, 16.0, 24.0, 32.0, 48.0, 64.0])


def plain_law(counts, sigma):
    """Simpson's rule on a fine mesh in double precision: slow, simple, good to about 1e-12."""
    counts = np.asarray(counts, dtype=float) / sigma
    x, step = np.linspace(counts.min() - 12.0, counts.max() + 12.0, 4001, retstep=True)
    cdf = norm.cdf(x[:, None] - counts)
    weights = np.tile([2.0, 4.0], 2001)[: x.size] * step / 3.0
    weights[[0, -1]] /= 2.0
    law = []
    for name in range(counts.size):
        rivals = np.prod(np.delete(cdf, name, axis=1), axis=1)
        law.append(weights @ (norm.pdf(x - counts[name]) * rivals))
    return np.array(law)


def plain_cost(p, q, orders):
    orders = np.asarray(orders)[:, None]
    logs = [orders * np.log(a) + (1 - orders) * np.log(b) for a, b in ((p, q), (q, p))]
    return np.max([np.logaddexp.reduce(log, axis=1) for log in logs], axis=0) / (orders[:, 0] - 1)


def single_moves(counts, weight):
    for loser, gainer in itertools.permutations(range(len(counts)), 2):
        if counts[loser] >= weight:
            moved = np.array(counts, dtype=float)
            moved[loser] -= weight
            moved[gainer] += weight
            yield moved


def thm6(counts, orders, sigma):
    """Scalable PATE, Theorem 6 with Proposition 7, where its conditions hold."""
    counts = np.sort(counts)[::-1]
    log_q = np.log(np.sum(norm.sf((counts[0] - counts[1:]) / (sigma * np.sqrt(2.0)))))
    mu2 = sigma * np.sqrt(-log_q)
    mu1 = mu2 + 1.0
    e1, e2 = mu1 / sigma**2, mu2 / sigma**2
    limit = (mu2 - 1) * e2 - mu2 * np.log(mu1 / (mu1 - 1) * mu2 / (mu2 - 1))
    assert mu2 > 1
    assert np.all(orders <= mu1)
    assert log_q <= limit
    assert log_q + e2 < 0
    q = np.exp(log_q)
    kept = (1 - q) * ((1 - q) / (1 - np.exp((log_q + e2) * (mu2 - 1) / mu2))) ** (orders - 1)
    lost = q * (np.exp(e1) / q ** (1 / (mu1 - 1))) ** (orders - 1)
    return np.log(kept + lost) / (orders - 1)


@pytest.mark.parametrize("sigma", [1.0, 2.5, 10.0])
@pytest.mark.parametrize("classes", [2, 3])
def test_brute_force_over_all_small_tallies(sigma, classes):
    tallies = [
        counts for counts in itertools.product(range(7), repeat=classes) if 1 <= sum(counts) <= 6
    ]
    laws = {
        counts: plain_law(counts, sigma)
        for counts in itertools.product(range(8), repeat=classes)
        if sum(counts) <= 6
    }
    costs = exact.gnmax(tallies, ORDERS, sigma)
    for counts, cost in zip(tallies, costs, strict=True):
        others = [laws[tuple(map(int, moved))] for moved in single_moves(counts, 1)]
        true = np.max([plain_cost(laws[counts], q, ORDERS) for q in others], axis=0)
        np.testing.assert_allclose(cost, true, rtol=1e-9, atol=1e-11)


def test_brute_force_over_random_tallies_with_weights():
    rng = np.random.default_rng(7)
    for _ in range(25):
        classes, weight = int(rng.integers(3, 7)), float(rng.choice([0.3, 1.0, 2.5]))
        counts = weight * rng.multinomial(int(rng.integers(3, 30)), rng.dirichlet(np.ones(classes)))
        sigma = float(rng.uniform(1.5, 12.0)) * weight
        law = plain_law(counts, sigma)
        moves = [plain_law(moved, sigma) for moved in single_moves(counts, weight * 0.999)]
        true = np.max([plain_cost(law, q, ORDERS) for q in moves], axis=0)
        # The moves above are a thousandth short, so that rounded sums of weights count as held.
        cost = exact.gnmax([counts], ORDERS, sigma, weight)[0]
        shorter = exact.gnmax([counts], ORDERS, sigma, weight * 0.999)[0]
        np.testing.assert_allclose(shorter, true, rtol=1e-8, atol=1e-10)
        assert np.all(cost > shorter)


def test_two_classes_in_closed_form():
    counts = np.array([[7.0, 3.0], [10.0, 0.0], [5.5, 4.5]])
    root = 4.0 * np.sqrt(2.0)
    logs = exact.gnmax_law(counts, 4.0)
    np.testing.assert_allclose(
        logs[:, 0], norm.logcdf((counts[:, 0] - counts[:, 1]) / root), rtol=1e-12
    )
    # One moved vote shifts the difference by two: the same bit as a check with noise √2 σ.
    bit = exact.threshold([3.0], 0.0, ORDERS, root, 2.0)
    np.testing.assert_allclose(exact.gnmax([[6.0, 3.0]], ORDERS, 4.0), bit, rtol=1e-9)


def test_published_example_three_to_thirty_six_times_below_theorem_six():
    orders = np.array([2.0, 32.0])
    for top in range(200, 241, 10):
        counts = np.array([top, (250 - top) / 2, (250 - top) / 2, *[0.0] * 7])
        ratio = thm6(counts, orders, 40.0) / exact.gnmax([counts], orders, 40.0)[0]
        assert 34.5 < ratio[0] < 38.0
        assert 3.0 < ratio[1] < 4.5


def test_theorem_six_misses_the_reverse_direction():
    one_way = thm6(np.array([50.0, 0.0]), np.array([4.0]), 7.0)
    both = exact.gnmax([[50, 0]], [4.0], 7.0)[0]
    assert both / one_way == pytest.approx(1.56, abs=0.01)


def test_split_moves_of_two_teachers():
    split = exact.gnmax([[1, 1, 4]], [32.0], 1.0, teachers=2)
    law, other = exact.gnmax_law([[1, 1, 4], [0, 0, 6]], 1.0)
    witness = exact.cost_of_laws([law], [other], [32.0])
    np.testing.assert_allclose(split, witness, rtol=1e-9)
    together = exact.gnmax([[1, 1, 4]], [32.0], 1.0, sensitivity=2.0)
    assert (split / together).item() == pytest.approx(1.86, abs=0.01)


@pytest.mark.parametrize("teachers", [2, 3])
@pytest.mark.parametrize("counts", [(2, 1, 1), (4, 2, 0), (3, 3, 3), (1, 0, 5)])
def test_split_moves_by_brute_force(teachers, counts):
    reached = {counts}
    for _ in range(teachers):
        reached |= {tuple(map(int, moved)) for start in reached for moved in single_moves(start, 1)}
    # A teacher moves once: what it takes to get there is counted by the votes that changed.
    reached = {
        moved
        for moved in reached
        if 0 < sum(abs(a - b) for a, b in zip(moved, counts, strict=True)) <= 2 * teachers
    }
    law = plain_law(counts, 3.0)
    true = np.max([plain_cost(law, plain_law(moved, 3.0), ORDERS) for moved in reached], axis=0)
    cost = exact.gnmax([counts], ORDERS, 3.0, teachers=teachers)[0]
    np.testing.assert_allclose(cost, true, rtol=1e-9, atol=1e-11)
    whole = exact.confident_gnmax([counts], ORDERS, 3.0, 2.0, 4.0, teachers=teachers)[0]
    assert np.all(whole >= exact.confident_gnmax([counts], ORDERS, 3.0, 2.0, 4.0)[0])


@pytest.mark.parametrize(("classes", "teachers"), [(2, 1), (2, 4), (3, 3), (4, 2), (5, 2)])
def test_split_moves_are_all_there_once(classes, teachers):
    expected = {
        move
        for move in itertools.product(range(-teachers, teachers + 1), repeat=classes)
        if sum(move) == 0 and 0 < sum(map(abs, move)) <= 2 * teachers
    }
    found = [tuple(map(int, move)) for move in moves.split_moves(classes, teachers)]
    assert set(found) == expected
    assert len(found) == len(expected) == moves.move_count(classes, teachers)


tallies = st.integers(2, 6).flatmap(
    lambda classes: st.lists(st.integers(0, 60), min_size=classes, max_size=classes).filter(
        lambda counts: max(counts) >= 1
    )
)
sigmas = st.floats(0.5, 100.0)


@settings(max_examples=40, deadline=None)
@given(tallies, sigmas)
def test_laws_are_laws(counts, sigma):
    law = np.exp(exact.gnmax_law([counts], sigma)[0])
    assert law.sum() == pytest.approx(1.0, abs=1e-12)
    ranks = np.argsort(counts)
    assert np.all(np.diff(law[ranks]) >= 0.0)


@settings(max_examples=40, deadline=None)
@given(tallies, sigmas, st.floats(0.3, 20.0))
def test_costs_rise_with_the_order_and_stay_below_the_published_bound(counts, sigma, weight):
    counts = np.array(counts) * weight
    cost = exact.gnmax([counts], ORDERS, sigma, weight)[0]
    assert np.all(np.isfinite(cost))
    assert np.all(cost > 0.0)
    assert np.all(np.diff(cost) >= 0.0)
    assert np.all(cost <= ORDERS * (weight / sigma) ** 2 * (1 + 1e-9) + 1e-11)


@settings(max_examples=30, deadline=None)
@given(tallies, sigmas, st.randoms(use_true_random=False))
def test_costs_do_not_depend_on_the_names_of_classes(counts, sigma, random):
    renamed = random.sample(counts, len(counts))
    check = (20.0, 10.0)
    np.testing.assert_array_equal(
        exact.gnmax([counts], ORDERS, sigma), exact.gnmax([renamed], ORDERS, sigma)
    )
    np.testing.assert_array_equal(
        exact.confident_gnmax([counts], ORDERS, sigma, *check),
        exact.confident_gnmax([renamed], ORDERS, sigma, *check),
    )


@settings(max_examples=30, deadline=None)
@given(tallies, sigmas, st.floats(-10.0, 80.0), st.floats(0.5, 100.0))
def test_the_whole_mechanism_costs_no_more_than_its_parts(counts, sigma, bar, noise):
    whole = exact.confident_gnmax([counts], ORDERS, sigma, bar, noise)[0]
    parts = ORDERS / sigma**2 + ORDERS / (2 * noise**2)
    assert np.all(whole <= parts * (1 + 1e-9) + 1e-11)
    second, first = sorted(counts)[-2:]
    if second >= 1 and first - second >= 2:
        # The largest count can then really rise or fall by one, so the check alone cannot cost
        # more: the answer or the abstention reveals whether the check passed.
        check = exact.threshold([max(counts)], bar, ORDERS, noise)[0]
        assert np.all(whole >= check * (1 - 1e-9) - 1e-11)


def test_a_check_that_always_passes_leaves_gnmax_and_one_that_never_does_leaves_nothing():
    counts = [[30, 12, 4], [9, 9, 9]]
    passing = exact.confident_gnmax(counts, ORDERS, 8.0, -1e4, 5.0)
    np.testing.assert_allclose(passing, exact.gnmax(counts, ORDERS, 8.0), rtol=1e-9)
    assert np.all(exact.confident_gnmax(counts, ORDERS, 8.0, 1e4, 5.0) < 1e-11)


@pytest.mark.parametrize("sigma", [0.9, 5.0, 40.0])
def test_the_fast_and_the_general_road_agree(sigma, monkeypatch):
    rng = np.random.default_rng(3)
    counts = rng.multinomial(60, rng.dirichlet(np.ones(5) * 0.5, size=12))
    orders = np.concatenate((ORDERS, [128.0, 500.0, 1024.0]))
    fast = exact.confident_gnmax(counts, orders, sigma, 40.0, 20.0)
    monkeypatch.setattr(
        pricing, "fits_one_grid", lambda tallies, *_: np.zeros(len(tallies.index), bool)
    )
    general = exact.confident_gnmax(counts, orders, sigma, 40.0, 20.0)
    np.testing.assert_allclose(fast, general, rtol=1e-10, atol=1e-11)


def test_pruning_changes_nothing():
    rng = np.random.default_rng(4)
    counts = rng.multinomial(250, rng.dirichlet(np.ones(10) * 0.3, size=60))
    orders = np.concatenate((1.0 + np.geomspace(0.01, 1.0, 12), np.arange(3.0, 120.0, 4.0)))
    together = exact.gnmax(counts, orders, 25.0)
    # Up to eight orders at a time are priced for every neighbour.
    apart = np.hstack([exact.gnmax(counts, part, 25.0) for part in np.array_split(orders, 6)])
    np.testing.assert_allclose(together, apart, rtol=1e-12)


def test_results_do_not_depend_on_company_order_or_chunks(monkeypatch):
    rng = np.random.default_rng(5)
    counts = rng.multinomial(250, rng.dirichlet(np.ones(10) * 0.2, size=80))
    each = exact.gnmax(counts, ORDERS, 40.0)
    np.testing.assert_allclose(
        exact.gnmax(counts, ORDERS, 40.0, total=True), each.sum(axis=0), rtol=1e-12
    )
    np.testing.assert_allclose(exact.gnmax(counts, ORDERS[::-1], 40.0)[:, ::-1], each, rtol=1e-12)
    alone = np.vstack([exact.gnmax(row, ORDERS, 40.0) for row in counts[:8]])
    np.testing.assert_allclose(alone, each[:8], rtol=1e-10)
    monkeypatch.setattr(pricing, "_CELLS", 2000)
    monkeypatch.setattr(pricing, "_BLOCK", 33)
    monkeypatch.setattr(pricing, "_SHARED_TABLE", 50)
    np.testing.assert_allclose(exact.gnmax(counts, ORDERS, 40.0), each, rtol=1e-10)


def test_many_classes():
    counts = np.zeros((1, 2000))
    counts[0, :4] = [90, 60, 60, 40]
    law = np.exp(exact.gnmax_law(counts, 20.0)[0])
    assert law.sum() == pytest.approx(1.0, abs=1e-11)
    cost = exact.gnmax(counts, ORDERS, 20.0)[0]
    assert np.all((cost > 0.0) & (cost < ORDERS / 400.0))
    far = exact.gnmax(counts, ORDERS, 0.1)[0]
    assert np.all(np.isfinite(far))


def test_cost_of_laws():
    p, q = np.array([0.5, 0.3, 0.2]), np.array([0.4, 0.4, 0.2])
    costs = exact.cost_of_laws(np.log([p, q]), np.log([q, q]), ORDERS)
    np.testing.assert_allclose(costs[0], plain_cost(p, q, ORDERS), rtol=1e-9)
    assert np.all(costs[1] < 1e-11)
    with np.errstate(divide="ignore"):
        one_sided = exact.cost_of_laws(np.log([1.0, 0.0]), np.log([0.5, 0.5]), ORDERS)
        same = exact.cost_of_laws(np.log([1.0, 0.0]), np.log([1.0, 0.0]), ORDERS)
    assert np.all(one_sided == np.inf)
    assert np.all(same < 1e-11)

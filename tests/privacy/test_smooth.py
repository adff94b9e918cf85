"""Sensitivities by brute force over neighbouring vote sets, and against plain evaluations."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Callable
from functools import cache

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import erfc, erfcinv

from ballotine.errors import DataError, ParameterError
from ballotine.noise import SecureNoise
from ballotine.privacy import envelope, published, smooth

Array = npt.NDArray[np.float64]
Cost = Callable[[Array], smooth.PrivateCost]

VoteSet = tuple[int, ...]
TEACHERS, CLASSES = 5, 3


def ballots(classes: int) -> list[tuple[int, ...]]:
    """A ballot on two queries: a class for each."""
    return list(itertools.product(range(classes), repeat=2))


@cache
def vote_sets(teachers: int, classes: int) -> dict[VoteSet, list[VoteSet]]:
    """How many teachers cast each ballot, for all vote sets, each with its neighbours.

    A neighbour: one teacher votes differently, on both queries at once.
    """
    kinds = len(ballots(classes))
    found = {}
    for chosen in itertools.combinations_with_replacement(range(kinds), teachers):
        votes = np.bincount(chosen, minlength=kinds)
        near = []
        for old, new in itertools.permutations(range(kinds), 2):
            if votes[old]:
                changed = votes.copy()
                changed[old] -= 1
                changed[new] += 1
                near.append(tuple(changed.tolist()))
        found[tuple(votes.tolist())] = near
    return found


def tallies(votes: VoteSet, classes: int) -> Array:
    """The counts of both queries, each sorted: the names of the classes do not matter."""
    counts = np.zeros((2, classes))
    for number, ballot in zip(votes, ballots(classes), strict=True):
        for query, choice in enumerate(ballot):
            counts[query, choice] += number
    return -np.sort(-counts, axis=1)


def unlocked(cost: smooth.PrivateCost) -> tuple[float, Array]:
    return cost.unlock(reason="test")


def of_top(teachers: int, classes: int) -> Cost:
    g = envelope.gnmax(teachers, classes, 1.5, 1.0)
    return lambda counts: smooth.enumerated(counts[:, 0], g)


def of_top_and_runner_up(teachers: int, classes: int) -> Cost:
    g = envelope.confident_gnmax(teachers, classes, 3.0, 1.0, 3.0, 2.0, runner_up=True)
    return lambda counts: smooth.enumerated(counts[:, :2], g)


def of_theorem6(teachers: int, classes: int) -> Cost:
    return lambda counts: smooth.theorem6(counts, 1.5, 0.5)


def of_theorem6_and_check(teachers: int, classes: int) -> Cost:
    g = envelope.check(teachers, 2.0, 3.0, 2.0)
    return lambda counts: smooth.theorem6(counts[:1], 2.0, 1.0) + smooth.enumerated(counts[:, 0], g)


@pytest.mark.parametrize("kind", [of_top, of_top_and_runner_up, of_theorem6, of_theorem6_and_check])
@pytest.mark.parametrize(("teachers", "classes"), [(5, 3), (5, 2), (3, 3), (1, 2)])
def test_every_pair_of_neighbouring_vote_sets(
    kind: Callable[[int, int], Cost], teachers: int, classes: int
) -> None:
    cost = kind(teachers, classes)
    known: dict[bytes, smooth.PrivateCost] = {}
    for beta in (0.05, 0.7):
        found = {}
        for votes in vote_sets(teachers, classes):
            counts = tallies(votes, classes)
            key = counts.tobytes()
            if key not in known:
                known[key] = cost(counts)
            private = known[key]
            found[votes] = (unlocked(private)[0], private.smooth(beta))
        if teachers == 5:
            totals = [total for total, _ in found.values()]
            assert max(totals) > 1.05 * min(totals)
        slack = 1.0 + 1e-12
        for votes, near in vote_sets(teachers, classes).items():
            total, scale = found[votes]
            for other in near:
                other_total, other_scale = found[other]
                assert abs(total - other_total) <= scale * slack
                assert scale <= np.exp(beta) * other_scale * slack


G = envelope.gnmax(TEACHERS, CLASSES, 1.5, 1.0)
PAIRS = envelope.confident_gnmax(TEACHERS, CLASSES, 3.0, 1.0, 3.0, 2.0, runner_up=True)


@pytest.mark.parametrize("offset", [0.0, 0.3, -0.5])
def test_the_logarithm_of_every_pair_of_vote_sets(offset: float) -> None:
    level = offset * float(np.nanmin(PAIRS))
    g = envelope.shape(PAIRS, 0.15, level)
    way = smooth.LogRelease(g=g, offset=level, order=3.0, delta=1e-5, sigma=4.0)
    assert way.rate == pytest.approx(0.15, rel=1e-6)

    def logarithm(votes: VoteSet) -> float:
        index = tuple(tallies(votes, CLASSES)[:, :2].astype(int).T)
        return float(np.log(g[index].sum() + 2.0 * level))

    sets = vote_sets(TEACHERS, CLASSES)
    logs = {votes: logarithm(votes) for votes in sets}
    for votes, near in sets.items():
        assert max(abs(logs[votes] - logs[other]) for other in near) <= way.rate


def plain_theorem6(counts: Array, order: float, sigma: float) -> tuple[float, Array]:
    """The algorithm, one query and one distance at a time, from erfc."""
    classes = counts.shape[1]
    independent = order / sigma**2

    def moved(q: float, step: float) -> float:
        most = 1.0 - 1.0 / classes
        return min(most, (classes - 1) / 2 * erfc(erfcinv(2 * q / (classes - 1)) + step / sigma))

    def cost(q: float) -> float:
        """Two-sided: the bound at the largest q that one changed vote can make."""
        q = moved(q, -1.0)
        mu2 = sigma * np.sqrt(np.log(1.0 / q))
        mu1 = mu2 + 1.0
        eps1, eps2 = mu1 / sigma**2, mu2 / sigma**2
        if mu2 <= 1.0 or order > mu1 or q * np.exp(eps2) >= 1.0:
            return independent
        if q > np.exp((mu2 - 1) * eps2) / (mu1 / (mu1 - 1) * mu2 / (mu2 - 1)) ** mu2:
            return independent
        a = (1 - q) / (1 - (q * np.exp(eps2)) ** ((mu2 - 1) / mu2))
        b = np.exp(eps1) / q ** (1 / (mu1 - 1))
        moment = (1 - q) * a ** (order - 1) + q * b ** (order - 1)
        return float(min(independent, np.log(moment) / (order - 1)))

    def error(tally: Array) -> float:
        top = int(np.argmax(tally))
        gaps = tally[top] - np.delete(tally, top)
        return float(min(1.0 - 1.0 / classes, (0.5 * erfc(gaps / (2 * sigma))).sum()))

    low, high = 1e-200, 1.0 - 1.0 / classes
    for _ in range(400):
        middle = np.sqrt(low * high)
        low, high = (middle, high) if cost(middle) < independent else (low, middle)
    q0 = high
    q1 = moved(q0, 1.0)

    def sensitivity(q: float) -> float:
        q = q1 if q1 <= q <= q0 else q
        return max(cost(moved(q, -1.0)) - cost(q), cost(q) - cost(moved(q, 1.0)))

    total, local = 0.0, np.zeros(int(counts[0].sum()) + 1)
    for row in counts:
        tally = np.sort(row)[::-1].copy()
        total += cost(error(tally))
        best = 0.0
        for distance in range(local.size):
            q = error(tally)
            best = max(best, sensitivity(q))
            local[distance] += best
            step = 1.0 if q < q1 else -1.0
            if q1 <= q <= q0 or (step < 0 and tally[1] == 0):
                continue
            tally[0] -= step
            tally[1] += step
            tally = np.sort(tally)[::-1].copy()
    return total, local


@pytest.mark.parametrize(("order", "sigma"), [(4.0, 5.0), (5.0, 8.0), (2.0, 3.0)])
def test_theorem6_agrees_with_the_plain_algorithm(order: float, sigma: float) -> None:
    rng = np.random.default_rng(3)
    shares = np.vstack([rng.dirichlet(np.full(4, c), 6) for c in (0.1, 0.5, 4.0)])
    counts = np.vstack([rng.multinomial(60, p) for p in shares]).astype(float)
    total, local = unlocked(smooth.theorem6(counts, order, sigma))
    plain_total, plain_local = plain_theorem6(counts, order, sigma)
    assert total == pytest.approx(plain_total, rel=1e-9)
    np.testing.assert_allclose(local, plain_local, rtol=1e-6, atol=1e-12)
    assert total < 0.9 * counts.shape[0] * order / sigma**2


def test_theorem6_is_above_the_sharper_two_sided_bound() -> None:
    rng = np.random.default_rng(4)
    counts = np.vstack([rng.multinomial(100, p) for p in rng.dirichlet(np.full(5, 0.3), 40)])
    total, _ = unlocked(smooth.theorem6(counts, 5.0, 10.0))
    assert total >= published.gnmax_data_dependent(counts, [5.0], 10.0).sum() * (1.0 - 1e-12)


def test_enumeration_agrees_with_a_plain_loop() -> None:
    rng = np.random.default_rng(6)
    g = rng.uniform(0.0, 1.0, 21)
    tops = rng.integers(0, 21, 30)
    _, local = unlocked(smooth.enumerated(tops, g))
    for distance in range(21):
        expected = 0.0
        for top in tops:
            near = range(max(0, top - distance), min(20, top + distance) + 1)
            expected += max(abs(g[a] - g[b]) for a in near for b in (a - 1, a + 1) if 0 <= b <= 20)
        assert local[distance] == pytest.approx(expected, rel=1e-12)


def test_theorem6_is_refused_where_its_algorithm_does_not_hold() -> None:
    with pytest.raises(ParameterError, match="does not hold"):
        smooth.theorem6([[60.0, 0.0, 0.0, 0.0]], 8.0, 8.0)


def test_unanimous_votes() -> None:
    counts = np.tile([250.0, 0.0, 0.0], (7, 1))
    cost = smooth.theorem6(counts, 6.0, 40.0)
    total, local = unlocked(cost)
    assert 0.0 < total < 7 * 6.0 / 1600.0
    assert np.all(np.diff(local) >= 0.0)
    assert local[-1] > local[0]
    way = smooth.SmoothRelease(order=6.0, delta=1e-5, sigma=10.0, beta=0.02)
    assert way.release(cost, SecureNoise()).epsilon > 0.0
    g = envelope.shape(envelope.gnmax(250, 3, 6.0, 40.0), 0.05)
    log = smooth.LogRelease(g=g, order=6.0, delta=1e-5, sigma=10.0)
    assert log.release(np.full(7, 250), SecureNoise()).epsilon > 0.0


def test_a_private_cost_is_silent() -> None:
    cost = smooth.enumerated([3, 4], G)
    total, _ = unlocked(cost)
    assert str(total)[:6] not in f"{cost} {cost!r} {cost:.3}"
    with pytest.raises(TypeError):
        pickle.dumps(cost)
    with pytest.raises(DataError):
        cost.unlock(reason=" ")


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 12), min_size=1, max_size=8), st.floats(0.001, 1.0))
def test_smooth_sensitivity_falls_with_beta(tops: list[int], beta: float) -> None:
    g = np.linspace(1.0, 0.0, 13) ** 2
    cost = smooth.enumerated(tops, g)
    _, local = unlocked(cost)
    assert local[0] <= cost.smooth(2.0 * beta) <= cost.smooth(beta) <= local[-1]


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: smooth.enumerated([6], G), DataError),
        (lambda: smooth.enumerated([-1], G), DataError),
        (lambda: smooth.enumerated([2.5], G), DataError),
        (lambda: smooth.enumerated([np.nan], G), DataError),
        (lambda: smooth.enumerated([], G), DataError),
        (lambda: smooth.enumerated(["x"], G), DataError),
        (lambda: smooth.enumerated([3, 4], PAIRS), DataError),
        (lambda: smooth.enumerated([[5, 1]], PAIRS), DataError),
        (lambda: smooth.theorem6([[3.0, 2.0], [3.0, 3.0]], 2.0, 1.0), DataError),
        (lambda: smooth.theorem6([[2.5, 2.5]], 2.0, 1.0), DataError),
        (lambda: smooth.theorem6([[5.0]], 2.0, 1.0), ParameterError),
        (lambda: smooth.theorem6([[5.0, 0.0]], 2.0, 0.0), ParameterError),
        (lambda: smooth.smooth_sensitivity([1.0], -0.1), ParameterError),
        (lambda: smooth.enumerated([1], G) + smooth.enumerated([1], [0.0, 1.0]), ParameterError),
    ],
)
def test_bad_input_is_refused(call: Callable[[], object], error: type[Exception]) -> None:
    with pytest.raises(error):
        call()

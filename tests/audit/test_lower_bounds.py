"""Lower bounds on ε: what they are made of, and that they err as seldom as they say."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp
from scipy import stats

from ballotine.audit.lower_bounds import (
    MAX_THRESHOLDS,
    TwoLaws,
    coarser,
    composed_bound,
    event_bound,
    lower_limit,
    threshold_bound,
    upper_limit,
)
from ballotine.errors import DataError, ParameterError
from ballotine.oracle.epsilon import gaussian_epsilon, response_epsilon

LIMITS = (lower_limit, upper_limit)


def tail(hits: int, trials: int, p: float, *, above: bool) -> float:
    """P(X ≥ hits) or P(X ≤ hits) for a binomial X, by adding up in mpmath."""
    mp.dps = 30
    some = range(hits, trials + 1) if above else range(hits + 1)
    chance = mp.mpf(p)
    return float(
        mp.fsum(mp.binomial(trials, j) * chance**j * (1 - chance) ** (trials - j) for j in some)
    )


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 60), st.data(), st.sampled_from([0.2, 0.01, 1e-5]))
def test_limits_are_those_of_clopper_and_pearson(
    trials: int, data: st.DataObject, error: float
) -> None:
    hits = data.draw(st.integers(0, trials))
    low, high = (float(limit(hits, trials, error)) for limit in LIMITS)
    if hits == 0:
        assert low == 0.0
    else:
        assert tail(hits, trials, low, above=True) == pytest.approx(error, rel=1e-6)
    if hits == trials:
        assert high == 1.0
    else:
        assert tail(hits, trials, high, above=False) == pytest.approx(error, rel=1e-6)


def test_an_event_without_hits_on_the_other_side_by_hand() -> None:
    """With no hit in n trials the upper limit is 1 − (error/2)^(1/n); with n of n, its mirror."""
    high = 1 - 0.005 ** (1 / 500)
    assert event_bound(500, 0, 500, 1e-3, 0.01) == pytest.approx(
        math.log((1 - high - 1e-3) / high), rel=1e-9
    )
    assert event_bound([250, 3], [250, 400], 500, 1e-3, 0.01).tolist() == [0.0, 0.0]
    assert event_bound(2, 0, 500, 0.5, 0.01) == 0.0


def hockey_stick_epsilon(p: list[float], q: list[float], times: int, delta: float) -> float:
    """The ε at δ of repeated laws: every sequence of outcomes, then bisection."""
    pairs = [
        (math.prod(p[i] for i in path), math.prod(q[i] for i in path))
        for path in itertools.product(range(len(p)), repeat=times)
    ]

    def exceeds(epsilon: float) -> bool:
        sides = (
            sum(max(0.0, a - math.exp(epsilon) * b) for a, b in pairs),
            sum(max(0.0, b - math.exp(epsilon) * a) for a, b in pairs),
        )
        return max(sides) > delta

    low, high = 0.0, 60.0
    if not exceeds(0.0):
        return 0.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if exceeds(middle) else (low, middle)
    return low


laws = st.integers(2, 4).flatmap(
    lambda size: st.tuples(*[st.lists(st.floats(0.02, 1.0), min_size=size, max_size=size)] * 2)
)


@settings(max_examples=60, deadline=None)
@given(laws, st.integers(1, 5), st.sampled_from([1e-6, 1e-3, 0.1]))
def test_composing_is_exact_from_below(
    weights: tuple[list[float], list[float]], times: int, delta: float
) -> None:
    p, q = (np.array(one) / sum(one) for one in weights)
    found = composed_bound(TwoLaws(p, q), times, delta)
    truth = hockey_stick_epsilon(p.tolist(), q.tolist(), times, delta)
    assert found <= truth + 1e-9
    assert found == pytest.approx(truth, abs=2e-3)


@pytest.mark.parametrize("times", [1, 7, 100, 1000])
@pytest.mark.parametrize("delta", [1e-9, 1e-5, 0.01])
def test_composing_truthful_bits(times: int, delta: float) -> None:
    truth = 1 / (1 + math.exp(-0.3))
    told = TwoLaws(np.array([truth, 1 - truth]), np.array([1 - truth, truth]))
    assert composed_bound(told, times, delta) == pytest.approx(
        response_epsilon(delta, 0.3, times), rel=1e-6, abs=1e-9
    )


def test_losses_beyond_what_an_exponential_can_hold() -> None:
    sure = TwoLaws(np.array([1 - 1e-9, 1e-9]), np.array([1e-9, 1 - 1e-9]))
    assert composed_bound(sure, 200, 1e-6) == pytest.approx(200 * math.log(1e9 - 1), rel=1e-6)


@settings(max_examples=60, deadline=None)
@given(laws, st.integers(1, 30))
def test_merging_outcomes_shows_no_more(
    weights: tuple[list[float], list[float]], times: int
) -> None:
    p, q = (np.array(one) / sum(one) for one in weights)
    merged = TwoLaws(np.append(p[:-2], p[-2:].sum()), np.append(q[:-2], q[-2:].sum()))
    whole = composed_bound(TwoLaws(p, q), times, 1e-4)
    assert composed_bound(merged, times, 1e-4) <= whole + 5e-3


def power(experiment: TwoLaws, alarm: float) -> float:
    """How often the best test of the second law detects the first, at a false-alarm rate."""
    ratio = experiment.first / experiment.second
    left, found = alarm, 0.0
    for i in np.argsort(-ratio):
        used = min(left, experiment.second[i])
        found += used * ratio[i]
        left -= used
    return found


cells = st.integers(2, 6).flatmap(
    lambda size: st.tuples(*[st.lists(st.integers(1, 400), min_size=size, max_size=size)] * 2)
)


@settings(max_examples=80, deadline=None)
@given(cells, st.floats(0.0, 1.0), st.sampled_from([0.4, 0.01]))
def test_the_coarser_pair_tells_less_than_the_frequencies(
    hits: tuple[list[int], list[int]], alarm: float, error: float
) -> None:
    first, second = (np.array(one) for one in hits)
    found = coarser(first, second, error)
    assert found.first.sum() == pytest.approx(1.0)
    assert found.second.sum() == pytest.approx(1.0)
    assert np.all(found.first > 0)
    assert np.all(np.diff(found.first / found.second) < 0), "most telling first, nothing twice"
    seen = TwoLaws(first / first.sum(), second / second.sum())
    assert power(found, alarm) <= power(seen, alarm) + 1e-12
    assert power(found, alarm) >= alarm - 1e-12
    level = error / (2 * (first.size - 1))
    points = []
    for event in range(1, first.size):
        low = lower_limit(first[:event].sum(), first.sum(), level)
        high = upper_limit(second[:event].sum(), second.sum(), level)
        assert power(found, float(high)) >= float(low) - 1e-12
        points.append((float(high), float(low)))
    corners = np.cumsum((found.second, found.first), axis=1).T[:-1]
    for corner in corners:
        assert np.min(np.abs(np.array(points) - corner).sum(axis=1)) < 1e-12, "limits, no more"


def test_many_counts_come_close_to_the_truth() -> None:
    p, q = np.array([0.5, 0.3, 0.2]), np.array([0.3, 0.3, 0.4])
    number = 10**10
    found = coarser((p * number).astype(np.int64), (q * number).astype(np.int64), 0.01)
    assert composed_bound(found, 4, 1e-3) == pytest.approx(
        hockey_stick_epsilon(p.tolist(), q.tolist(), 4, 1e-3), rel=1e-3
    )


def test_one_cell_shows_nothing() -> None:
    assert composed_bound(coarser(np.array([9]), np.array([9]), 0.1), 50, 1e-5) == 0.0


# Coverage. A bit is told truthfully with odds e^0.5, five times: its ε at δ is known exactly.
STRENGTH, TIMES, DELTA = 0.5, 5, 1e-3
TRUTH = 1 / (1 + math.exp(-STRENGTH))
AUDITS = 250


def answers(draw: np.random.Generator, chance: float, trials: int) -> np.ndarray:
    return draw.random((trials, TIMES)) < chance


def by_threshold(worlds: list[np.ndarray], error: float) -> float:
    halves = [np.array_split(world.sum(axis=1).astype(float), 2) for world in worlds]
    scouts, counted = zip(*halves, strict=True)
    return threshold_bound(scouts, counted, DELTA, error).epsilon


def by_composing(worlds: list[np.ndarray], error: float) -> float:
    hits = [np.array([world.sum(), world.size - world.sum()]) for world in worlds]
    return composed_bound(coarser(hits[0], hits[1], error), TIMES, DELTA)


def without_limits(worlds: list[np.ndarray], error: float) -> float:
    """What one would believe without confidence limits: for a test that can fail."""
    laws = [np.array([world.mean(), 1 - world.mean()]) for world in worlds]
    return composed_bound(TwoLaws(laws[0], laws[1]), TIMES, DELTA)


def too_often(method, chances: tuple[float, float], truth: float, error: float) -> float:  # type: ignore[no-untyped-def]
    """p-value of "the bound exceeds the truth at most in the allowed share of audits"."""
    draw = np.random.default_rng(7)
    wrong = 0
    for _ in range(AUDITS):
        worlds = [answers(draw, chance, 120) for chance in chances]
        wrong += method(worlds, error) > truth
    return float(stats.binomtest(wrong, AUDITS, error, alternative="greater").pvalue)


@pytest.mark.parametrize("method", [by_threshold, by_composing])
@pytest.mark.parametrize("error", [0.3, 0.05])
def test_the_bound_exceeds_the_truth_as_seldom_as_it_says(method, error: float) -> None:  # type: ignore[no-untyped-def]
    truth = response_epsilon(DELTA, STRENGTH, TIMES)
    assert too_often(method, (TRUTH, 1 - TRUTH), truth, error) > 1e-3
    assert too_often(method, (TRUTH, TRUTH), 0.0, error) > 1e-3, "nothing to be seen"


def test_the_simulation_notices_bounds_that_are_too_large() -> None:
    truth = response_epsilon(DELTA, STRENGTH, TIMES)
    assert too_often(without_limits, (TRUTH, 1 - TRUTH), truth, 0.3) < 1e-6


def test_choosing_on_the_counted_trials_would_be_noticed() -> None:
    """Two equal worlds, scores that are all different: the best of many events looks telling."""
    draw = np.random.default_rng(3)
    honest = cheating = 0
    for _ in range(120):
        first, second = draw.normal(size=(2, 100))
        fresh = draw.normal(size=(2, 100))
        honest += threshold_bound((fresh[0], fresh[1]), (first, second), 1e-3, 0.3).epsilon > 0
        cheating += threshold_bound((first, second), (first, second), 1e-3, 0.3).epsilon > 0
    assert stats.binomtest(honest, 120, 0.3, alternative="greater").pvalue > 1e-3
    assert stats.binomtest(cheating, 120, 0.3, alternative="greater").pvalue < 1e-3


@pytest.mark.parametrize("flip", [1.0, -1.0])
@pytest.mark.parametrize("swap", [False, True])
def test_either_end_and_either_direction(flip: float, swap: bool) -> None:
    """A Gaussian shifted by one deviation, as a continuous score."""
    draw = np.random.default_rng(5)
    worlds = [flip * (draw.normal(size=40_000) + shift) for shift in (0.0, 1.0)]
    worlds = worlds[::-1] if swap else worlds
    halves = [np.array_split(world, 2) for world in worlds]
    found = threshold_bound((halves[0][0], halves[1][0]), (halves[0][1], halves[1][1]), 0.01, 0.01)
    truth = gaussian_epsilon(0.01, 1.0)
    assert 0.7 * truth < found.epsilon < truth
    assert found.event.startswith("score")
    assert MAX_THRESHOLDS < 40_000, "more scores than thresholds"


@pytest.mark.parametrize("error", [0.0, 1.0, -0.1, math.nan])
def test_errors_lie_between_nought_and_one(error: float) -> None:
    for limit in LIMITS:
        with pytest.raises(ParameterError):
            limit(1, 2, error)


def test_bad_counts_and_scores() -> None:
    one = np.ones(3)
    for hits, trials in ((3, 2), (-1, 2), (0, 0)):
        for limit in LIMITS:
            with pytest.raises(DataError):
                limit(hits, trials, 0.1)
    with pytest.raises(DataError, match="same cells"):
        coarser(np.array([1, 2]), np.array([1, 2, 3]), 0.1)
    with pytest.raises(DataError, match="not a number"):
        threshold_bound((one, one * np.nan), (one, one), 0.1, 0.1)
    with pytest.raises(DataError, match="same number"):
        threshold_bound((one, one[:2]), (one, one), 0.1, 0.1)
    with pytest.raises(ParameterError):
        event_bound(1, 0, 3, 0.0, 0.1)
    with pytest.raises(ParameterError, match="at least once"):
        composed_bound(TwoLaws(one / 3, one / 3), 0, 0.1)
    with pytest.raises(DataError, match="only one world"):
        composed_bound(TwoLaws(np.array([0.5, 0.5]), np.array([0.0, 1.0])), 1, 0.1)

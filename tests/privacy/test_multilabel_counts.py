"""Data-dependent costs of Binary and τ voting: brute force over ballots and output laws."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ballotine.errors import DataError, ParameterError
from ballotine.privacy import multilabel
from ballotine.privacy.multilabel import Norm, Variant
from tests.privacy.ballot_oracle import (
    CLIPPINGS,
    ORDERS,
    VARIANTS,
    Array,
    ballots,
    bit_divergence,
    clip,
    divergence,
    margin,
    output_law,
)


def profiles(teachers: int, labels: int) -> Iterator[tuple[tuple[int, ...], ...]]:
    every = list(itertools.product((0, 1), repeat=labels))
    yield from itertools.combinations_with_replacement(every, teachers)


def true_costs(
    teachers: int, labels: int, tau: float | None, norm_name: Norm, variant: Variant, sigma: float
) -> tuple[Array, Array]:
    """Counts, and the largest two-sided divergence over all profiles that have them."""
    cast = {b: clip(b, tau, norm_name) for b in itertools.product((0, 1), repeat=labels)}
    counted: dict[tuple[float, ...], Array] = {}
    worst: dict[tuple[float, ...], Array] = {}
    for profile in profiles(teachers, labels):
        counts = np.sum([cast[b] for b in profile], axis=0)
        law = output_law(margin(counts, teachers, sigma, variant))
        changed = np.array(
            [counts - cast[old] + new for old in set(profile) for new in cast.values()]
        )
        laws = output_law(margin(changed, teachers, sigma, variant))
        law = np.broadcast_to(law, laws.shape)
        costs = np.maximum(divergence(law, laws), divergence(laws, law)).max(axis=1)
        key = tuple(np.round(counts, 9))
        counted[key] = counts
        worst[key] = np.maximum(worst.get(key, np.zeros(ORDERS.size)), costs)
    return np.array(list(counted.values())), np.array(list(worst.values()))


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(("teachers", "labels"), [(1, 2), (4, 2), (3, 3)])
def test_binary_voting_is_priced_exactly(teachers: int, labels: int, variant: Variant) -> None:
    for sigma in (0.6, 3.0):
        counts, expected = true_costs(teachers, labels, None, "l2", variant, sigma)
        found = multilabel.data_dependent(counts, teachers, ORDERS, sigma, variant=variant)
        assert np.all(found >= expected * (1.0 - 1e-12))
        assert np.all(found <= expected * (1.0 + 1e-9) + 1e-11)


@pytest.mark.parametrize(("tau", "norm_name"), CLIPPINGS[1:])
@pytest.mark.parametrize(("teachers", "labels"), [(4, 2), (3, 3)])
def test_clipped_voting_is_never_priced_below_the_truth(
    teachers: int, labels: int, tau: float, norm_name: Norm
) -> None:
    for variant, sigma in itertools.product(VARIANTS, (0.6, 3.0)):
        counts, expected = true_costs(teachers, labels, tau, norm_name, variant, sigma)
        found = multilabel.data_dependent(counts, teachers, ORDERS, sigma, tau, norm_name, variant)
        assert np.all(found >= expected * (1.0 - 1e-12))
        assert np.all(found <= multilabel.tight(ORDERS, sigma, labels, tau, norm_name, variant))
        # With few teachers many ballots are impossible, so the bound is not tight.
        if sigma == 3.0:
            assert np.median(expected / found) > 0.7
            assert np.any(expected > 0.95 * found)


def test_direction_of_the_divergence_is_one_for_all_labels() -> None:
    """The directions are worst at different labels: their maxima must not be mixed."""
    counts, teachers, sigma, order = np.array([[0.0, 9.0]]), 30.0, 2.0, 4.0
    places = margin(counts[0], teachers, sigma, "both")
    step = math.sqrt(2.0) / sigma
    forth = [
        max(bit_divergence(x, x + d, order) for d in moves)
        for x, moves in zip(places, ([step], [step, -step]), strict=True)
    ]
    back = [
        max(bit_divergence(x + d, x, order) for d in moves)
        for x, moves in zip(places, ([step], [step, -step]), strict=True)
    ]
    found = multilabel.data_dependent(counts, teachers, [order], sigma)[0, 0]
    assert found == pytest.approx(max(sum(forth), sum(back)), rel=1e-9)


def test_unlikely_answers_keep_their_digits() -> None:
    """50 of 50 teachers against 49, at σ = 2: probabilities of e^-160, against 60 digits."""
    with mpmath.workdps(60):
        step, order = mpmath.sqrt(2) / 2, mpmath.mpf(3)
        x = 25 * step

        def cost(a: mpmath.mpf, b: mpmath.mpf) -> mpmath.mpf:
            yes = mpmath.ncdf(a) ** order * mpmath.ncdf(b) ** (1 - order)
            no = mpmath.ncdf(-a) ** order * mpmath.ncdf(-b) ** (1 - order)
            return mpmath.log(yes + no) / (order - 1)

        # Both labels may change at once, and each in one way only.
        expected = 2 * max(cost(x, x - step), cost(x - step, x))
    found = multilabel.data_dependent([[50.0, 0.0]], 50, [3.0], 2.0)[0, 0]
    assert float(expected) <= found <= float(expected) * (1.0 + 1e-9) + 1e-11


@pytest.mark.parametrize(("tau", "norm_name"), [(None, "l2"), (1.8, "l2"), (3.4, "l1")])
def test_random_neighbours_of_large_elections_cost_no_more(
    tau: float | None, norm_name: Norm
) -> None:
    rng = np.random.default_rng(4)
    teachers, labels, sigma = 50, 20, 9.0
    for _ in range(6):
        likely = rng.beta(0.3, 1.5, size=labels)
        cast = (rng.random((teachers, labels)) < likely).astype(float)
        counts = np.sum([clip(ballot, tau, norm_name) for ballot in cast], axis=0)
        found = multilabel.data_dependent(counts, teachers, ORDERS, sigma, tau, norm_name)[0]
        before = margin(counts, teachers, sigma, "both")
        for _ in range(40):
            size = int(rng.integers(1, 9))
            fresh = np.zeros(labels)
            fresh[rng.choice(labels, size, replace=False)] = 1.0
            old = cast[rng.integers(teachers)]
            after = counts - clip(old, tau, norm_name) + clip(fresh, tau, norm_name)
            moved = margin(after, teachers, sigma, "both")
            for at, order in enumerate(ORDERS):
                assert bit_divergence(before, moved, order).sum() <= found[at]
                assert bit_divergence(moved, before, order).sum() <= found[at]


def test_weights_scale_counts_and_noise_alike() -> None:
    counts = np.array([[3.0, 0.0, 11.0], [7.0, 20.0, 12.0]])
    plain = multilabel.data_dependent(counts, 20, ORDERS, 4.0, 1.2)
    heavy = multilabel.data_dependent(2.5 * counts, 50, ORDERS, 10.0, 1.2, sensitivity=2.5)
    assert np.allclose(plain, heavy, rtol=1e-9)


def test_many_labels_with_many_scales_are_grouped_on_the_safe_side() -> None:
    rng = np.random.default_rng(1)
    labels, tau, sigma, teachers = 400, 2.1, 3.0, 40
    counts = rng.uniform(0.0, 5.0, size=(2, labels))
    found = multilabel.data_dependent(counts, teachers, [2.0, 30.0], sigma, tau)
    # A true neighbour that moves five labels by 1 · 2.1/√5 each way.
    step = tau / math.sqrt(5.0)
    for row, costs in zip(counts, found, strict=True):
        best = np.argsort(-row)
        moved = row.copy()
        moved[best[:5]] += step
        moved[best[5:10]] -= step
        here, there = (margin(c, teachers, sigma, "both") for c in (row, moved))
        for cost, order in zip(costs, (2.0, 30.0), strict=True):
            assert bit_divergence(here, there, order).sum() <= cost
            assert bit_divergence(there, here, order).sum() <= cost


def test_duplicates_order_of_orders_and_totals_change_nothing() -> None:
    rng = np.random.default_rng(2)
    counts = rng.integers(0, 31, size=(40_000, 3)).astype(float)
    orders = np.array([8.0, 2.0, 8.0, 40.0])
    each = multilabel.data_dependent(counts, 30, orders, 5.0, 1.4)
    assert each.shape == (40_000, 4)
    assert np.array_equal(each[:, 0], each[:, 2])
    assert np.all(each[:, 1] <= each[:, 0])
    alone = multilabel.data_dependent(counts[-1], 30, np.sort(orders), 5.0, 1.4)
    assert np.allclose(alone[0], np.sort(each[-1]), rtol=1e-14)
    total = multilabel.data_dependent(counts, 30, orders, 5.0, 1.4, total=True)
    assert np.allclose(total, each.sum(axis=0), rtol=1e-12)


def test_no_joint_check_costs_more_than_claimed() -> None:
    teachers, sigma, threshold = 30.0, 2.0, 20.0
    for tau, norm_name in CLIPPINGS:
        cast = ballots(2, tau, norm_name)
        others = np.linspace(0.0, 29.0, 30) * (1.0 if tau is None else min(1.0, tau))
        base = np.array(list(itertools.product(others, repeat=2)))
        counts = base[:, None, :] + cast
        larger = np.maximum(counts, teachers - counts)
        laws = output_law((larger - threshold) / sigma)
        claimed = multilabel.tight_check(ORDERS, sigma, 2, tau, norm_name)
        assert np.all(claimed <= multilabel.joint_check(ORDERS, sigma, 2, tau, norm_name))
        given_counts = multilabel.check_data_dependent(
            counts.reshape(-1, 2), teachers, threshold, ORDERS, sigma, tau, norm_name
        ).reshape(*counts.shape[:2], -1)
        for one in range(len(cast)):
            law = np.broadcast_to(laws[:, one : one + 1], laws.shape)
            worst = np.maximum(divergence(law, laws), divergence(laws, law)).max(axis=2)
            assert np.all(worst.max(axis=1) <= claimed)
            assert np.all(given_counts[:, one] * (1.0 + 1e-9) + 1e-12 >= worst.T)


@pytest.mark.parametrize(
    ("counts", "change"),
    [
        ([[-1.0, 2.0]], {}),
        ([[math.nan, 2.0]], {}),
        ([], {}),
        ([[11.0, 2.0]], {}),
        ([[9.0, 2.0]], {"tau": 0.5}),
        ([["a", "b"]], {}),
    ],
)
def test_counts_that_no_ballots_add_up_to_are_refused(
    counts: object, change: dict[str, object]
) -> None:
    with pytest.raises(DataError) as caught:
        multilabel.data_dependent(counts, 10, [2.0], 3.0, **change)  # type: ignore[arg-type]
    assert "11" not in str(caught.value)
    with pytest.raises(DataError):
        multilabel.check_data_dependent(counts, 10, 8.0, [2.0], 3.0, **change)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "change", [{"teachers": 0}, {"sigma": -1.0}, {"sigma": 1e-9}, {"tau": -2.0}, {"orders": 0.5}]
)
def test_bad_parameters_of_data_dependent_costs_are_refused(change: dict[str, object]) -> None:
    good: dict[str, object] = {"teachers": 10, "orders": [2.0], "sigma": 3.0}
    with pytest.raises(ParameterError):
        multilabel.data_dependent([[3.0, 4.0]], **{**good, **change})  # type: ignore[arg-type]


@settings(max_examples=40, deadline=None)
@given(
    counts=st.lists(st.integers(0, 40), min_size=1, max_size=6),
    sigma=st.floats(0.01, 50.0),
    tau=st.one_of(st.none(), st.floats(1.0, 3.0)),
)
def test_costs_are_finite_and_never_fall_with_the_order(
    counts: list[int], sigma: float, tau: float | None
) -> None:
    found = multilabel.data_dependent([counts], 40, [1.01, 1.5, 4.0, 30.0, 500.0], sigma, tau)[0]
    assert np.all(np.isfinite(found))
    assert np.all(found >= 0.0)
    assert np.all(np.diff(found) >= 0.0)

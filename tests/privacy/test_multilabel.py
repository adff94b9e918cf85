"""Data-independent costs of Binary and τ voting: brute force over ballots and output laws."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ballotine.errors import ParameterError
from ballotine.privacy import multilabel, published, tight
from ballotine.privacy.multilabel import Norm, Variant
from tests.privacy.ballot_oracle import (
    CLIPPINGS,
    ORDERS,
    VARIANTS,
    Array,
    ballots,
    clip,
    divergence,
    margin,
    one_bit_supremum,
    output_law,
)


@pytest.mark.parametrize("norm_name", ["l2", "l1"])
@pytest.mark.parametrize("tau", [0.5, 1.0, 1.3, 1.8, 2.2, 3.4, 9.0])
@pytest.mark.parametrize("labels", [1, 2, 5, 8])
def test_squared_sensitivity_is_the_largest_distance_of_two_ballots(
    labels: int, tau: float, norm_name: Norm
) -> None:
    cast = ballots(labels, tau, norm_name)
    squares = (cast**2).sum(axis=1)
    distances = squares[:, None] + squares - 2.0 * cast @ cast.T
    assert multilabel.squared_sensitivity(labels, tau, norm_name) == pytest.approx(
        distances.max(), rel=1e-12
    )


@pytest.mark.parametrize(
    ("tau", "norm_name"), [(1.8, "l2"), (4.1, "l2"), (3.4, "l1"), (17.0, "l1")]
)
def test_no_overlap_of_two_ballots_is_further_apart(tau: float, norm_name: Norm) -> None:
    labels = 31
    scale = [
        min(1.0, tau / (math.sqrt(a) if norm_name == "l2" else a)) for a in range(1, labels + 1)
    ]
    scale.insert(0, 1.0)
    worst = max(
        a * scale[a] ** 2 + b * scale[b] ** 2 - 2.0 * c * scale[a] * scale[b]
        for a in range(labels + 1)
        for b in range(labels + 1)
        for c in range(max(0, a + b - labels), min(a, b) + 1)
    )
    assert multilabel.squared_sensitivity(labels, tau, norm_name) == pytest.approx(worst, rel=1e-12)


def test_squared_sensitivity_of_the_published_settings() -> None:
    assert multilabel.squared_sensitivity(20, 1.8) == pytest.approx(6.48)
    assert multilabel.squared_sensitivity(20, 3.4, "l1") == pytest.approx(6.0)
    assert multilabel.squared_sensitivity(20) == 20.0
    assert multilabel.squared_sensitivity(20, 4.5) == 20.0


@settings(max_examples=60, deadline=None)
@given(
    labels=st.integers(1, 3000),
    tau=st.floats(0.05, 80.0),
    norm_name=st.sampled_from(["l2", "l1"]),
)
def test_squared_sensitivity_has_its_bounds(labels: int, tau: float, norm_name: Norm) -> None:
    value = multilabel.squared_sensitivity(labels, tau, norm_name)
    assert 0.0 < value <= min(labels, 2.0 * tau**2) * (1.0 + 1e-12)
    assert value <= multilabel.squared_sensitivity(labels, tau * 1.1, norm_name) * (1.0 + 1e-12)
    assert value <= multilabel.squared_sensitivity(labels + 1, tau, norm_name) * (1.0 + 1e-12)


@pytest.mark.parametrize(("tau", "norm_name"), [(1.3, "l2"), (1.8, "l2"), (2.5, "l1")])
def test_released_subset_of_labels_counts_as_if_there_were_no_others(
    tau: float, norm_name: Norm
) -> None:
    released = ballots(6, tau, norm_name)[:, :3]
    differences = released[:, None] - released
    assert multilabel.squared_sensitivity(3, tau, norm_name) == pytest.approx(
        (differences**2).sum(axis=2).max(), rel=1e-12
    )


def configurations() -> Iterator[tuple[int, float | None, Norm, Variant, float]]:
    for labels, (tau, norm_name), variant in itertools.product((1, 2, 3), CLIPPINGS, VARIANTS):
        for sigma in (0.7, 4.0):
            yield labels, tau, norm_name, variant, sigma


def worst_costs(
    labels: int, tau: float | None, norm_name: Norm, variant: Variant, sigma: float
) -> Array:
    """The true cost of the worst pair of ballots, over a grid of the other teachers' counts."""
    cast = ballots(labels, tau, norm_name)
    teachers = 400.0
    # Margins from a tie to far beyond the worst place of large orders, on both sides.
    lever = {"one-against-complement": 2.0, "both": math.sqrt(2.0), "one-against-half": 1.0}[
        variant
    ]
    shift = lever * cast.max() / sigma
    near = np.concatenate([[-0.5], np.geomspace(0.4, 63.0, 5 if labels == 3 else 24)]) * shift
    others = teachers / 2.0 + np.concatenate([-near, near]) * sigma / lever - cast.max() / 2.0
    base = np.array(list(itertools.product(others[:: 1 if labels < 3 else 2], repeat=labels)))
    if len(base) > 700:
        base = base[:: len(base) // 600]
    margins = margin(base[:, None, :] + cast, teachers, sigma, variant)
    laws = output_law(margins)
    worst = np.zeros(ORDERS.size)
    for one in range(len(cast)):
        found = divergence(np.broadcast_to(laws[:, one : one + 1], laws.shape), laws)
        worst = np.maximum(worst, found.reshape(ORDERS.size, -1).max(axis=1))
    return worst


@pytest.mark.parametrize("labels", [1, 2, 3])
def test_no_pair_of_ballots_costs_more_than_claimed(labels: int) -> None:
    """Both directions: every ordered pair of ballots is compared."""
    for configuration in configurations():
        if configuration[0] != labels:
            continue
        k, tau, norm_name, variant, sigma = configuration
        true = worst_costs(k, tau, norm_name, variant, sigma)
        joint = multilabel.tight(ORDERS, sigma, k, tau, norm_name, variant)
        assert np.all(true <= joint * (1.0 + 1e-9)), configuration
        assert np.all(joint <= multilabel.gaussian(ORDERS, sigma, k, tau, norm_name, variant))


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(("tau", "norm_name"), CLIPPINGS)
def test_constants_five_per_cent_smaller_would_be_false(
    tau: float | None, norm_name: Norm, variant: Variant
) -> None:
    for labels in (1, 2):
        for sigma in (0.7, 4.0):
            true = worst_costs(labels, tau, norm_name, variant, sigma)
            joint = multilabel.tight(ORDERS, sigma, labels, tau, norm_name, variant)
            assert np.any(true > 0.95 * joint)
        true = worst_costs(labels, tau, norm_name, variant, 0.7)
        plain = multilabel.gaussian(ORDERS, 0.7, labels, tau, norm_name, variant)
        assert np.any(true > 0.95 * plain)


@pytest.mark.parametrize(("tau", "norm_name"), CLIPPINGS)
def test_tight_cost_is_the_maximum_over_sizes_and_overlaps(
    tau: float | None, norm_name: Norm
) -> None:
    labels, sigma = 5, 2.5
    scale = [float(clip(np.ones(a), tau, norm_name).max()) for a in range(1, labels + 1)]
    scale.insert(0, 0.0)
    for order in (1.5, 6.0, 40.0):

        def price(d: float, order: float = order) -> float:
            return one_bit_supremum(math.sqrt(2.0) * d / sigma, order) if d > 0.0 else 0.0

        alone = [price(d) for d in scale]
        worst = max(
            (a - c) * alone[a]
            + (b - c) * alone[b]
            + (c * price(abs(scale[a] - scale[b])) if c else 0)
            for a in range(labels + 1)
            for b in range(a + 1)
            for c in range(max(0, a + b - labels), b + 1)
        )
        found = multilabel.tight([order], sigma, labels, tau, norm_name)[0]
        assert worst * (1.0 - 1e-9) <= found <= worst * (1.0 + 1e-6)


def test_chords_of_many_ballot_sizes_stay_above_and_close() -> None:
    labels, tau, sigma = 420, 5.1, 3.0
    orders = np.array([1.5, 8.0, 64.0])
    scale = np.minimum(1.0, tau / np.sqrt(np.arange(1.0, labels + 1.0)))
    shifts = math.sqrt(2.0) * scale
    prices = np.array([tight.threshold(orders, sigma, float(s)) for s in shifts])
    sums = np.vstack([np.zeros(3), prices * np.arange(1.0, labels + 1.0)[:, None]])
    plain = np.max(
        [sums[a] + sums[: labels - a + 1].max(axis=0) for a in range(labels + 1)], axis=0
    )
    found = multilabel.tight(orders, sigma, labels, tau)
    assert np.all(found >= plain * (1.0 - 1e-12))
    assert np.all(found <= plain * (1.0 + 1e-4))


@pytest.mark.parametrize("order", [1.5, 3.0, 20.0])
def test_one_bit_supremum_is_convex_in_the_shift(order: float) -> None:
    shifts = np.linspace(0.05, 3.0, 40)
    values = np.array([one_bit_supremum(float(s), order) for s in shifts])
    assert np.all(np.diff(values, 2) >= -1e-9)


@pytest.mark.parametrize("variant", VARIANTS)
def test_record_seen_by_two_teachers_costs_at_most_a_weight_of_two(variant: Variant) -> None:
    sigma, teachers = 2.0, 200.0
    for tau in (None, 1.2):
        cast = ballots(2, tau, "l2")
        pairs = np.unique((cast[:, None] + cast).reshape(-1, 2), axis=0)
        places = np.concatenate([np.linspace(85.0, 115.0, 21), [40.0, 60.0, 140.0, 160.0]])
        base = np.array(list(itertools.product(places, repeat=2)))
        laws = output_law(margin(base[:, None, :] + pairs, teachers, sigma, variant))
        claimed = multilabel.tight(ORDERS, sigma, 2, tau, "l2", variant, sensitivity=2.0)
        for one in range(len(pairs)):
            found = divergence(np.broadcast_to(laws[:, one : one + 1], laws.shape), laws)
            assert np.all(found.reshape(ORDERS.size, -1).max(axis=1) <= claimed)


def test_gaussian_costs_of_the_three_variants() -> None:
    complement, both, half = (
        multilabel.gaussian(ORDERS, 9.0, 20, 1.8, variant=variant) for variant in VARIANTS
    )
    assert np.allclose(complement, 2.0 * ORDERS * 6.48 / 81.0)
    assert np.allclose(both, ORDERS * 6.48 / 81.0)
    assert np.allclose(half, ORDERS * 6.48 / 162.0)
    assert np.allclose(multilabel.joint_check(ORDERS, 9.0, 20, 1.8), half)


def test_one_label_is_a_vote_of_two_classes() -> None:
    assert np.allclose(multilabel.tight(ORDERS, 7.0, 1), tight.gnmax(ORDERS, 7.0, classes=2))
    assert np.allclose(multilabel.gaussian(ORDERS, 7.0, 1), published.gnmax(ORDERS, 7.0))
    assert np.allclose(multilabel.tight_check(ORDERS, 7.0, 1), tight.threshold(ORDERS, 7.0))


@settings(max_examples=12, deadline=None)
@given(
    sigma=st.floats(0.5, 40.0),
    labels=st.integers(1, 30),
    tau=st.floats(0.2, 8.0),
    norm_name=st.sampled_from(["l2", "l1"]),
    variant=st.sampled_from(VARIANTS),
)
def test_data_independent_costs_fall_with_noise_and_rise_with_all_else(
    sigma: float, labels: int, tau: float, norm_name: Norm, variant: Variant
) -> None:
    orders = np.array([1.1, 2.0, 9.0, 70.0])
    cost = multilabel.tight(orders, sigma, labels, tau, norm_name, variant)
    assert np.all(np.diff(cost) >= 0.0)
    assert np.all(cost <= multilabel.gaussian(orders, sigma, labels, tau, norm_name, variant))
    slack = 1.0 + 2e-6
    assert np.all(
        cost <= multilabel.tight(orders, sigma, labels + 1, tau, norm_name, variant) * slack
    )
    assert np.all(cost >= multilabel.tight(orders, 1.2 * sigma, labels, tau, norm_name, variant))
    assert np.all(cost <= multilabel.tight(orders, sigma, labels, tau, norm_name, variant, 1.2))


@pytest.mark.parametrize(
    "change",
    [
        {"labels": 0},
        {"labels": 2.5},
        {"tau": 0.0},
        {"tau": -1.0},
        {"tau": math.nan},
        {"norm": "l3"},
        {"variant": "none"},
        {"sigma": 0.0},
        {"sigma": math.inf},
        {"orders": [1.0]},
        {"orders": []},
        {"sensitivity": -1.0},
    ],
)
def test_parameters_outside_their_domain_are_refused(change: dict[str, object]) -> None:
    good: dict[str, object] = {"orders": [2.0], "sigma": 2.0, "labels": 4, "tau": 1.5}
    for cost in (multilabel.gaussian, multilabel.tight):
        with pytest.raises(ParameterError):
            cost(**{**good, **change})  # type: ignore[arg-type]


def test_ballot_of_no_weight_costs_nothing() -> None:
    assert np.all(multilabel.gaussian(ORDERS, 2.0, 5, 1.2, sensitivity=0.0) == 0.0)
    assert np.all(multilabel.tight(ORDERS, 2.0, 5, 1.2, sensitivity=0.0) == 0.0)
    found = multilabel.data_dependent([[1.0, 2.0]], 5, ORDERS, 2.0, sensitivity=0.0)
    assert np.all(found == 0.0)

"""Neighbours and costs: by hand where that is possible, and by another method where it is not."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.special import ndtr

from ballotine.oracle import bits, powerset, votes
from ballotine.oracle.neighbours import neighbours

ORDERS = (1.5, 4.0, 32.0)


def bernoulli(p: float, q: float, order: float) -> float:
    beta = order - 1.0
    total = p**order * q**-beta + (1.0 - p) ** order * (1.0 - q) ** -beta
    return math.log(total) / beta


def two_sided(p: float, q: float, order: float) -> float:
    return max(bernoulli(p, q, order), bernoulli(q, p, order))


def test_single_moves() -> None:
    assert set(neighbours((2.0, 1.0, 0.0))) == {
        (1.0, 2.0, 0.0),
        (1.0, 1.0, 1.0),
        (3.0, 0.0, 0.0),
        (2.0, 0.0, 1.0),
    }
    assert set(neighbours((2.0, 0.5), 1.0)) == {(1.0, 1.5)}
    # Sums of weights are rounded: three times 0.1 still holds a vote of 0.3.
    assert len(neighbours((0.1 + 0.1 + 0.1, 0.0), 0.3)) == 1


def test_several_teachers_move_together_and_apart() -> None:
    found = set(neighbours((1.0, 1.0, 4.0), teachers=2))
    assert (0.0, 0.0, 6.0) in found
    assert (3.0, 1.0, 2.0) in found
    assert (2.0, 2.0, 2.0) in found
    assert (1.0, 1.0, 4.0) not in found
    everything = {t for t in itertools.product(range(7), repeat=3) if sum(t) == 6}
    near = {t for t in everything if sum(np.maximum(0, np.subtract(t, (1, 1, 4)))) <= 2}
    assert found == {tuple(map(float, t)) for t in near} - {(1.0, 1.0, 4.0)}


@pytest.mark.parametrize("sigma", [0.8, 5.0])
def test_gnmax_with_two_classes_is_one_bit(sigma: float) -> None:
    found = votes.gnmax((6.0, 3.0), sigma, ORDERS)
    chances = [float(ndtr(gap / (sigma * math.sqrt(2.0)))) for gap in (3.0, 1.0, 5.0)]
    for value, order in zip(found.values, ORDERS, strict=True):
        truth = max(two_sided(chances[0], other, order) for other in chances[1:])
        assert value == pytest.approx(truth, rel=1e-10)
    forward = votes.gnmax((6.0, 3.0), sigma, ORDERS, forward_only=True)
    assert np.all(forward.values <= found.values)


def test_the_published_witness_of_the_missing_direction() -> None:
    both = votes.gnmax((50.0, 0.0), 7.0, (4.0,))
    forward = votes.gnmax((50.0, 0.0), 7.0, (4.0,), forward_only=True)
    assert both.witnesses == ("D(neighbour‖tally), neighbour (49, 1)",)
    assert both.values[0] > 1.4 * forward.values[0]


def test_split_moves_cost_more() -> None:
    apart = votes.gnmax((1.0, 1.0, 4.0), 1.0, (32.0,), teachers=2)
    together = votes.gnmax((1.0, 1.0, 4.0), 1.0, (32.0,), weight=2.0)
    assert apart.values[0] / together.values[0] == pytest.approx(1.86, abs=0.005)
    assert "(0, 0, 6)" in apart.witnesses[0]


def test_confident_gnmax_between_its_parts() -> None:
    """A check that always passes leaves GNMax; one that never does leaves nothing."""
    plain = votes.gnmax((5.0, 3.0, 1.0), 2.0, ORDERS)
    always = votes.confident_gnmax((5.0, 3.0, 1.0), 2.0, -500.0, 3.0, ORDERS)
    np.testing.assert_allclose(always.values, plain.values, rtol=1e-9)
    never = votes.confident_gnmax((5.0, 3.0, 1.0), 2.0, 5000.0, 3.0, (2.0,))
    assert never.values[0] < 1e-100
    check = bits.threshold(5.0, 4.0, 3.0, ORDERS)
    whole = votes.confident_gnmax((5.0, 3.0, 1.0), 2.0, 4.0, 3.0, ORDERS)
    assert np.all(whole.values <= check.values + plain.values)
    assert np.all(whole.values > check.values)


def test_threshold_is_one_bit() -> None:
    found = bits.threshold(9.0, 10.0, 2.0, ORDERS, 0.5)
    chances = [float(ndtr((top - 10.0) / 2.0)) for top in (9.0, 8.5, 9.5)]
    for value, order in zip(found.values, ORDERS, strict=True):
        truth = max(two_sided(chances[0], other, order) for other in chances[1:])
        assert value == pytest.approx(truth, rel=1e-10)


def test_lnmax_never_exceeds_pure_privacy() -> None:
    # (2γ, 0)-differential privacy bounds every order.
    found = votes.lnmax((300.0, 0.0, 0.0), 0.4, (2.0, 64.0, 1e6))
    assert np.all(found.values <= 2 * 0.4)
    assert found.values[2] > 0.98 * 2 * 0.4


def test_powerset_is_an_argmax_over_all_sets() -> None:
    few = powerset.powerset((5.0, 2.0, 1.0), 16, 2.0, ORDERS)
    listed = votes.gnmax((5.0, 2.0, 1.0, *(0.0,) * 13), 2.0, ORDERS)
    np.testing.assert_allclose(few.values, listed.values, rtol=1e-12)
    full = powerset.powerset((5.0, 2.0, 1.0), 3, 2.0, ORDERS)
    np.testing.assert_allclose(
        full.values, votes.gnmax((5.0, 2.0, 1.0), 2.0, ORDERS).values, rtol=1e-12
    )
    crowd = powerset.powerset((30.0, 10.0, 3.0), 2**20, 9.0, ORDERS)
    assert np.all(crowd.values > 0.0)


def test_an_argmax_over_observed_sets_has_no_finite_cost() -> None:
    found = powerset.restricted((5.0, 2.0, 1.0), 2.0, ORDERS)
    assert np.all(np.isinf(found.values))
    assert np.all(np.isinf(found.floor))

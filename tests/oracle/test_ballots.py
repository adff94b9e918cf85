"""Clipped ballots, polls and their bits."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.special import ndtr

from ballotine.oracle import ballots
from ballotine.oracle.ballots import Poll, Variant

ORDERS = (1.5, 4.0, 32.0)


def bit_cost(p: float, q: float, order: float) -> float:
    beta = order - 1.0
    return math.log(p**order * q**-beta + (1.0 - p) ** order * (1.0 - q) ** -beta) / beta


def test_clipping() -> None:
    np.testing.assert_allclose(ballots.clipped((0, 2), 3, 1.0, "l2"), [0.5**0.5, 0.0, 0.5**0.5])
    np.testing.assert_allclose(ballots.clipped((0, 2), 3, 1.0, "l1"), [0.5, 0.0, 0.5])
    np.testing.assert_allclose(ballots.clipped((0, 2), 3, 2.0, "l1"), [1.0, 0.0, 1.0])
    np.testing.assert_allclose(ballots.clipped((), 2, 0.1, "l1"), [0.0, 0.0])


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("tau", [0.6, 1.0, 1.4, 2.2])
@pytest.mark.parametrize("labels", [1, 2, 3, 5])
def test_squared_distance_over_all_pairs(labels: int, tau: float, norm: ballots.Norm) -> None:
    vectors = [ballots.clipped(b, labels, tau, norm) for b in ballots.every_ballot(labels)]
    truth = max(float(((a - b) ** 2).sum()) for a, b in itertools.product(vectors, repeat=2))
    assert ballots.squared_distance(labels, tau, norm) == pytest.approx(truth, rel=1e-12)


def test_distances_that_are_known() -> None:
    # Twenty labels: τ = 1.8 in l2 and τ = 3.4 in l1.
    assert ballots.squared_distance(20, 1.8, "l2") == pytest.approx(6.48)
    assert ballots.squared_distance(20, 3.4, "l1") == pytest.approx(6.0)


@pytest.mark.parametrize(
    ("variant", "shift"),
    [("one-against-complement", 2.0), ("both", math.sqrt(2.0)), ("one-against-half", 1.0)],
)
def test_one_label_is_one_bit(variant: Variant, shift: float) -> None:
    poll = Poll(1, (((), 5), ((0,), 4)))
    bits = ballots.answer_bits(poll.electorate, 3.0, variant)
    chance = {step: float(ndtr(shift * (-0.5 + step) / 3.0)) for step in (-1, 0, 1)}
    found = ballots.poll_cost(poll, bits, ORDERS)
    for value, order in zip(found.values, ORDERS, strict=True):
        pairs = [(chance[0], chance[-1]), (chance[0], chance[1])]
        truth = max(bit_cost(a, b, order) for p in pairs for a, b in (p, p[::-1]))
        assert value == pytest.approx(truth, rel=1e-10)


def test_labels_add_up_for_each_pair_of_ballots() -> None:
    poll = Poll(2, (((0,), 3), ((1,), 1)))
    law = ballots.answer_bits(poll.electorate, 2.0, "both")
    found = ballots.poll_cost(poll, law, (2.0,))
    costs = []
    for old, new in itertools.product([(0,), (1,)], ballots.every_ballot(2)):
        moved = poll.counts() + poll.vector(new) - poll.vector(old)
        before, after = np.exp(law(poll.counts())), np.exp(law(moved))
        for p, q in ((before, after), (after, before)):
            joint = sum(
                (p[0, i] * p[1, j]) ** 2 / (q[0, i] * q[1, j]) for i in (0, 1) for j in (0, 1)
            )
            costs.append(math.log(joint))
    assert found.values[0] == pytest.approx(max(costs), rel=1e-10)


def test_counts_alone_cost_at_least_as_much_as_ballots() -> None:
    poll = Poll(2, (((), 1), ((0,), 1), ((1,), 1)))
    law = ballots.answer_bits(poll.electorate, 1.0, "both")
    known = ballots.poll_cost(poll, law, ORDERS)
    counted = ballots.counts_cost(poll.counts(), poll.electorate, law, ORDERS)
    assert np.all(counted.values >= known.values)
    # Nobody named both labels here, but the counts do not say so.
    assert np.any(counted.values > 1.2 * known.values)


def test_weights_scale_the_noise() -> None:
    light = Poll(2, (((0,), 3), ((), 1)), 1.0)
    heavy = Poll(2, (((0,), 3), ((), 1)), 1.0, weight=2.5)
    one = ballots.poll_cost(light, ballots.answer_bits(light.electorate, 2.0, "both"), ORDERS)
    two = ballots.poll_cost(heavy, ballots.answer_bits(heavy.electorate, 5.0, "both"), ORDERS)
    np.testing.assert_allclose(one.values, two.values, rtol=1e-10)


def test_two_teachers_include_one() -> None:
    poll = Poll(2, (((0,), 2), ((0, 1), 2)), 1.0)
    law = ballots.answer_bits(poll.electorate, 2.0, "both")
    one, two = (ballots.poll_cost(poll, law, ORDERS, teachers) for teachers in (1, 2))
    assert np.all(two.values > one.values)
    assert "and" in two.witnesses[0]
    assert len(poll.changes(2)) == 3 * 16


def test_checks_and_answers() -> None:
    poll = Poll(2, (((0,), 3), ((1,), 1)))
    check = ballots.check_bits(poll.electorate, 3.0, 1.5)
    answer = ballots.answer_bits(poll.electorate, 2.0, "both")
    whole = ballots.checked_answers(check, answer)
    counts = np.array([0.0, 1.0, 2.0, 3.5, 4.0])
    np.testing.assert_allclose(np.exp(whole(counts)).sum(axis=-1), 1.0, rtol=1e-13)
    # The larger of V and n − V is what the check sees.
    np.testing.assert_allclose(check(counts), check(poll.electorate - counts))
    parts = [ballots.poll_cost(poll, law, ORDERS).values for law in (check, answer, whole)]
    assert np.all(parts[2] <= parts[0] + parts[1])


def test_ballots_are_shown_as_sets() -> None:
    assert ballots.format_ballot(()) == "{}"
    assert ballots.format_ballot((0, 2)) == "{0, 2}"
    assert ballots.format_ballot((3, 4, 5, 6)) == "{3–6}"

"""Powerset voting: sets in order, sets without votes, and what an answer costs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from ballotine.errors import ParameterError
from ballotine.noise import QueryNoise, SeededNoise
from ballotine.privacy import powerset, published
from ballotine.privacy.events import GaussianArgmax, from_json
from ballotine.voting import (
    PowersetVoting,
)
from ballotine.voting.multilabel.powerset import SetOrder
from tests.voting.test_mechanisms import keys, release

REASON = "a test looks at made-up ballots"
ORDERS = np.array([1.5, 2.0, 4.0, 8.0, 32.0])
NOBODY = 1e-9  # noise too small to change anything here


def test_the_published_cost_of_a_powerset_counts_sets_without_votes() -> None:
    """Against a union bound over all 2^k sets, listed one by one."""
    mechanism = PowersetVoting(3.0)
    labels, teachers = 6, 50
    ballots = np.zeros((4, teachers, labels), dtype=np.int64)
    ballots[1, :5, 2] = 1
    ballots[2, :10, 2:4] = 1
    ballots[2, :3, 1] = 1
    ballots[3, :26, 0] = 1
    tallies = mechanism.tally(ballots, labels)
    answers = np.zeros((4, labels), dtype=np.int64)
    found = mechanism.costs(tallies, answers, ORDERS, "published").unlock(reason=REASON)
    every = np.zeros((4, 64))
    codes = ballots @ (1 << np.arange(labels))
    for row, votes in enumerate(codes):
        np.add.at(every[row], votes, 1.0)
    expected = published.gnmax_data_dependent(every, ORDERS, 3.0)
    assert found == pytest.approx(expected, rel=1e-9)
    assert np.all(found >= expected * (1 - 1e-12))
    listed = published.gnmax_data_dependent(np.array([[50.0, 0.0]]), ORDERS, 3.0)
    assert found[0, 0] > listed[0, 0], "without the sets that nobody cast it would be less"
    exact = mechanism.costs(tallies, answers, ORDERS, "exact").unlock(reason=REASON)
    assert np.all(exact <= found + 1e-11)
    # With a million sets nothing is left of the bound where votes are few.
    wide = PowersetVoting(9.0).tally(np.zeros((1, 30, 40), dtype=np.int64), 40)
    fallback = PowersetVoting(9.0).costs(wide, answers[:1], ORDERS, "published")
    assert fallback.unlock(reason=REASON)[0] == pytest.approx(published.gnmax(ORDERS, 9.0))


def test_one_teacher_and_one_label_are_enough_for_a_powerset() -> None:
    mechanism = PowersetVoting(2.0)
    tallies = mechanism.tally(np.ones((1, 1, 1), dtype=np.int64), 1)
    for bounds in ("published", "exact"):
        cost = mechanism.costs(tallies, np.ones((1, 1), dtype=np.int64), ORDERS, bounds)
        assert np.all(cost.unlock(reason=REASON) > 0)
    assert mechanism.events(1) == (GaussianArgmax(2.0, 2),)


def test_the_event_of_a_powerset_survives_whatever_stores_it() -> None:
    for labels, classes in [(3, 8), (61, 2**61), (62, 2**62), (500, 2**62)]:
        (event,) = PowersetVoting(2.0).events(labels)
        assert event == GaussianArgmax(2.0, classes)
        assert from_json(event.to_json()) == event
    assert PowersetVoting(2.0, 2).events(20) == (GaussianArgmax(2.0, 1 + 20 + 190),)
    with pytest.raises(ParameterError, match="500"):
        PowersetVoting(2.0).events(501)


@pytest.mark.parametrize(("labels", "most"), [(1, None), (4, None), (5, 2), (6, 3), (5, 1), (4, 9)])
def test_every_set_without_votes_has_one_place(labels: int, most: int | None) -> None:
    order = SetOrder(labels, most)
    every = [tuple(order.at(place).tolist()) for place in range(order.allowed)]
    limit = labels if most is None else most
    allowed = {one for one in itertools.product((0, 1), repeat=labels) if sum(one) <= limit}
    assert len(every) == len(allowed)
    assert set(every) == allowed
    for place, one in enumerate(every):
        assert order.place(np.flatnonzero(one)) == place
    draw = np.random.default_rng(labels)
    for number in {0, 1, len(every) // 2, len(every) - 1}:
        chosen = draw.permutation(len(every))[:number]
        listed = [every[place] for place in chosen]
        packed = np.packbits(np.array(listed, dtype=bool).reshape(number, labels), axis=1)
        found = [
            tuple(order.unlisted(place, packed).tolist()) for place in range(len(every) - number)
        ]
        assert len(set(found)) == len(found)
        assert set(found) == allowed - set(listed)


def test_places_of_very_many_sets() -> None:
    order = SetOrder(500, None)
    assert order.at(0).sum() == 0
    assert order.at(order.allowed - 1).sum() == 500
    for place in (1, 2**200 + 12345, 2**499, order.allowed - 2):
        assert order.place(np.flatnonzero(order.at(place))) == place


def test_a_powerset_without_noise_answers_with_the_plurality() -> None:
    ballots = np.array([[[1, 0, 1], [1, 1, 0], [1, 0, 1]], [[0, 0, 0], [1, 1, 1], [1, 1, 1]]])
    assert release(PowersetVoting(NOBODY), ballots).tolist() == [[1, 0, 1], [1, 1, 1]]
    assert release(PowersetVoting(NOBODY, 2), ballots).tolist() == [[1, 0, 1], [1, 1, 0]]


def test_the_largest_unobserved_noise_is_the_quantile_of_its_uniform() -> None:
    mechanism = PowersetVoting(3.0)
    noise = QueryNoise(SeededNoise(4), keys(50))
    uniform = np.exp(-QueryNoise(SeededNoise(4), keys(50)).exponential(1)[:, 0])
    for number in (1, 1000, 2**40, 2**500):
        drawn = mechanism._largest([number] * 50, QueryNoise(SeededNoise(4), keys(50)))
        expected = powerset.unobserved_maximum_quantile(uniform, float(number), 3.0)
        assert drawn == pytest.approx(expected, rel=1e-9)
    assert np.all(np.isneginf(mechanism._largest([0] * 50, noise)))


def test_tau_of_a_powerset_is_the_same_however_it_is_written() -> None:
    assert PowersetVoting(4.0, 3.0).describe() == PowersetVoting(4.0, 3).describe()  # type: ignore[arg-type]

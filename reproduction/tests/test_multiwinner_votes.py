"""Votes of the multi-winner experiments: counts by hand, costs against full enumeration."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ballotine.noise import QueryNoise, SeededNoise
from ballotine.privacy import conversion, exact, published
from ballotine.privacy.guarantee import Budget
from ballotine.types import FloatArray
from ballotine.voting.multilabel.ballots import (
    UNCLIPPED,
    ByteArray,
    Clipping,
    LabelTallies,
    SubsetTallies,
)
from ballotine_reproduction.multiwinner.affordable import ORDERS, affordable, repeatable
from ballotine_reproduction.multiwinner.votes import LabelVotes, SetVotes, Votes

examples = settings(max_examples=15, deadline=None)
BUDGET = Budget(8.0, 1e-5)


def ballots_of(seed: int, queries: int, teachers: int, labels: int, share: float) -> ByteArray:
    drawn = np.random.default_rng(seed).random((queries, teachers, labels))
    return (drawn < share).astype(np.uint8)


def all_votes(ballots: ByteArray) -> list[Votes]:
    return [
        LabelVotes(LabelTallies.from_ballots(ballots, UNCLIPPED)),
        LabelVotes(LabelTallies.from_ballots(ballots, Clipping(1.2))),
        LabelVotes(LabelTallies.from_ballots(ballots, Clipping(1.5, "l1"))),
        SetVotes(SubsetTallies.from_ballots(ballots)),
        SetVotes(SubsetTallies.from_ballots(ballots, 2)),
    ]


def enumerated(ballots: ByteArray, most: int) -> FloatArray:
    """Votes of every allowed set, those without votes included, set by set."""
    labels = ballots.shape[2]
    sets = [one for one in product((0, 1), repeat=labels) if sum(one) <= most]
    tallies = [Counter(tuple(map(int, ballot)) for ballot in query) for query in ballots]
    return np.array([[float(tally[one]) for one in sets] for tally in tallies])


@examples
@given(st.integers(0, 2**31), st.sampled_from([0.0, 0.1, 0.5]), st.sampled_from([0.7, 3.0, 12.0]))
def test_powerset_costs_are_those_of_all_sets_enumerated(
    seed: int, share: float, sigma: float
) -> None:
    ballots = ballots_of(seed, 4, 12, 4, share)
    full = enumerated(ballots, 4)
    votes = SetVotes(SubsetTallies.from_ballots(ballots))
    one_sided = published.gnmax_data_dependent(full, ORDERS, sigma, two_sided=False)
    np.testing.assert_allclose(votes.paper(sigma), one_sided, rtol=1e-7)
    np.testing.assert_allclose(votes.exact(sigma), exact.gnmax(full, ORDERS, sigma), rtol=1e-6)


def test_a_limit_on_labels_leaves_fewer_sets_to_enumerate() -> None:
    ballots = ballots_of(3, 5, 12, 4, 0.15)
    ballots[ballots.sum(axis=2) > 2] = 0
    full = enumerated(ballots, 2)
    assert full.shape[1] == 11
    votes = SetVotes(SubsetTallies.from_ballots(ballots, 2))
    one_sided = published.gnmax_data_dependent(full, ORDERS, 3.0, two_sided=False)
    np.testing.assert_allclose(votes.paper(3.0), one_sided, rtol=1e-7)


@examples
@given(st.integers(0, 2**31), st.sampled_from([0.05, 0.4]), st.sampled_from([0.8, 4.0, 20.0]))
def test_true_accounts_are_ordered_and_rows_can_be_priced_apart(
    seed: int, share: float, sigma: float
) -> None:
    for votes in all_votes(ballots_of(seed, 6, 10, 5, share)):
        strict, fixed = votes.strict(sigma), votes.exact(sigma)
        assert np.all(strict <= votes.corrected(sigma) * (1 + 1e-9))
        assert np.all(fixed <= strict * (1 + 1e-9) + 1e-11)
        assert np.all(votes.paper(sigma) <= votes.claimed(sigma) * (1 + 1e-12))
        for account in (votes.paper, votes.exact):
            np.testing.assert_allclose(account(sigma, slice(2, 5)), account(sigma)[2:5], rtol=1e-9)


def test_the_claims_are_the_papers() -> None:
    sigma, labels = 3.0, 5
    binary, l2, l1, sets, _ = all_votes(ballots_of(0, 2, 10, labels, 0.3))
    assert np.allclose(binary.claimed(sigma), labels * ORDERS / sigma**2)
    assert np.allclose(l2.claimed(sigma), 1.2**2 * ORDERS / sigma**2)
    assert np.allclose(l1.claimed(sigma), 2 * 1.5**2 * ORDERS / sigma**2)
    assert np.allclose(sets.claimed(sigma), ORDERS / sigma**2)
    # Two disjoint ballots of two labels, clipped to 1.2 each, are √2 · 1.2 apart.
    assert np.allclose(l2.corrected(sigma), 2 * 1.2**2 * ORDERS / sigma**2)
    assert np.all(l2.corrected(sigma) > 1.9 * l2.claimed(sigma))


@examples
@given(st.integers(0, 2**31))
def test_winners_and_gaps_by_hand(seed: int) -> None:
    ballots = ballots_of(seed, 5, 9, 3, 0.4)
    binary, *_ = all_votes(ballots)
    sets = SetVotes(SubsetTallies.from_ballots(ballots))
    for query, named in enumerate(ballots.tolist()):
        sums = [sum(ballot[label] for ballot in named) for label in range(3)]
        assert binary.noiseless()[query].tolist() == [int(2 * each > 9) for each in sums]
        assert binary.gaps()[query].tolist() == [abs(2 * each - 9) for each in sums]
        ranked = Counter(map(tuple, named)).most_common()
        second = ranked[1][1] if len(ranked) > 1 else 0
        assert sets.gaps()[query] == ranked[0][1] - second
        best = {one for one, number in ranked if number == ranked[0][1]}
        assert tuple(sets.noiseless()[query].tolist()) in best


def test_unanimous_sets_have_the_largest_gap() -> None:
    sets = SetVotes(SubsetTallies.from_ballots(np.ones((2, 7, 1), dtype=np.uint8)))
    assert sets.gaps().tolist() == [7.0, 7.0]


def test_little_noise_answers_with_the_winner() -> None:
    ballots = np.repeat(ballots_of(1, 8, 1, 4, 0.4), 11, axis=1)
    keys = [number.to_bytes(8, "big") for number in range(8)]
    for votes in all_votes(ballots)[:1] + all_votes(ballots)[3:4]:
        noise = QueryNoise(SeededNoise(0), keys)
        assert np.array_equal(votes.answers(0.01, noise), votes.noiseless())
        assert np.array_equal(votes.noiseless(), ballots[:, 0])


def counted_one_by_one(costs: FloatArray, budget: Budget, method: conversion.Method) -> int:
    total = np.zeros(ORDERS.size)
    for number, cost in enumerate(costs):
        total = total + cost
        price = -conversion.allowance(ORDERS, 0.0, budget.delta, method)
        if (total + price).min() > budget.epsilon:
            return number
    return len(costs)


@pytest.mark.parametrize("method", ["improved", "classic"])
@pytest.mark.parametrize("scale", [1e-4, 2e-3, 5e-3, 0.1, 30.0])
def test_affordable_queries_are_counted_one_by_one(scale: float, method: conversion.Method) -> None:
    draw = np.random.default_rng(5)
    costs = scale * draw.random((1300, 1)) * ORDERS
    asked: list[slice] = []

    def chunk(rows: slice) -> FloatArray:
        asked.append(rows)
        return costs[rows]

    number = affordable(chunk, len(costs), BUDGET, method)
    assert number == counted_one_by_one(costs, BUDGET, method)
    assert asked[-1].start <= number
    each = costs[0]
    expected = counted_one_by_one(np.tile(each, (1300, 1)), BUDGET, method)
    assert min(1300, repeatable(each, BUDGET, method)) == expected

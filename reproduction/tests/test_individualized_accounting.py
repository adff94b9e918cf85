"""Counts of labels against slow loops that follow the rules one query at a time."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ballotine.ledger import Binding, Ledger
from ballotine.privacy import conversion, exact, published
from ballotine.privacy.conversion import OrderGridWarning
from ballotine.privacy.events import Event
from ballotine.privacy.reach import Reach
from ballotine.types import FloatArray, IntArray
from ballotine.voting import ConfidentGNMax, GNMax
from ballotine_reproduction.individualized import accounting
from ballotine_reproduction.individualized.accounting import (
    FIXED_ORDERS,
    PAPER_ORDERS,
    checked_bound,
    fixed,
    paper,
    strict,
)
from ballotine_reproduction.individualized.elections import (
    DELTA,
    GroupElection,
    Method,
    SegmentVotes,
    balanced_weighting,
    standard,
    upsampling,
    vanishing,
    weighting,
    without_check,
)
from ballotine_reproduction.individualized.layout import QUARTERS
from ballotine_reproduction.individualized.tallied import Tallied
from ballotine_reproduction.individualized.three_groups import charged_by_rank, printed_weights
from ballotine_reproduction.individualized.two_groups import budgets_of

MECHANISM = ConfidentGNMax(sigma=40.0, threshold=200.0, sigma_threshold=150.0)
METHODS: tuple[Method, ...] = (
    standard,
    without_check,
    upsampling,
    weighting,
    balanced_weighting,
    vanishing,
)


def made(queries: int, classes: int, seed: int = 0) -> SegmentVotes:
    """250 teachers in four segments and four layers who mostly agree."""
    draw = np.random.default_rng(seed)
    deal = QUARTERS.deal(np.arange(2500), 250, seed)
    truth = draw.integers(0, classes, queries)
    easy = draw.beta(6.0, 0.6, queries)
    wrong = draw.integers(0, classes, (queries, len(deal.shares)))
    knows = draw.random(wrong.shape) < easy[:, None]
    ballots = np.where(knows, truth[:, None], wrong).astype(np.uint8)
    return SegmentVotes(ballots, truth, deal.segment, deal.layer, classes, MECHANISM)


def epsilon(orders: FloatArray, cost: FloatArray, method: conversion.Method) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OrderGridWarning)
        return conversion.epsilon(orders, cost, DELTA, method)[0]


def units(election: GroupElection) -> list[tuple[float, Reach, Callable[[int], bool]]]:
    """Every kind of record: its budget, its reach, and whether its teachers vote on a query."""
    found: list[tuple[float, Reach, Callable[[int], bool]]] = []
    for group in election.plan.groups:
        votes = election.plan.votes_at(group.name, election.turns, len(election.tallies))
        for seat in range(votes.shape[1]):
            present = votes[:, seat]
            found.append((group.epsilon, group.reach, lambda q, p=present: bool(p[q])))
            if not group.takes_turns:
                break
    return found


def slowly(
    election: GroupElection,
    price: Callable[[FloatArray, Reach], FloatArray],
    orders: FloatArray,
    method: conversion.Method,
) -> int:
    """Ask one query after another until a record's ε exceeds its budget."""
    counts = election.tallies.unlock(reason="a test")
    records = units(election)
    prices = {reach: price(counts, reach) for _, reach, _ in records}
    spent = [np.zeros(orders.size) for _ in records]
    for query in range(len(counts)):
        for place, (budget, reach, votes) in enumerate(records):
            if votes(query):
                spent[place] = spent[place] + prices[reach][query]
                if epsilon(orders, spent[place], method) > budget:
                    return query
    return len(counts)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("classes", [2, 10])
def test_the_papers_way_stops_at_the_first_query_that_exceeds_a_budget(
    method: Method, classes: int
) -> None:
    election = method(made(150, classes), budgets_of(4, 50))
    answers = election.answers(0)
    mechanism = election.plan.mechanism
    assert isinstance(mechanism, GNMax | ConfidentGNMax)

    def price(counts: FloatArray, reach: Reach) -> FloatArray:
        cost = published.gnmax_data_dependent(
            counts, PAPER_ORDERS, mechanism.sigma, reach.votes, two_sided=False
        )
        cost[answers < 0] = 0.0
        if isinstance(mechanism, ConfidentGNMax):
            cost += PAPER_ORDERS * reach.votes**2 / (2 * mechanism.sigma_threshold**2)
        return cost

    expected = slowly(election, price, PAPER_ORDERS, "classic")
    count = paper(election, answers)
    assert count.queries == expected
    assert count.labels == sum(1 for answer in answers[:expected] if answer >= 0)
    assert count.exhausted == (expected == 150)


@pytest.mark.parametrize("method", [standard, weighting, vanishing])
def test_the_fixed_way_sums_exact_costs(method: Method, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accounting, "CHUNK", 37)
    election = method(made(160, 3), np.array([0.4, 0.4, 0.2, 0.2]))
    answers = election.answers(0)
    mechanism = election.plan.mechanism
    assert isinstance(mechanism, ConfidentGNMax)

    def price(counts: FloatArray, reach: Reach) -> FloatArray:
        return exact.confident_gnmax(
            counts,
            FIXED_ORDERS,
            mechanism.sigma,
            mechanism.threshold,
            mechanism.sigma_threshold,
            reach.weight,
        )

    expected = slowly(election, price, FIXED_ORDERS, "improved")
    assert 0 < expected < 160
    assert fixed(election, answers).queries == expected


@pytest.mark.parametrize("method", METHODS)
def test_the_strict_way_asks_as_many_queries_as_the_ledger_pays_for(method: Method) -> None:
    """The ledger itself, asked one query at a time."""
    election = method(made(170, 10), budgets_of(4, 50))
    answers, plan = election.answers(1), election.plan
    binding = Binding(plan.charge(10), "ensemble", plan.describe())

    def realised(answers: IntArray, group: str) -> Counter[Event]:
        return plan.mechanism.realised(answers, 10, plan.reach(group))

    asked = 0
    with Ledger.open(None, plan.budgets) as ledger:
        while asked < len(answers):
            grant = ledger.reserve([asked.to_bytes(8, "big")], binding)
            if grant.refused:
                break
            ledger.record(grant, answers[asked : asked + 1], realised)
            asked += 1
    assert 0 < asked < len(answers)
    count = strict(election, answers)
    assert count.queries == asked
    assert count.labels == int((answers[:asked] >= 0).sum())


@given(
    counts=st.lists(st.tuples(*[st.integers(0, 12)] * 3), min_size=1, max_size=4),
    teachers=st.integers(1, 2),
    sigma=st.floats(2.0, 8.0),
    threshold=st.floats(3.0, 30.0),
)
@settings(max_examples=40, deadline=None)
def test_the_bound_for_shared_records_is_above_the_exact_cost(
    counts: list[tuple[int, int, int]], teachers: int, sigma: float, threshold: float
) -> None:
    # Every teacher that moves must have a vote to move.
    tallies = np.array(counts, dtype=np.float64) + 2.0
    mechanism = ConfidentGNMax(sigma, threshold, 3 * sigma)
    bound = checked_bound(tallies, mechanism, Reach(teachers=teachers))
    true = exact.confident_gnmax(
        tallies, FIXED_ORDERS, sigma, threshold, 3 * sigma, teachers=teachers
    )
    assert np.all(bound >= true * (1 - 1e-9) - 1e-10)
    everything = published.gnmax(FIXED_ORDERS, sigma, teachers) + published.threshold(
        FIXED_ORDERS, 3 * sigma, teachers
    )
    assert np.all(bound <= everything * (1 + 1e-9))


def test_upsampling_counts_every_layer_and_scales_the_noise() -> None:
    ensemble = made(20, 10)
    election = upsampling(ensemble, budgets_of(8, 25))
    copies = np.array([3, 1, 1, 1])
    members = ensemble.layer < copies[ensemble.segment]
    by_hand = np.array(
        [np.bincount(row[members], minlength=10) for row in ensemble.ballots.astype(int)]
    )
    assert np.array_equal(election.tallies.unlock(reason="a test"), by_hand)
    mechanism = election.plan.mechanism
    assert isinstance(mechanism, ConfidentGNMax)
    growth = members.sum() / 250
    assert growth == pytest.approx(1.5, abs=0.01)
    assert mechanism.sigma == pytest.approx(40 * growth)
    assert mechanism.threshold == pytest.approx(200 * growth)
    assert {g.epsilon: g.reach.teachers for g in election.plan.groups} == {log(2): 1, log(8): 3}


def test_weighting_weighs_votes_by_budget_and_keeps_their_sum() -> None:
    ensemble = made(20, 10)
    budgets = budgets_of(8, 50)
    election = weighting(ensemble, budgets)
    base = ensemble.layer == 0
    weights = budgets[ensemble.segment[base]]
    weights = weights / weights.mean()
    by_hand = np.array(
        [np.bincount(row[base], weights, minlength=10) for row in ensemble.ballots.astype(int)]
    )
    assert np.allclose(election.tallies.unlock(reason="a test"), by_hand, rtol=1e-5)
    assert by_hand.sum(axis=1) == pytest.approx(np.full(20, 250.0))


def test_vanishing_lets_the_same_number_vote_with_noise_to_match() -> None:
    election = vanishing(made(40, 10), budgets_of(4, 50))
    counts = election.tallies.unlock(reason="a test")
    voters = counts.sum(axis=1)
    assert set(voters.tolist()) == {election.plan.voters}
    # Half of the teachers always vote, the others on 1/2⁴ of the queries.
    assert election.plan.voters == 125 + 125 // 16
    mechanism = election.plan.mechanism
    assert isinstance(mechanism, ConfidentGNMax)
    assert mechanism.sigma == pytest.approx(40 * election.plan.voters / 250)


def test_weights_as_printed_and_charges_by_rank() -> None:
    ensemble = made(100, 10)
    budgets = np.array([0.6, 0.3, 0.3, 0.3])
    election = printed_weights(ensemble, budgets)
    low, high = sorted(election.plan.groups, key=lambda group: group.epsilon)
    # Three quarters with ε = 0.3 and one with ε = 0.6: products 3 to 2, mean 1.
    sizes = np.bincount(ensemble.segment[ensemble.layer == 0])
    assert low.reach.weight / high.reach.weight == pytest.approx(
        sizes[1:].sum() / (2 * sizes[0]), rel=1e-9
    )
    assert low.reach.weight * sizes[1:].sum() + high.reach.weight * sizes[0] == pytest.approx(250)
    wrong = charged_by_rank(election)
    charged = {group.epsilon: group.reach.weight for group in wrong.plan.groups}
    assert charged == {0.3: high.reach.weight, 0.6: low.reach.weight}
    answers = election.answers(0)
    assert paper(wrong, answers).labels > paper(election, answers).labels


def test_answers_follow_from_the_seed() -> None:
    election = weighting(made(50, 10), budgets_of(4, 50))
    assert np.array_equal(election.answers(3), election.answers(3))
    assert not np.array_equal(election.answers(3), election.answers(4))


def test_another_order_of_asking_keeps_ballots_and_truth_together() -> None:
    ensemble = made(60, 10)
    shuffled = ensemble.shuffled(1)
    before = sorted((t, b.tobytes()) for t, b in zip(ensemble.truth, ensemble.ballots, strict=True))
    after = sorted((t, b.tobytes()) for t, b in zip(shuffled.truth, shuffled.ballots, strict=True))
    assert before == after
    assert not np.array_equal(ensemble.truth, shuffled.truth)


def test_a_cell_says_when_the_pool_ended_first() -> None:
    cell = Tallied()
    cell.add(made(30, 2), standard, budgets_of(4, 50), 0, 2)
    strict_cell, fixed_cell = cell.cells()[1:]
    assert fixed_cell.startswith("≥ ")
    assert not strict_cell.startswith("≥ ") or "strict" in cell.exhausted
    assert len(cell.labels["paper"]) == len(cell.accuracy) == 1

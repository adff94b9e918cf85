"""No record pays more than its group is charged: exact divergences, record by record.

The oracle knows nothing of plans. For each record it finds the teachers that the deal gave it,
lets them vote anything on each query they vote on, and takes the largest exact divergence.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from ballotine.ledger.charge import cost_of
from ballotine.oracle import gaussian, votes
from ballotine.oracle.divergence import renyi
from ballotine.privacy.reach import Reach
from ballotine.voting import ConfidentGNMax, GNMax, Mechanism
from ballotine.voting.individual import (
    Plan,
    Scheme,
    Upsampling,
    Vanishing,
    Weighting,
    group_costs,
)

ORDERS = np.array([1.5, 4.0, 16.0])
BUDGETS = {"strict": 1.0, "mild": 2.0, "easy": 3.0}
RECORDS = {"strict": 5, "mild": 4, "easy": 3}
GROUPS = np.array([0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 0])
GNMAX = GNMax(2.0)
CONFIDENT = ConfidentGNMax(2.0, threshold=3.0, sigma_threshold=3.0)
SCHEMES = [
    Upsampling(BUDGETS, rule="proportional"),
    Weighting(BUDGETS),
    Weighting(BUDGETS, "proportional"),
    Vanishing(BUDGETS, "quadratic"),
]


def law(plan: Plan, ballots: np.ndarray, turn: int, classes: int) -> np.ndarray:
    """Log-probabilities of what one query releases."""
    counts = plan.tally(ballots[None], classes, np.array([turn])).unlock(reason="test")[0]
    mechanism = plan.mechanism
    winner = gaussian.argmax_law(tuple(counts.tolist()), mechanism.sigma)  # type: ignore[attr-defined]
    if isinstance(mechanism, GNMax):
        return winner
    assert isinstance(mechanism, ConfidentGNMax)
    fails, passes = gaussian.argmax_law(  # a check is a two-class vote with noise on one side
        (mechanism.threshold, float(counts.max())), mechanism.sigma_threshold / np.sqrt(2)
    )
    return np.concatenate(([fails], passes + winner))


def worst_of_record(
    plan: Plan, teachers: list[int], ballots: np.ndarray, turn: int, classes: int
) -> np.ndarray:
    """The largest two-sided divergence when these teachers vote otherwise on one query."""
    before = law(plan, ballots, turn, classes)
    worst = np.zeros(len(ORDERS))
    for others in itertools.product(range(classes), repeat=len(teachers)):
        changed = ballots.copy()
        changed[teachers] = others
        after = law(plan, changed, turn, classes)
        for p, q in ((before, after), (after, before)):
            worst = np.maximum(worst, renyi(p[None], q[None], ORDERS)[0])
    return worst


@pytest.mark.parametrize("mechanism", [GNMAX, CONFIDENT], ids=lambda m: m.name)
@pytest.mark.parametrize("scheme", SCHEMES, ids=repr)
def test_the_most_affected_record_pays_no_more_than_its_group(
    scheme: Scheme, mechanism: Mechanism
) -> None:
    classes, queries = 3, 4
    plan = scheme.plan(RECORDS, 6, mechanism, classes, 1e-5)
    partition = plan.deal(GROUPS, b"secret")
    rng = np.random.default_rng(4)
    ballots = rng.integers(0, classes, size=(queries, plan.teachers))
    charges = dict(plan.charge(classes).by_group)
    tallies = plan.tally(ballots, classes, np.arange(queries))
    answers = np.zeros(queries, dtype=np.int64)
    published = group_costs(plan, tallies, answers, ORDERS, "published", np.arange(queries))
    known: dict[tuple[int, ...], np.ndarray] = {}
    closest = 0.0
    for record, number in enumerate(GROUPS.tolist()):
        teachers = [t for t, share in enumerate(partition.shares) if record in share]
        if tuple(teachers) not in known:
            known[tuple(teachers)] = np.sum(
                [worst_of_record(plan, teachers, ballots[q], q, classes) for q in range(queries)],
                axis=0,
            )
        truth = known[tuple(teachers)]
        name = list(BUDGETS)[number]
        share = charges[name]
        charged = np.max(share.votes_after(queries)) * cost_of(share.events, ORDERS)
        assert np.all(truth <= charged * (1 + 1e-9))
        assert np.all(truth <= published[name].unlock(reason="test").sum(axis=0) * (1 + 1e-9))
        closest = max(closest, float((truth / charged).max()))
    assert closest > 0.2, "the test is empty when nothing comes near what is charged"


@pytest.mark.parametrize("counts", [(1.0, 1.0, 4.0), (3.0, 3.0, 0.0), (5.0, 4.0, 1.0)])
@pytest.mark.parametrize("reached", [1, 2, 3])
def test_copies_cost_no_more_than_charged_even_when_they_move_apart(
    counts: tuple[float, ...], reached: int
) -> None:
    plan = SCHEMES[0].plan(RECORDS, 6, GNMAX, 3, 1e-5)
    group = next(g for g in plan.groups if g.reach.teachers == reached)
    events = GNMax(1.5).events(3, group.reach)
    truth = votes.gnmax(counts, 1.5, tuple(ORDERS.tolist()), 1.0, reached)
    assert np.all(truth.values <= cost_of(events, ORDERS) * (1 + 1e-9))
    assert np.all(truth.values > 0)


@pytest.mark.parametrize("weights", [(0.5, 1.0, 1.8), (0.9, 1.1, 1.3)])
def test_weights_cost_no_more_than_charged(weights: tuple[float, ...]) -> None:
    counts = (sum(weights), 2 * weights[0], weights[2])
    for weight in weights:
        events = GNMAX.events(3, Reach(weight))
        truth = votes.gnmax(counts, 2.0, tuple(ORDERS.tolist()), weight)
        assert np.all(truth.values <= cost_of(events, ORDERS) * (1 + 1e-9))
        # Charging it as one plain vote would be wrong for the heavy ones.
        plain = cost_of(GNMAX.events(3), ORDERS)
        assert weight < 1.5 or np.any(truth.values > plain)

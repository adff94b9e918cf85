"""Equal budgets are standard PATE, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ballotine.data.partition import random_partition
from ballotine.ledger.charge import GroupCharge
from ballotine.privacy.reach import ONE_VOTE
from ballotine.voting import Mechanism, Tallies
from ballotine.voting.individual import Scheme, Vanishing, history
from tests.voting.individual.cases import CONFIDENT, DELTA, GNMAX, RECORDS, every_rule, numbers_of

EQUAL = {"high": 1.5, "average": 1.5, "low": 1.5}


@pytest.mark.parametrize("mechanism", [GNMAX, CONFIDENT], ids=lambda m: m.name)
@pytest.mark.parametrize("scheme", every_rule(EQUAL), ids=repr)
def test_equal_budgets_change_nothing(scheme: Scheme, mechanism: Mechanism) -> None:
    plan = scheme.plan(RECORDS, 25, mechanism, 4, DELTA)
    assert plan.standard
    assert plan.mechanism == mechanism
    assert (plan.teachers, plan.voters) == (25, 25)
    for group in plan.groups:
        assert group.reach == ONE_VOTE
        assert group.reach.weight == 1.0
        assert (group.teachers, group.voters) == (tuple(range(25)), 25)
    assert dict(plan.charge(4).by_group) == {
        name: GroupCharge(mechanism.events(4)) for name in ("high", "average", "low")
    }
    ballots = np.random.default_rng(3).integers(0, 4, size=(30, 25))
    counted = plan.tally(ballots, 4).unlock(reason="test")
    assert np.array_equal(counted, Tallies.of(ballots, 4).unlock(reason="test"))
    dealt, plain = plan.deal(numbers_of(RECORDS), b"secret"), random_partition(1000, 25, b"secret")
    assert not dealt.data_dependent
    for share, same in zip(dealt.shares, plain.shares, strict=True):
        assert np.array_equal(share, same)


@pytest.mark.parametrize("scheme", every_rule({"all": 2.0}), ids=repr)
@settings(max_examples=15, deadline=None)
@given(records=st.integers(1, 80), teachers=st.integers(1, 12), seed=st.integers(0, 99))
def test_one_group_is_dealt_as_ever(scheme: Scheme, records: int, teachers: int, seed: int) -> None:
    records += teachers
    secret = seed.to_bytes(2, "big")
    plan = scheme.plan({"all": records}, teachers, GNMAX, 3, DELTA)
    dealt = plan.deal(np.zeros(records, dtype=np.int64), secret).shares
    plain = random_partition(records, teachers, secret).shares
    assert [share.tolist() for share in dealt] == [share.tolist() for share in plain]


def test_equal_budgets_cost_what_they_always_did() -> None:
    plan = Vanishing(EQUAL).plan(RECORDS, 25, CONFIDENT, 4, DELTA)
    tallies = Tallies(np.array([[20.0, 5.0, 0.0, 0.0], [9.0, 8.0, 8.0, 0.0]]))
    answers, orders = np.array([0, -1]), np.array([2.0, 8.0, 32.0])
    costs = CONFIDENT.costs(tallies, answers, orders, "exact").unlock(reason="test")
    classic = np.log(1 / DELTA) / (orders - 1)
    expected = [np.min(costs[0] + classic), np.min(costs.sum(axis=0) + classic)]
    found = history(plan, tallies, answers, orders, "exact", method="classic")
    for epsilons in found.values():
        assert epsilons.unlock(reason="test") == pytest.approx(expected, rel=1e-12)


def test_groups_with_the_same_budget_share_their_teachers() -> None:
    budgets = {"north": 1.0, "south": 1.0, "east": 3.0}
    for scheme in every_rule(budgets):
        plan = scheme.plan({"north": 20, "south": 40, "east": 60}, 12, GNMAX, 3, DELTA)
        north, south, east = plan.groups
        assert (north.teachers, north.voters, north.reach) == (
            south.teachers,
            south.voters,
            south.reach,
        )
        assert (east.teachers, east.voters, east.reach) != (
            south.teachers,
            south.voters,
            south.reach,
        )

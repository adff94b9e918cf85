"""Partitions by group: teachers of one group, and copies at different teachers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ballotine.data.partition.by_group import deal_copies
from ballotine.errors import DataError
from ballotine.voting.individual import Scheme, Upsampling, Vanishing, Weighting
from tests.voting.individual.cases import BUDGETS, DELTA, GNMAX, RECORDS, every_rule, numbers_of


@settings(max_examples=80, deadline=None)
@given(
    copies=st.lists(st.integers(0, 9), min_size=1, max_size=60),
    extra=st.integers(0, 12),
    seed=st.integers(0, 99),
)
def test_copies_go_to_different_teachers(copies: list[int], extra: int, seed: int) -> None:
    copies = [*copies, 1]
    teachers = max(copies) + extra
    shares = deal_copies(np.array(copies), teachers, seed.to_bytes(2, "big")).shares
    assert len(shares) == teachers
    held: list[list[int]] = [[] for _ in copies]
    for teacher, share in enumerate(shares):
        for record in share.tolist():
            held[record].append(teacher)
    for number, where in zip(copies, held, strict=True):
        assert len(where) == number
        assert len(set(where)) == number
    sizes = [len(share) for share in shares]
    assert max(sizes) - min(sizes) <= 1


def test_copies_are_spread_over_all_pairs_of_teachers() -> None:
    """No two teachers hold the same records, as they would if records were dealt in rows."""
    shares = deal_copies(np.full(3000, 3), 30, b"secret").shares
    sets = [set(share.tolist()) for share in shares]
    common = [len(sets[i] & sets[j]) for i in range(30) for j in range(i)]
    expected = 3000 * 3 * 2 / (30 * 29)  # pairs of teachers per record, spread evenly
    assert 0.3 * expected < min(common)
    assert max(common) < 2 * expected


@pytest.mark.parametrize("scheme", every_rule(BUDGETS), ids=repr)
def test_everybody_is_taught_as_planned(scheme: Scheme) -> None:
    groups = numbers_of(RECORDS)
    plan = scheme.plan(RECORDS, 40, GNMAX, 10, DELTA)
    partition = plan.deal(groups, b"secret")
    assert not partition.data_dependent
    assert len(partition.shares) == plan.teachers
    for number, group in enumerate(plan.groups):
        holders = np.zeros(len(groups), dtype=int)
        for teacher in group.teachers:
            holders[partition.shares[teacher]] += 1
        assert np.all(holders[groups == number] == group.reach.teachers)
        if scheme.name != "upsampling":
            assert np.all(holders[groups != number] == 0)
    sizes = [len(share) for share in partition.shares]
    assert max(sizes) <= 1.2 * 25 + 1
    assert min(sizes) >= 25 / 1.2 - 1


@pytest.mark.parametrize("scheme", [Upsampling(BUDGETS), Weighting(BUDGETS), Vanishing(BUDGETS)])
def test_a_deal_follows_from_groups_and_secret(scheme: Scheme) -> None:
    groups = numbers_of(RECORDS)
    plan = scheme.plan(RECORDS, 40, GNMAX, 10, DELTA)

    def dealt(secret: bytes) -> list[list[int]]:
        return [share.tolist() for share in plan.deal(groups, secret).shares]

    assert dealt(b"one") == dealt(b"one")
    assert dealt(b"one") != dealt(b"two")


def test_groups_must_be_those_of_the_plan() -> None:
    plan = Weighting(BUDGETS, "proportional").plan(RECORDS, 40, GNMAX, 10, DELTA)
    groups = numbers_of(RECORDS)
    with pytest.raises(DataError, match="230 records of the group 'low', but there are 229"):
        plan.deal(np.delete(groups, np.flatnonzero(groups == 2)[0]), b"s")
    with pytest.raises(DataError, match="numbers from 0 to 2"):
        plan.deal(np.where(groups == 2, 3, groups), b"s")
    with pytest.raises(DataError, match="whole number"):
        plan.deal(groups.astype(float), b"s")

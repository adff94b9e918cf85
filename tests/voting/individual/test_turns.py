"""Tallies of weighted votes and of those whose turn it is; the schedule of turns."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ballotine.errors import DataError, ParameterError
from ballotine.ledger.charge import Charge, GroupCharge
from ballotine.voting.individual import Plan, Scheme, Vanishing, Weighting
from tests.voting.individual.cases import BUDGETS, CONFIDENT, DELTA, GNMAX, RECORDS, every_rule


def counted_one_by_one(
    plan: Plan, ballots: np.ndarray, classes: int, turns: np.ndarray
) -> np.ndarray:
    """Every query, group and teacher in turn, with exact fractions."""
    tallies = np.zeros((len(ballots), classes))
    for row, (votes, turn) in enumerate(zip(ballots.tolist(), turns.tolist(), strict=True)):
        counts = [Fraction(0)] * classes
        for teacher, vote in enumerate(votes):
            group = next(g for g in plan.groups if teacher in g.teachers)
            seat, size = group.teachers.index(teacher), len(group.teachers)
            first = turn * group.voters
            window = {(first + step) % size for step in range(group.voters)}
            if seat in window:
                counts[vote] += Fraction(group.reach.weight)
        tallies[row] = [float(count) for count in counts]
    return tallies


@pytest.mark.parametrize("scheme", every_rule(BUDGETS), ids=repr)
def test_tallies_against_counting_one_by_one(scheme: Scheme) -> None:
    plan = scheme.plan(RECORDS, 23, GNMAX, 4, DELTA)
    rng = np.random.default_rng(1)
    ballots = rng.integers(0, 4, size=(40, plan.teachers))
    turns = rng.permutation(1000)[:40]
    found = plan.tally(ballots, 4, turns).unlock(reason="test")
    assert found == pytest.approx(counted_one_by_one(plan, ballots, 4, turns), rel=1e-14)
    weight = sum(g.voters * g.reach.weight for g in plan.groups)
    if scheme.name != "upsampling":
        assert found.sum(axis=1) == pytest.approx(np.full(40, weight), rel=1e-14)


def test_a_class_that_holds_a_vote_holds_its_whole_weight() -> None:
    """Rounding must not hide a heavy vote from the exact costs."""
    plan = Weighting(BUDGETS, "proportional").plan(RECORDS, 10, GNMAX, 10, DELTA)
    rng = np.random.default_rng(2)
    ballots = rng.integers(0, 10, size=(300, 10))
    counts = plan.tally(ballots, 10).unlock(reason="test")
    for group in plan.groups:
        for teacher in group.teachers:
            assert np.all(counts[np.arange(300), ballots[:, teacher]] >= group.reach.weight)


def test_ballots_must_fit_the_plan() -> None:
    plan = Vanishing(BUDGETS).plan(RECORDS, 23, GNMAX, 4, DELTA)
    good = np.zeros((5, 23), dtype=np.int64)
    with pytest.raises(DataError, match=r"\(queries, 23\)"):
        plan.tally(good[:, 1:], 4, np.arange(5))
    with pytest.raises(DataError, match="from 0 to 3"):
        plan.tally(good + 4, 4, np.arange(5))
    with pytest.raises(DataError, match="from 0 to 3"):
        plan.tally(good - 1, 4, np.arange(5))
    for turns in (None, np.arange(4)):
        with pytest.raises(ParameterError, match="turn of every query"):
            plan.tally(good, 4, turns)


@settings(max_examples=60, deadline=None)
@given(teachers=st.integers(1, 40), part=st.floats(0, 1), turns=st.integers(0, 200))
def test_everyone_votes_equally_often(teachers: int, part: float, turns: int) -> None:
    voters = max(1, int(part * teachers))
    share = GroupCharge(GNMAX.events(3), voters, teachers)
    votes = share.votes_at(np.arange(turns))
    assert np.all(votes.sum(axis=1) == (1 if share.units == 1 else voters))
    total = votes.sum(axis=0)
    assert np.atleast_1d(share.votes_after(turns)).tolist() == total.tolist()
    if share.units > 1:
        fair = turns * voters / teachers
        assert set(total.tolist()) <= {int(np.floor(fair)), int(np.ceil(fair))}


@pytest.mark.parametrize("mechanism", [GNMAX, CONFIDENT], ids=lambda m: m.name)
@pytest.mark.parametrize("scheme", every_rule(BUDGETS), ids=repr)
def test_charges_are_what_the_plan_says_and_survive_the_ledgers_file(
    scheme: Scheme, mechanism: GNMAX.__class__
) -> None:
    plan = scheme.plan(RECORDS, 40, mechanism, 10, DELTA)
    charge = plan.charge(10)
    assert Charge.from_dict(charge.to_dict()) == charge
    shares = dict(charge.by_group)
    turns = np.arange(30)
    for group in plan.groups:
        share = shares[group.name]
        assert share.events == plan.mechanism.events(10, group.reach)
        votes = plan.votes_at(group.name, turns, 30)
        assert votes.shape == (30, len(group.teachers))
        assert np.all(votes.sum(axis=1) == group.voters)
        most = votes.sum(axis=0).max()
        assert np.max(share.votes_after(30)) == most

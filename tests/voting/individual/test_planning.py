"""What the planner chooses, and how well groups run out together."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ballotine.data.partition import Partition
from ballotine.errors import BudgetError, DataError, ParameterError
from ballotine.privacy.guarantee import Budget
from ballotine.privacy.plan import epsilon_of, queries_for
from ballotine.privacy.reach import Reach
from ballotine.voting import ConfidentGNMax, GNMax, LNMax, Mechanism
from ballotine.voting.individual import (
    Plan,
    Scheme,
    Upsampling,
    Vanishing,
    Weighting,
    smallest_budgets,
)
from ballotine.voting.individual.tiers import apportion
from ballotine.voting.individual.upsampling import whole_factors
from tests.voting.individual.cases import (
    BUDGETS,
    CONFIDENT,
    DELTA,
    GNMAX,
    RECORDS,
    every_rule,
    numbers_of,
)


def afforded(plan: Plan, name: str, classes: int) -> int:
    """Queries of one group by the planner of standard PATE."""
    group = plan.group(name)
    charges = [(event, 1.0) for event in plan.mechanism.events(classes, group.reach)]
    votes = queries_for(charges, plan.budgets[name])
    return votes * len(group.teachers) // group.voters


@settings(max_examples=60, deadline=None)
@given(sizes=st.lists(st.integers(1, 500), min_size=1, max_size=6), extra=st.integers(0, 60))
def test_seats_follow_the_sizes(sizes: list[int], extra: int) -> None:
    seats = min(len(sizes) + extra, sum(sizes))
    given_seats = apportion(sizes, seats)
    assert sum(given_seats) == seats
    quotas = [seats * size / sum(sizes) for size in sizes]
    for number, quota, size in zip(given_seats, quotas, sizes, strict=True):
        assert 1 <= number <= size
        assert number <= max(1, math.ceil(quota - 1e-9))
    if min(quotas) >= 1:  # then it is the method of the largest remainder
        floors = [math.floor(quota + 1e-9) for quota in quotas]
        assert all(0 <= n - f <= 1 for n, f in zip(given_seats, floors, strict=True))
        up = [q - f for n, q, f in zip(given_seats, quotas, floors, strict=True) if n > f]
        down = [q - f for n, q, f in zip(given_seats, quotas, floors, strict=True) if n == f]
        assert not up or not down or min(up) >= max(down) - 1e-9


@pytest.mark.parametrize("mechanism", [GNMAX, CONFIDENT], ids=lambda m: m.name)
@pytest.mark.parametrize("classes", [2, 10])
def test_balanced_weights_end_together(mechanism: Mechanism, classes: int) -> None:
    plan = Weighting(BUDGETS).plan(RECORDS, 250, mechanism, classes, DELTA)
    counts = [afforded(plan, name, classes) for name in BUDGETS]
    assert max(counts) - min(counts) <= 1
    total = sum(len(group.teachers) * group.reach.weight for group in plan.groups)
    assert total == pytest.approx(250, rel=1e-5)
    assert plan.mechanism == mechanism
    assert plan.exhaustion(classes).left_over < 0.02


def test_weights_by_the_other_rules() -> None:
    epsilons, teachers = np.array([1.0, 2.0, 3.0]), np.array([85, 108, 57])  # of 85, 107.5, 57.5
    log = np.log(1 / DELTA)
    for rule, wanted in (
        ("proportional", epsilons),
        ("data-independent", np.sqrt(log + epsilons) - np.sqrt(log)),
    ):
        plan = Weighting(BUDGETS, rule).plan(RECORDS, 250, GNMAX, 10, DELTA)  # type: ignore[arg-type]
        assert [len(group.teachers) for group in plan.groups] == teachers.tolist()
        weights = wanted * 250 / (teachers @ wanted)
        assert [g.reach.weight for g in plan.groups] == pytest.approx(weights.tolist(), rel=1e-5)
        assert [g.reach.teachers for g in plan.groups] == [1, 1, 1]


def test_copies_grow_teachers_and_noise_alike() -> None:
    plan = Upsampling(BUDGETS, rule="proportional").plan(RECORDS, 250, CONFIDENT, 10, DELTA)
    assert [group.reach for group in plan.groups] == [Reach(1.0, u) for u in (1, 2, 3)]
    assert plan.teachers == round(250 * (0.34 + 2 * 0.43 + 3 * 0.23))
    growth = plan.teachers / 250
    assert plan.mechanism == ConfidentGNMax(40 * growth, 200 * growth, 150 * growth)
    assert Upsampling(BUDGETS).plan(RECORDS, 250, GNMAX, 10, DELTA).mechanism == GNMax(40 * growth)
    assert plan.voters == plan.teachers


@settings(max_examples=60, deadline=None)
@given(
    ratios=st.lists(st.floats(1.0, 30.0), min_size=1, max_size=4),
    precision=st.floats(0.01, 0.5),
)
def test_factors_are_the_smallest_that_are_precise(ratios: list[float], precision: float) -> None:
    wanted = np.array([1.0, *ratios])
    found = whole_factors(wanted, precision)
    for scale, factors in enumerate(found, start=1):
        error = np.abs(np.array(factors) / (scale * wanted) - 1)
        assert np.all(np.abs(np.array(factors) - scale * wanted) <= 0.5 + 1e-9)
        assert min(factors) >= 1
        assert (error.max() <= precision) == (scale == len(found))
    assert len(found) <= math.ceil(0.5 / precision)


def test_a_finer_precision_gives_better_ratios() -> None:
    budgets = {"a": 1.0, "b": 1.4}
    for precision, factors in ((0.3, [1, 1]), (0.1, [2, 3]), (0.02, [5, 7])):
        scheme = Upsampling(budgets, precision, "proportional")
        plan = scheme.plan({"a": 50, "b": 50}, 20, GNMAX, 3, DELTA)
        assert [group.reach.teachers for group in plan.groups] == factors


def test_balanced_copies_are_no_larger_than_they_need_to_be() -> None:
    plan = Upsampling(BUDGETS).plan(RECORDS, 250, GNMAX, 10, DELTA)
    assert [group.reach.teachers for group in plan.groups] == [1, 2, 3]
    precise = Upsampling(BUDGETS, rule="data-independent").plan(RECORDS, 250, GNMAX, 10, DELTA)
    assert plan.exhaustion(10).queries >= 0.95 * precise.exhaustion(10).queries


def test_participation_follows_the_budget() -> None:
    for rule, power in (("quadratic", 2), ("quartic", 4)):
        plan = Vanishing({"a": 1.0, "b": 2.0}, rule).plan(  # type: ignore[arg-type]
            {"a": 160, "b": 160}, 64, GNMAX, 3, DELTA
        )
        assert [group.voters for group in plan.groups] == [32 // 2**power, 32]
        assert plan.voters == 32 // 2**power + 32
        assert all(group.reach == Reach() for group in plan.groups)
        assert plan.mechanism is GNMAX


@pytest.mark.parametrize("mechanism", [GNMAX, CONFIDENT], ids=lambda m: m.name)
def test_balanced_turns_end_with_the_largest_budget(mechanism: Mechanism) -> None:
    plan = Vanishing(BUDGETS).plan(RECORDS, 250, mechanism, 10, DELTA)
    counts = {name: afforded(plan, name, 10) for name in BUDGETS}
    assert counts["low"] == min(counts.values())
    for group in plan.groups:  # one voter more, and it would end first
        if group.takes_turns:
            fuller = replace(group, voters=group.voters + 1)
            others = tuple(fuller if g is group else g for g in plan.groups)
            assert afforded(replace(plan, groups=others), group.name, 10) < counts["low"]


@pytest.mark.parametrize("scheme", every_rule(BUDGETS)[::3], ids=repr)
def test_exhaustion_counts_as_the_planner_of_standard_pate_does(scheme: Scheme) -> None:
    plan = scheme.plan(RECORDS, 50, GNMax(8.0), 10, DELTA)
    found = plan.exhaustion(10)
    counts = {name: afforded(plan, name, 10) for name in BUDGETS}
    assert {end.name: end.queries for end in found.groups} == counts
    assert found.queries == min(counts.values())
    for end, group in zip(found.groups, plan.groups, strict=True):
        votes = math.ceil(found.queries * group.voters / len(group.teachers))
        events = plan.mechanism.events(10, group.reach)
        used = epsilon_of([(event, float(votes)) for event in events], DELTA)
        assert end.used == pytest.approx(used, rel=1e-6)
        assert end.used <= end.epsilon
    assert f"{found.queries} queries" in plan.table(10)


def test_balanced_is_the_rule_that_leaves_least_over() -> None:
    left = {
        (scheme.name, scheme.rule): scheme.plan(RECORDS, 250, GNMAX, 10, DELTA)  # type: ignore[attr-defined]
        .exhaustion(10)
        .left_over
        for scheme in every_rule(BUDGETS)[3:]
    }
    for better, worse in pairwise(["balanced", "data-independent", "proportional"]):
        assert left["weighting", better] < left["weighting", worse]
    for better, worse in pairwise(["balanced", "quadratic", "quartic"]):
        assert left["vanishing", better] < left["vanishing", worse]


def test_records_that_need_no_privacy_go_straight_to_the_student() -> None:
    budgets = {"open": "none", "a": 1.0, "b": 2.0}
    groups = numbers_of({"open": 30, "a": 40, "b": 50})
    for scheme in (Upsampling(budgets), Weighting(budgets), Vanishing(budgets)):
        plan = scheme.plan({"open": 30, "a": 40, "b": 50}, 9, GNMAX, 3, DELTA)
        assert plan.exempt == ("open",)
        assert set(plan.budgets) == {"a", "b"}
        assert plan.charge(3).groups == ("a", "b")
        assert plan.straight(groups).tolist() == np.flatnonzero(groups == 0).tolist()
        taught = np.unique(np.concatenate(plan.deal(groups, b"s").shares))
        assert taught.tolist() == np.flatnonzero(groups != 0).tolist()
        assert "open" in str(plan)


@pytest.mark.parametrize("scheme", every_rule(BUDGETS), ids=repr)
def test_plans_describe_what_decides_an_answer(scheme: Scheme) -> None:
    plan = scheme.plan(RECORDS, 50, GNMAX, 10, DELTA)
    text = plan.describe()
    assert text == json.dumps(json.loads(text), sort_keys=True)
    assert hash(plan) == hash(scheme.plan(RECORDS, 50, GNMAX, 10, DELTA))
    first, *rest = plan.groups
    changes = [
        {"scheme": "other"},
        {"mechanism": GNMax(41.0)},
        {"teachers": 51},
        {"delta": 1e-6},
        {"groups": (replace(first, voters=first.voters - 1), *rest)},
        {"groups": (replace(first, reach=Reach(0.7)), *rest)},
        {"groups": (replace(first, reach=Reach(1.0, 7)), *rest)},
        {"groups": (replace(first, teachers=first.teachers[1:]), *rest)},
        {"groups": (replace(first, epsilon=0.9), *rest)},
    ]
    for change in changes:
        assert replace(plan, **change).describe() != text
    turned = replace(plan, groups=plan.groups[::-1])
    assert turned.describe() == text


def test_a_teacher_that_mixes_budgets_takes_the_smallest() -> None:
    budgets = {"strict": 1.0, "mild": 3.0, "open": "none"}
    groups = np.array([0, 1, 1, 1, 1, 0, 2, 1])
    shares = ([0, 1, 6], [2, 3], [4, 5], [7])
    partition = Partition(tuple(np.array(share) for share in shares), data_dependent=False)
    assert smallest_budgets(partition, groups, budgets).tolist() == [0, 1, 0, 1]
    for scheme in (Weighting(budgets), Vanishing(budgets)):
        plan = scheme.plan_for(partition, groups, GNMAX, 3, DELTA)
        strict, mild = plan.groups
        assert (strict.teachers, mild.teachers) == ((0, 2), (1, 3))
        assert (strict.records, mild.records) == (5, 3)
        assert plan.teachers == 4
    whole = Partition((np.arange(8),), data_dependent=False)
    plan = Weighting(budgets).plan_for(whole, groups, GNMAX, 3, DELTA)
    assert [group.name for group in plan.groups] == ["strict"]
    assert plan.standard


def test_a_given_partition_must_make_sense() -> None:
    budgets = {"strict": 1.0, "open": "none"}
    groups = np.array([0, 0, 1, 1])

    def split(*shares: list[int]) -> Partition:
        arrays = tuple(np.array(share, dtype=np.int64) for share in shares)
        return Partition(arrays, data_dependent=False)

    with pytest.raises(DataError, match="need no privacy"):
        smallest_budgets(split([0, 1], [2, 3]), groups, budgets)
    with pytest.raises(DataError, match="some have several"):
        smallest_budgets(split([0, 1], [1, 2]), groups, budgets)
    with pytest.raises(DataError, match="without records"):
        smallest_budgets(split([0, 1], []), groups, budgets)
    with pytest.raises(DataError, match="from 0 to 1"):
        smallest_budgets(split([0], [1]), np.array([0, 2]), budgets)


@pytest.mark.parametrize("scheme", every_rule(BUDGETS)[::3], ids=repr)
def test_plans_that_cannot_be(scheme: Scheme) -> None:
    def plan(
        records: dict[str, int] = RECORDS, teachers: int = 50, mechanism: Mechanism = GNMAX
    ) -> Plan:
        return scheme.plan(records, teachers, mechanism, 10, DELTA)

    with pytest.raises(ParameterError, match="'others' has no budget"):
        plan({**RECORDS, "others": 3})
    for number in (0, -1):
        with pytest.raises(DataError, match="'low' has a budget but no records"):
            plan({**RECORDS, "low": number})
    with pytest.raises(DataError, match="'average' has a budget but no records"):
        plan({"high": 3, "low": 4})
    with pytest.raises(DataError, match="cannot fill 50 teachers"):
        plan({"high": 10, "average": 20, "low": 10})
    with pytest.raises(ParameterError, match="at least one teacher"):
        plan(teachers=0)
    with pytest.raises(ParameterError, match="individual budgets work with gnmax"):
        plan(mechanism=LNMax(0.1))
    for delta in (0.0, 1.0, math.nan):
        with pytest.raises(ParameterError):
            scheme.plan(RECORDS, 50, GNMAX, 10, delta)
    with pytest.raises(ParameterError):
        scheme.plan(RECORDS, 50, GNMAX, 1, DELTA)


def test_further_limits() -> None:
    for scheme in (Weighting(BUDGETS), Vanishing(BUDGETS)):
        with pytest.raises(ParameterError, match="need a teacher each"):
            scheme.plan(RECORDS, 2, GNMAX, 10, DELTA)
    with pytest.raises(ParameterError, match="different teachers"):
        Upsampling({"a": 1.0, "b": 40.0}, rule="proportional").plan(
            {"a": 99, "b": 1}, 5, GNMAX, 3, DELTA
        )
    with pytest.raises(BudgetError):
        Weighting({"a": 1e-9, "b": 1.0}).plan({"a": 9, "b": 9}, 4, GNMAX, 3, DELTA)
    for bad in (0.0, 0.6, math.nan):
        with pytest.raises(ParameterError, match="precision"):
            Upsampling(BUDGETS, bad)
    for scheme_type in (Upsampling, Weighting, Vanishing):
        with pytest.raises(ParameterError, match="unknown rule"):
            scheme_type(BUDGETS, rule="fair")
    plan = Weighting(BUDGETS, "proportional").plan(RECORDS, 50, GNMAX, 10, DELTA)
    with pytest.raises(ParameterError, match="no group 'others'"):
        plan.reach("others")
    assert plan.budgets["high"] == Budget(1.0, DELTA)


@settings(max_examples=4, deadline=None)
@given(
    epsilons=st.lists(st.floats(0.05, 12.0), min_size=2, max_size=3, unique=True),
    sizes=st.lists(st.integers(20, 400), min_size=3, max_size=3),
    sigma=st.floats(3.0, 80.0),
)
def test_balanced_weights_are_found_for_other_budgets(
    epsilons: list[float], sizes: list[int], sigma: float
) -> None:
    budgets = {f"g{i}": epsilon for i, epsilon in enumerate(epsilons)}
    records = dict(zip(budgets, sizes, strict=False))
    plan = Weighting(budgets).plan(records, 40, GNMax(sigma), 10, DELTA)
    ends = plan.exhaustion(10)
    counts = [end.queries for end in ends.groups]
    assert max(counts) <= 1.001 * min(counts) + 1

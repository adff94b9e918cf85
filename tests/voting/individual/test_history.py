"""What queries cost each group, against loops over queries, teachers and orders."""

from __future__ import annotations

import json
import math
import warnings

import numpy as np
import pytest

from ballotine.errors import ParameterError
from ballotine.privacy import conversion
from ballotine.privacy.conversion import Method
from ballotine.voting import GNMax, Tallies
from ballotine.voting.individual import Plan, Scheme, Vanishing, group_costs, history
from ballotine.voting.individual.convert import epsilons
from ballotine.voting.mechanism import Bounds
from tests.voting.individual.cases import BUDGETS, CONFIDENT, DELTA, RECORDS, every_rule

ORDERS = np.array([1.5, 2.0, 3.0, 5.0, 9.0, 17.0, 33.0])
SCHEMES = [every_rule(BUDGETS)[i] for i in (2, 3, 6, 8)]


def election(
    scheme: Scheme, queries: int, records: dict[str, int] = RECORDS, teachers: int = 25
) -> tuple[Plan, Tallies, np.ndarray, np.ndarray]:
    """Near-unanimous votes of a few teachers, some answers withheld, turns with gaps."""
    rng = np.random.default_rng(5)
    plan = scheme.plan(records, teachers, CONFIDENT, 3, DELTA)
    ballots = np.where(rng.random((queries, plan.teachers)) < 0.9, 0, 1)
    turns = np.sort(rng.permutation(3 * queries)[:queries])
    answers = rng.choice([0, 0, 0, -1], size=queries)
    return plan, plan.tally(ballots, 3, turns), answers, turns


def teacher_totals(
    plan: Plan,
    tallies: Tallies,
    answers: np.ndarray,
    turns: np.ndarray,
    bounds: Bounds,
    name: str,
) -> np.ndarray:
    """For one group: the cost of each of its teachers after each query, one at a time."""
    group = plan.group(name)
    counts = tallies.unlock(reason="test")
    totals = np.zeros((len(counts), len(group.teachers), len(ORDERS)))
    running = [np.zeros(len(ORDERS)) for _ in group.teachers]
    for query, turn in enumerate(turns.tolist()):
        one = plan.mechanism.costs(
            Tallies(counts[query : query + 1]),
            answers[query : query + 1],
            ORDERS,
            bounds,
            group.reach,
        ).unlock(reason="test")[0]
        for seat in range(len(group.teachers)):
            offset = (seat - turn * group.voters) % len(group.teachers)
            if offset < group.voters:
                running[seat] = running[seat] + one
            totals[query, seat] = running[seat]
    return totals


@pytest.mark.parametrize("bounds", ["published", "tight"])
@pytest.mark.parametrize("scheme", SCHEMES, ids=repr)
def test_costs_against_a_loop_over_teachers(scheme: Scheme, bounds: Bounds) -> None:
    plan, tallies, answers, turns = election(scheme, 30)
    costs = group_costs(plan, tallies, answers, ORDERS, bounds, turns)
    assert list(costs) == list(BUDGETS)
    for name in BUDGETS:
        expected = teacher_totals(plan, tallies, answers, turns, bounds, name).max(axis=1)
        found = costs[name].unlock(reason="test")
        assert found.shape == (30, len(ORDERS))
        assert np.all(found >= 0)
        assert np.cumsum(found, axis=0) == pytest.approx(expected, rel=1e-12)


def test_teachers_that_always_vote_together() -> None:
    records = {"high": 180, "average": 180, "low": 140}
    plan, tallies, answers, turns = election(Vanishing(BUDGETS, "quadratic"), 60, records, 50)
    assert [(g.voters, len(g.teachers)) for g in plan.groups] == [(2, 18), (8, 18), (14, 14)]
    costs = group_costs(plan, tallies, answers, ORDERS, "published", turns)
    for name in BUDGETS:
        expected = teacher_totals(plan, tallies, answers, turns, "published", name).max(axis=1)
        found = np.cumsum(costs[name].unlock(reason="test"), axis=0)
        assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("method", ["improved", "classic"])
@pytest.mark.parametrize("scheme", SCHEMES, ids=repr)
def test_histories_against_a_loop_over_curves(scheme: Scheme, method: Method) -> None:
    plan, tallies, answers, turns = election(scheme, 25)
    found = history(plan, tallies, answers, ORDERS, "published", turns, method)
    for name in BUDGETS:
        totals = teacher_totals(plan, tallies, answers, turns, "published", name)
        epsilon = found[name].unlock(reason="test")
        assert epsilon.shape == (25,)
        assert np.all(np.diff(epsilon) >= 0)
        for query in range(25):
            curve = totals[query].max(axis=0)
            assert epsilon[query] == pytest.approx(one_epsilon(curve, method), rel=1e-12)
            worst = max(one_epsilon(each, method) for each in totals[query])
            assert epsilon[query] >= worst * (1 - 1e-12)


def one_epsilon(curve: np.ndarray, method: Method) -> float:
    """The conversion of one curve, formula by formula."""
    best = math.inf
    for order, cost in zip(ORDERS, curve, strict=True):
        price = math.log(1 / DELTA) / (order - 1)
        if method == "improved":
            price += math.log(1 - 1 / order) - math.log(order) / (order - 1)
        best = min(best, cost + price)
    return max(best, 0.0) if curve.any() else 0.0


def test_exact_costs_know_weights_and_turns() -> None:
    for scheme in (SCHEMES[1], SCHEMES[2]):
        plan, tallies, answers, turns = election(scheme, 10)
        exact = history(plan, tallies, answers, ORDERS, "exact", turns)
        tight = history(plan, tallies, answers * 0, ORDERS, "tight", turns)
        for name in BUDGETS:
            assert np.all(exact[name].unlock(reason="t") <= tight[name].unlock(reason="t") + 1e-9)


def test_conversions_agree_with_the_engines_own() -> None:
    rng = np.random.default_rng(8)
    costs = np.cumsum(rng.exponential(0.02, size=(50, len(ORDERS))) * ORDERS, axis=0)
    costs = np.maximum.accumulate(costs, axis=1)
    costs[0] = 0.0
    for method in ("improved", "classic"):
        found = epsilons(ORDERS, costs, DELTA, method)  # type: ignore[arg-type]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", conversion.OrderGridWarning)
            single = [conversion.epsilon(ORDERS, row, DELTA, method)[0] for row in costs]  # type: ignore[arg-type]
        assert found == pytest.approx(single, rel=1e-13)
        assert np.all(found >= np.array(single))
    assert epsilons(ORDERS, costs[1:2] / 1e6, 0.5).tolist() == [0.0]
    for bad in (np.nan, -1e-9):
        with pytest.raises(ParameterError):
            epsilons(ORDERS, np.full((2, len(ORDERS)), bad), DELTA)


def test_histories_are_private() -> None:
    plan, tallies, answers, turns = election(SCHEMES[0], 4)
    for value in (
        *history(plan, tallies, answers, ORDERS, "published", turns).values(),
        *group_costs(plan, tallies, answers, ORDERS, "published", turns).values(),
    ):
        assert "private" in repr(value)
        assert "." not in f"{value}"
        with pytest.raises(TypeError):
            np.asarray(value)
        with pytest.raises(TypeError):
            json.dumps(value)


def test_what_must_match() -> None:
    plan, tallies, answers, turns = election(SCHEMES[2], 4)
    with pytest.raises(ParameterError, match="4 tallies but 3 answers"):
        history(plan, tallies, answers[:3], ORDERS, "tight", turns)
    with pytest.raises(ParameterError, match="turn of every query"):
        group_costs(plan, tallies, answers, ORDERS, "tight")
    shared = every_rule({"a": 1.0, "b": 6.0})[2].plan({"a": 60, "b": 60}, 9, GNMax(9.0), 10, DELTA)
    votes = shared.tally(np.zeros((1, shared.teachers), dtype=np.int64), 10)
    with pytest.raises(ParameterError, match="too many ways"):
        group_costs(shared, votes, np.array([0]), ORDERS, "exact")

"""What a sequence of queries cost each group: per query, and as a growing ε.

Everything here is for the data holder. With data-dependent bounds it depends on private
votes, so it comes in types that stay silent until somebody states a reason.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ballotine.errors import ParameterError
from ballotine.privacy.conversion import Method
from ballotine.privacy.private import Private, PrivateCosts
from ballotine.privacy.reach import Reach
from ballotine.types import BoolArray, FloatArray, IntArray
from ballotine.voting.individual.convert import epsilons
from ballotine.voting.individual.plan import GroupPlan, Plan
from ballotine.voting.mechanism import Bounds
from ballotine.voting.tally import Tallies

REASON = "adding up what queries cost a group of records"


class PrivateEpsilons(Private):
    """The ε of everything up to each query, shape (queries,)."""

    __slots__ = ()


def group_costs(
    plan: Plan,
    tallies: Tallies,
    answers: IntArray,
    orders: FloatArray,
    bounds: Bounds,
    turns: IntArray | None = None,
) -> dict[str, PrivateCosts]:
    """What each query added to the cost of each group, shape (queries, orders).

    Where teachers take turns, a group costs what its most affected teacher does, order by
    order: what a query adds is how much that maximum rises.

    Args:
        plan: who votes with which weight.
        tallies: as `plan.tally` counts them.
        answers: what was released.
        orders: Rényi orders above 1, shape (m,).
        bounds: which analysis.
        turns: each query's turn; needed when teachers take turns.
    """
    costs = {}
    for group, each in _prices(plan, tallies, answers, orders, bounds):
        if group.takes_turns:
            peaks = _peaks(each, _patterns(plan, group, turns, len(tallies)))
            costs[group.name] = PrivateCosts(np.diff(peaks, axis=0, prepend=0.0))
        else:
            costs[group.name] = PrivateCosts(each)
    return costs


def history(
    plan: Plan,
    tallies: Tallies,
    answers: IntArray,
    orders: FloatArray,
    bounds: Bounds,
    turns: IntArray | None = None,
    method: Method = "improved",
) -> dict[str, PrivateEpsilons]:
    """The ε of each group after each query, shape (queries,), at the plan's δ.

    Args:
        plan: who votes with which weight.
        tallies: as `plan.tally` counts them.
        answers: what was released.
        orders: Rényi orders above 1, shape (m,).
        bounds: which analysis.
        turns: each query's turn; needed when teachers take turns.
        method: which conversion from Rényi costs.
    """
    found = {}
    for group, each in _prices(plan, tallies, answers, orders, bounds):
        if group.takes_turns:
            total = _peaks(each, _patterns(plan, group, turns, len(tallies)))
        else:
            total = np.cumsum(each, axis=0)
        found[group.name] = PrivateEpsilons(epsilons(orders, total, plan.delta, method))
    return found


def _prices(
    plan: Plan,
    tallies: Tallies,
    answers: IntArray,
    orders: FloatArray,
    bounds: Bounds,
) -> Iterator[tuple[GroupPlan, FloatArray]]:
    """What a query costs a record whose teachers vote on it, by group, shape (queries, orders)."""
    if len(answers) != len(tallies):
        raise ParameterError(f"{len(tallies)} tallies and {len(answers)} answers do not match")
    prices: dict[Reach, FloatArray] = {}
    for group in plan.groups:
        if group.reach not in prices:
            costs = plan.mechanism.costs(tallies, answers, orders, bounds, group.reach)
            prices[group.reach] = costs.unlock(reason=REASON)
        yield group, prices[group.reach]


def _patterns(plan: Plan, group: GroupPlan, turns: IntArray | None, queries: int) -> BoolArray:
    """Who of a group votes when, shape (queries, patterns): those who always vote together once.

    Windows of v of n seats move on by v: with a common divisor g of both, they begin and end
    between blocks of g seats.
    """
    together = math.gcd(group.voters, len(group.teachers))
    return plan.votes_at(group.name, turns, queries)[:, ::together]


def _peaks(each: FloatArray, votes: BoolArray) -> FloatArray:
    """The largest total of any teacher up to each query, shape (queries, orders).

    Args:
        each: what a query costs a record whose teacher votes on it, shape (queries, orders).
        votes: who votes when, shape (queries, patterns).
    """
    peaks = np.zeros_like(each)
    for pattern in votes.T:
        own = np.flatnonzero(pattern)
        # A teacher's total rises only where it votes, so that is where it may become the peak.
        peaks[own] = np.maximum(peaks[own], np.cumsum(each[own], axis=0))
    highest: FloatArray = np.maximum.accumulate(peaks, axis=0)
    return highest

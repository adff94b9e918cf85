"""The cost of a sequence of queries for each group: per query, and as a cumulative ε.

These results are for the data holder. With data-dependent bounds they depend on private votes, so
they are private types, which are unlocked by stating a reason.
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
    """Return what each query added to the cost of each group, shape (queries, orders).

    If teachers take turns, the cost of a group is that of its most affected teacher, order by
    order, and a query adds the increase of that maximum.

    Args:
        plan: the groups and the weights of their votes.
        tallies: counts by `plan.tally`.
        answers: the released answers.
        orders: Rényi orders above 1, shape (m,).
        bounds: which analysis.
        turns: each query's turn; required if teachers take turns.
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
    """Return the ε of each group after each query, shape (queries,), at the plan's δ.

    The arguments are those of `group_costs`, and the conversion from Rényi costs.
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
    """Yield the cost of each query for a record whose teachers vote, shape (queries, orders)."""
    if len(answers) != len(tallies):
        raise ParameterError(f"there are {len(tallies)} tallies but {len(answers)} answers")
    prices: dict[Reach, FloatArray] = {}
    for group in plan.groups:
        if group.reach not in prices:
            costs = plan.mechanism.costs(tallies, answers, orders, bounds, group.reach)
            prices[group.reach] = costs.unlock(reason=REASON)
        yield group, prices[group.reach]


def _patterns(plan: Plan, group: GroupPlan, turns: IntArray | None, queries: int) -> BoolArray:
    """Return who of a group votes when, shape (queries, patterns), one per distinct pattern.

    The v voters of each query are a window of n seats that moves on by v. With g the greatest
    common divisor of v and n, windows begin and end between blocks of g seats, so the teachers of
    a block always vote together.
    """
    together = math.gcd(group.voters, len(group.teachers))
    return plan.votes_at(group.name, turns, queries)[:, ::together]


def _peaks(each: FloatArray, votes: BoolArray) -> FloatArray:
    """Return the largest total of any teacher up to each query, shape (queries, orders).

    Args:
        each: the cost of a query for a record whose teacher votes, shape (queries, orders).
        votes: who votes when, shape (queries, patterns).
    """
    peaks = np.zeros_like(each)
    for pattern in votes.T:
        own = np.flatnonzero(pattern)
        # A teacher's total grows only on queries it votes on, so only there can it be the peak.
        peaks[own] = np.maximum(peaks[own], np.cumsum(each[own], axis=0))
    highest: FloatArray = np.maximum.accumulate(peaks, axis=0)
    return highest

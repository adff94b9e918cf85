"""How many labels an election yields before a group's budget is spent, counted in three ways.

* paper: stop when the published data-dependent cost of a group exceeds its budget: Theorem 6 in
  one direction, classic conversion, orders 2 to 50. For comparison with the paper alone.
* strict: stop on the tight data-independent cost, by a Rényi filter whose order is fixed before
  the first answer. The only count that a real run may use.
* fixed: the exact two-sided cost of all queries asked. The number of queries would have to be
  fixed beforehand, and the ε sanitised before anybody sees it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import log_ndtr

from ballotine.ledger.charge import Events, cost_of
from ballotine.privacy import conversion, published
from ballotine.privacy.exact.moves import move_count
from ballotine.privacy.orders import DEFAULT_ORDERS, widen
from ballotine.privacy.reach import Reach
from ballotine.types import BoolArray, FloatArray, IntArray
from ballotine.voting import ConfidentGNMax, GNMax, Mechanism, Tallies
from ballotine.voting.individual import GroupPlan
from ballotine_reproduction.individualized.elections import DELTA, GroupElection

PAPER_ORDERS: FloatArray = np.arange(2.0, 51.0)
FIXED_ORDERS: FloatArray = np.concatenate([np.arange(2.0, 32.0), np.arange(32.0, 129.0, 8.0)])
CHUNK = 500
FEW_MOVES = 100
REASON = "an experiment on public data"


@dataclass(frozen=True)
class Count:
    """Labels obtained, and how many queries were asked for them.

    Attributes:
        labels: how many.
        queries: how many queries the budgets allow, at most all there are.
        exhausted: whether the pool ended before the budgets.
    """

    labels: int
    queries: int
    exhausted: bool

    @classmethod
    def of(cls, answers: IntArray, queries: int) -> Count:
        """Count the labels among the first answers."""
        return cls(int((answers[:queries] >= 0).sum()), queries, queries == len(answers))


def paper(election: GroupElection, answers: IntArray) -> Count:
    """Stop on the published data-dependent cost."""
    allowed = [
        affordable(
            paper_costs(election, group.reach, answers),
            attendance(election, group),
            conversion.allowance(PAPER_ORDERS, group.epsilon, DELTA, "classic"),
        )
        for group in election.plan.groups
    ]
    return Count.of(answers, min(allowed))


def paper_costs(election: GroupElection, reach: Reach, answers: IntArray) -> FloatArray:
    """The cost of each query to a record with this reach, as the paper charges it."""
    counts, mechanism = election.tallies.unlock(reason=REASON), election.plan.mechanism
    assert isinstance(mechanism, GNMax | ConfidentGNMax)
    costs = np.zeros((len(answers), PAPER_ORDERS.size))
    answered = answers >= 0
    if answered.any():
        costs[answered] = published.gnmax_data_dependent(
            counts[answered], PAPER_ORDERS, mechanism.sigma, reach.votes, two_sided=False
        )
    if isinstance(mechanism, ConfidentGNMax):
        costs += published.threshold(PAPER_ORDERS, mechanism.sigma_threshold, reach.votes)
    return costs


def strict(election: GroupElection, answers: IntArray) -> Count:
    """Stop on the tight data-independent cost, reserved for each query before it is asked."""
    return Count.of(answers, min(_reserved(election, g, answers) for g in election.plan.groups))


def fixed(election: GroupElection, answers: IntArray) -> Count:
    """As many queries as the exact cost allows, which does not depend on the answers."""
    allowed = len(answers)
    for group in election.plan.groups:
        allowed = min(allowed, _exactly_affordable(election, group, allowed))
    return Count.of(answers, allowed)


WAYS: dict[str, Callable[[GroupElection, IntArray], Count]] = {
    "paper": paper,
    "strict": strict,
    "fixed": fixed,
}
"""Ways of counting, by the name of their column."""


def attendance(election: GroupElection, group: GroupPlan) -> BoolArray | None:
    """Which of a group's teachers vote on each query; None for all."""
    if not group.takes_turns:
        return None
    return election.plan.votes_at(group.name, election.turns, len(election.tallies))


def exact_costs(election: GroupElection, reach: Reach, rows: slice) -> FloatArray:
    """The exact cost of some queries on `FIXED_ORDERS`, or a bound where it cannot be computed."""
    tallies = Tallies(election.tallies.unlock(reason=REASON)[rows])
    mechanism = election.plan.mechanism
    if move_count(tallies.classes, reach.teachers) > FEW_MOVES:
        return checked_bound(tallies.unlock(reason=REASON), mechanism, reach)
    unseen = np.zeros(len(tallies), dtype=np.int64)
    costs = mechanism.costs(tallies, unseen, FIXED_ORDERS, "exact", reach)
    return costs.unlock(reason=REASON)


def checked_bound(counts: FloatArray, mechanism: Mechanism, reach: Reach) -> FloatArray:
    """A bound on the cost of Confident-GNMax as a whole, when teachers may move apart.

    Several teachers among many classes can move in too many ways to try each. But the law over
    {abstain, classes} is (1 − p, p P), so its moment is that of the check, the passing part
    multiplied by the moment of P, which Theorem 6 bounds in both directions. The check's p is
    tried for every top count within reach.
    """
    assert isinstance(mechanism, ConfidentGNMax)
    orders = FIXED_ORDERS
    beta = orders - 1.0
    answer = beta * published.gnmax_data_dependent(counts, orders, mechanism.sigma, reach.votes)
    top = (counts.max(axis=1, keepdims=True) - mechanism.threshold) / mechanism.sigma_threshold
    worst = answer * 0.0
    for step in range(-reach.teachers, reach.teachers + 1):
        other = top + step * reach.weight / mechanism.sigma_threshold
        for here, there in ((top, other), (other, top)):
            abstain = orders * log_ndtr(-here) - beta * log_ndtr(-there)
            passed = orders * log_ndtr(here) - beta * log_ndtr(there) + answer
            worst = np.maximum(worst, np.logaddexp(abstain, passed))
    result: FloatArray = worst / beta
    return result


@dataclass(frozen=True)
class Filter:
    """A stop rule at one order, fixed before the first answer.

    Attributes:
        full: what a query costs at most.
        check: what it costs when it is not answered.
        allowance: what all queries together may cost.
    """

    full: float
    check: float
    allowance: float


@lru_cache(maxsize=1024)
def _filter(events: Events, epsilon: float) -> Filter:
    """The filter at the order that affords most queries of this kind, as in the ledger."""
    orders = widen(DEFAULT_ORDERS)
    full, check = cost_of(events, orders), cost_of(events[:-1], orders)
    allowance = conversion.allowance(orders, epsilon, DELTA)
    best = int(np.argmax(allowance / full))
    return Filter(float(full[best]), float(check[best]), float(allowance[best]))


def _reserved(election: GroupElection, group: GroupPlan, answers: IntArray) -> int:
    events = election.plan.mechanism.events(election.tallies.classes, group.reach)
    rule = _filter(events, group.epsilon)
    spent = np.where(answers >= 0, rule.full, rule.check)[:, None]
    attends = attendance(election, group)
    votes = np.ones_like(spent) if attends is None else attends.astype(np.float64)
    before = np.cumsum(votes * spent, axis=0) - votes * spent
    fits = np.all(before + votes * rule.full <= rule.allowance, axis=1)
    return len(fits) if fits.all() else int(np.argmin(fits))


def _exactly_affordable(election: GroupElection, group: GroupPlan, most: int) -> int:
    allowance = conversion.allowance(FIXED_ORDERS, group.epsilon, DELTA)
    attends = attendance(election, group)
    if attends is not None:
        costs = exact_costs(election, group.reach, slice(0, most))
        return affordable(costs, attends, allowance)
    spent = np.zeros(FIXED_ORDERS.size)
    for start in range(0, most, CHUNK):
        costs = exact_costs(election, group.reach, slice(start, min(start + CHUNK, most)))
        within = np.any(spent + np.cumsum(costs, axis=0) <= allowance, axis=1)
        if not within.all():
            return start + int(within.sum())
        spent = spent + costs.sum(axis=0)
    return most


def affordable(costs: FloatArray, attends: BoolArray | None, allowance: FloatArray) -> int:
    """The number of queries after which no record of a group has exceeded its allowance.

    Args:
        costs: of each query to a record whose teachers vote on it, shape (queries, orders).
        attends: which teachers vote on which query, shape (queries, teachers); None for all.
        allowance: what each order allows; one order within it is enough.
    """
    if attends is None:
        return int(np.any(np.cumsum(costs, axis=0) <= allowance, axis=1).sum())

    def fits(queries: int) -> bool:
        spent = attends[:queries].T.astype(np.float64) @ costs[:queries]
        return bool(np.all(np.any(spent <= allowance, axis=1)))

    low, high = 0, len(costs) + 1
    while high - low > 1:  # costs only grow
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low

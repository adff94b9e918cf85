"""Why a budget does not allow another answer, and what would."""

from __future__ import annotations

import math

from ballotine.errors import InsufficientBudgetError
from ballotine.ledger.account import Account, Tab
from ballotine.ledger.binding import Binding
from ballotine.ledger.charge import EVERYONE, Charge, Events, GroupCharge, cost_of
from ballotine.ledger.spending import Spending
from ballotine.ledger.terms import plan_order
from ballotine.privacy.best import best_epsilon
from ballotine.privacy.guarantee import Budget, round_up

LARGEST = 1e6


def refusal(spending: Spending, binding: Binding) -> InsufficientBudgetError:
    """The error for a query that does not fit, in the user's terms."""
    spending.require(binding)
    terms = spending.terms
    if terms.queries is not None and spending.asked - spending.void >= terms.queries:
        return InsufficientBudgetError(
            f"all {terms.queries} queries that were decided on beforehand are asked; "
            "a fixed number of queries cannot grow afterwards",
            requested=1.0,
            remaining=0.0,
        )

    def room(pair: tuple[str, GroupCharge]) -> float:
        each, left = spending.accounts[pair[0]].left(pair[1].events)
        return left / each

    name, share = min(binding.charge.shares, key=room)
    account = spending.accounts[name]
    each, left = account.left(share.events)
    whose = "the budget" if name == EVERYONE else f"the budget of group {name}"
    return InsufficientBudgetError(
        f"{whose}, {account.budget}, does not allow another answer: one costs "
        f"ε = {_alone(share.events, account.budget.delta):g} on its own at this δ"
        f"{_advice(spending, account, binding.charge)}",
        requested=each,
        remaining=left,
    )


def smallest_budget(events: Events, delta: float) -> float:
    """The smallest ε, rounded up, with which a new ledger pays for one such query."""
    epsilon = _alone(events, delta)
    while epsilon < LARGEST and not _affords(events, Budget(epsilon, delta)):
        epsilon = round_up(epsilon * 1.002 + 1e-3)
    return epsilon if epsilon < LARGEST else math.inf


def _advice(spending: Spending, account: Account, charge: Charge) -> str:
    if spending.asked:
        spent = round_up(account.epsilon())
        return (
            f", and ε = {spent:g} is spent already; a ledger that has paid for something keeps "
            "its budget: use more noise, so that an answer costs less, or go on with what was "
            "answered"
        )
    least = {n: smallest_budget(s.events, account.budget.delta) for n, s in charge.shares}
    if math.isinf(max(least.values())):
        return "; use more noise, so that an answer costs less"
    if charge.groups == (EVERYONE,):
        enough = f"a budget of ε = {least[EVERYONE]:g} pays"
    else:  # a group's influence follows from all budgets: one alone would shift it
        times = max(least[name] / known.budget.epsilon for name, known in spending.accounts.items())
        enough = f"budgets of all groups {round_up(times, 1):g} times as large pay"
    return (
        f"; {enough} for one answer, and a student needs several (a ledger that has paid for "
        "nothing takes another budget); more noise or a larger δ make answers cheaper"
    )


def _alone(events: Events, delta: float) -> float:
    return round_up(best_epsilon(lambda orders: cost_of(events, orders), delta)[0])


def _affords(events: Events, budget: Budget) -> bool:
    return Account(budget, plan_order(budget)).affordable(Tab(GroupCharge(events)), 1) == 1

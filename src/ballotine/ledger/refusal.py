"""The error for a query that the budget does not allow, with advice."""

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

LARGEST_EPSILON = 1e6


def refusal(spending: Spending, binding: Binding) -> InsufficientBudgetError:
    """The error for a query that the budget does not allow."""
    spending.require_chargeable(binding)
    terms = spending.terms
    if terms.queries is not None and spending.asked - spending.void >= terms.queries:
        return InsufficientBudgetError(
            f"all {terms.queries} queries that were fixed beforehand have been asked; "
            "their number cannot be increased afterwards",
            requested=1.0,
            remaining=0.0,
        )

    def queries_left(pair: tuple[str, GroupCharge]) -> float:
        each, left = spending.accounts[pair[0]].left(pair[1].events)
        return left / each

    name, charge = min(binding.charge.by_group, key=queries_left)
    account = spending.accounts[name]
    each, left = account.left(charge.events)
    whose = "the budget" if name == EVERYONE else f"the budget of group {name}"
    return InsufficientBudgetError(
        f"{whose}, {account.budget}, does not allow another answer: one costs "
        f"ε = {_alone(charge.events, account.budget.delta):g} on its own at this δ"
        f"{_advice(spending, account, binding.charge)}",
        requested=each,
        remaining=left,
    )


def smallest_budget(events: Events, delta: float) -> float:
    """The smallest budget ε, rounded up, that allows one such query in a new ledger."""
    epsilon = _alone(events, delta)
    while epsilon < LARGEST_EPSILON and not _affords(events, Budget(epsilon, delta)):
        epsilon = round_up(epsilon * 1.002 + 1e-3)
    return epsilon if epsilon < LARGEST_EPSILON else math.inf


def _advice(spending: Spending, account: Account, charge: Charge) -> str:
    if spending.asked:
        spent = round_up(account.epsilon())
        return (
            f", and ε = {spent:g} is spent already; a ledger that has paid for a query keeps "
            "its budget: use more noise, so that an answer costs less, or continue with the "
            "answers you have"
        )
    least = {n: smallest_budget(s.events, account.budget.delta) for n, s in charge.by_group}
    if math.isinf(max(least.values())):
        return "; use more noise, so that an answer costs less"
    if charge.groups == (EVERYONE,):
        enough = f"a budget of ε = {least[EVERYONE]:g} pays"
    else:  # the weights of the groups depend on all budgets, so all must grow together
        times = max(least[name] / known.budget.epsilon for name, known in spending.accounts.items())
        enough = f"budgets of all groups {round_up(times, 1):g} times as large pay"
    return (
        f"; {enough} for one answer, and a student needs several (this ledger has paid for "
        "nothing yet, so its budget can be changed); more noise or a larger δ makes answers cheaper"
    )


def _alone(events: Events, delta: float) -> float:
    return round_up(best_epsilon(lambda orders: cost_of(events, orders), delta)[0])


def _affords(events: Events, budget: Budget) -> bool:
    return Account(budget, plan_order(budget)).affordable(Tab(GroupCharge(events)), 1) == 1

"""When each group's budget ends, and how much of the other budgets is then left."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ballotine.ledger.charge import Charge, cost_of
from ballotine.privacy.guarantee import Budget, round_up
from ballotine.privacy.orders import DEFAULT_ORDERS, widen
from ballotine.voting.individual.convert import epsilons
from ballotine.voting.individual.setting import allowances


@dataclass(frozen=True)
class GroupEnd:
    """How long one group's budget lasts.

    Attributes:
        name: the group.
        epsilon: its budget.
        queries: how many queries it affords if all of them are answered.
        used: the ε used when the first group's budget ends.
    """

    name: str
    epsilon: float
    queries: int
    used: float


@dataclass(frozen=True)
class Exhaustion:
    """How evenly the groups' budgets run out, at data-independent costs: public."""

    groups: tuple[GroupEnd, ...]

    @property
    def queries(self) -> int:
        """The number of queries that are answered before the first budget ends."""
        return min(group.queries for group in self.groups)

    @property
    def left_over(self) -> float:
        """The largest share of any group's ε that is never used."""
        return max(1.0 - group.used / group.epsilon for group in self.groups)

    def __str__(self) -> str:
        rows = [("group", "ε", "queries", "ε used", "of it")]
        rows += [
            (
                group.name,
                f"{group.epsilon:g}",
                str(group.queries),
                f"{round_up(group.used):.3f}",
                f"{group.used / group.epsilon:.1%}",
            )
            for group in self.groups
        ]
        return f"{self.queries} queries until the first budget ends\n{aligned(rows)}"


def exhaustion(charge: Charge, budgets: Mapping[str, Budget]) -> Exhaustion:
    """Count each group's queries as the ledger does, and price them up to the first end."""
    orders, shares = widen(DEFAULT_ORDERS), dict(charge.by_group)
    prices = {share: cost_of(share.events, orders) for share in shares.values()}
    counts: dict[str, int] = {}
    for name, budget in budgets.items():
        share = shares[name]
        _, allowed = allowances(budget.epsilon, budget.delta)
        votes = max(0, math.floor(float(np.max(allowed / prices[share]))))
        counts[name] = votes * share.teachers // share.voters
    first = min(counts.values())
    ends = []
    for name, budget in budgets.items():
        cost = int(np.max(shares[name].votes_after(first))) * prices[shares[name]]
        used = float(epsilons(orders, cost[np.newaxis], budget.delta)[0])
        ends.append(GroupEnd(name, budget.epsilon, counts[name], used))
    return Exhaustion(tuple(ends))


def aligned(rows: Sequence[tuple[str, ...]]) -> str:
    """Return rows as aligned columns: the first one to the left, the others to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [
        "  ".join(
            [row[0].ljust(widths[0])]
            + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        )
        for row in rows
    ]
    return "\n".join(lines)

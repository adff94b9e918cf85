"""What each group of records was promised and charged."""

from __future__ import annotations

from dataclasses import dataclass

from ballotine.ledger import Ledger, Mode
from ballotine.pipeline.procedure import Procedure


@dataclass(frozen=True)
class GroupSpending:
    """The budget and spending of one group; public if the sizes of groups are.

    Attributes:
        name: the group.
        records: how many records it has.
        budget: the ε it was promised.
        epsilon: the guaranteed ε; None in paper mode, which guarantees nothing.
        charged: the ε charged so far, at data-independent costs.
        teachers: how many teachers may have its records.
        weight: the weight of their votes.
        copies: how many teachers learn from each record.
        voters: how many of its teachers vote on each query.
        ended: whether its budget cannot pay for another query.
    """

    name: str
    records: int
    budget: float
    epsilon: float | None
    charged: float
    teachers: int
    weight: float
    copies: int
    voters: int
    ended: bool


def spending_by_group(ledger: Ledger, procedure: Procedure) -> tuple[GroupSpending, ...]:
    """Return the spending of every group with teachers; nothing without individual budgets."""
    plan, spending = procedure.plan, ledger.spending()
    if not plan.individual:
        return ()
    strict, guaranteed = ledger.terms.mode is Mode.STRICT, spending.guaranteed()
    shares = dict(procedure.rules.charge.by_group)
    rows = []
    for group in plan.groups:
        account = spending.accounts[group.name]
        rows.append(
            GroupSpending(
                name=group.name,
                records=group.records,
                budget=group.epsilon,
                epsilon=guaranteed[group.name] if strict else None,
                charged=account.epsilon(),
                teachers=len(group.teachers),
                weight=group.reach.weight,
                copies=group.reach.teachers,
                voters=group.voters,
                ended=strict and not account.affords(shares[group.name].events),
            )
        )
    return tuple(rows)

"""What each group of records was promised, charged, and whether it ended the answering."""

from __future__ import annotations

from dataclasses import dataclass

from ballotine.ledger import Ledger, Mode
from ballotine.pipeline.procedure import Procedure


@dataclass(frozen=True)
class GroupSpending:
    """One group: all of it public, if the sizes of groups are.

    Attributes:
        name: the group.
        records: how many records it has.
        budget: the ε it was promised at most.
        epsilon: the ε that holds; None where nothing holds (paper mode).
        charged: what its records were charged so far, at data-independent costs.
        teachers: how many teachers may hold its records.
        weight: what a vote of theirs weighs.
        copies: how many teachers learn each record.
        voters: how many of its teachers vote on each query.
        ended: whether its budget does not allow another query.
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
    """The account of every group that is taught; none without individual budgets."""
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

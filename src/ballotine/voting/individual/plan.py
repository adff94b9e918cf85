"""A plan: teachers, voters, the weights of votes, and the cost for each group."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ballotine.data.partition import Partition
from ballotine.data.partition.by_group import deal_apart, deal_copies
from ballotine.errors import DataError, ParameterError
from ballotine.ledger.charge import EVERYONE, Charge, GroupCharge, seats_at
from ballotine.privacy.guarantee import Budget
from ballotine.privacy.reach import ONE_VOTE, Reach
from ballotine.types import BoolArray, IntArray
from ballotine.voting.electorate import Electorate, VotingBlock
from ballotine.voting.individual.exhaustion import Exhaustion, aligned, exhaustion
from ballotine.voting.individual.tiers import check_groups
from ballotine.voting.mechanism import Mechanism
from ballotine.voting.tally import Tallies


@dataclass(frozen=True)
class GroupPlan:
    """One group of records.

    Attributes:
        name: the group.
        epsilon: its budget; infinite if the number of queries determines the cost.
        records: the number of its records.
        teachers: positions of the teachers that may hold them; with upsampling, all.
        reach: what one of its records can change on a query its teachers vote on.
        voters: how many of these teachers vote on each query.
    """

    name: str
    epsilon: float
    records: int
    teachers: tuple[int, ...]
    reach: Reach
    voters: int

    @property
    def takes_turns(self) -> bool:
        """Whether only some of its teachers vote on each query."""
        return self.voters < len(self.teachers)


@dataclass(frozen=True)
class Plan:
    """Who teaches, votes and pays: standard PATE, or records with individual budgets.

    With several groups it assumes that group membership is public: a record is replaced by another
    one of the same group, and no group's size, teachers or factors depend on private values.

    Attributes:
        scheme: the name of the scheme that made it.
        mechanism: the mechanism that answers, scaled to these teachers.
        teachers: the number of teachers.
        groups: every group with teachers, in the order of their numbers.
        delta: the δ of every group's budget.
        names: all groups; a record's group is given as its position here.
        exempt: the groups that need no privacy and have no teachers.
    """

    scheme: str
    mechanism: Mechanism
    teachers: int
    groups: tuple[GroupPlan, ...]
    delta: float
    names: tuple[str, ...]
    exempt: tuple[str, ...] = ()

    @classmethod
    def standard_of(
        cls,
        mechanism: Mechanism,
        teachers: int,
        delta: float,
        epsilon: float = math.inf,
        records: int = 0,
    ) -> Plan:
        """Return standard PATE: one budget for all, one teacher per record, one vote per teacher.

        Args:
            mechanism: the mechanism that answers.
            teachers: the number of teachers.
            delta: the δ of the budget.
            epsilon: its ε; infinite if the number of queries determines the cost.
            records: the number of records, if this plan deals them.
        """
        everyone = tuple(range(teachers))
        group = GroupPlan(EVERYONE, epsilon, records, everyone, ONE_VOTE, teachers)
        return cls("standard", mechanism, teachers, (group,), delta, (EVERYONE,))

    @property
    def budgets(self) -> dict[str, Budget]:
        """The budget of each group."""
        if any(math.isinf(group.epsilon) for group in self.groups):
            raise ParameterError(
                "a budget is required and has no default: budget=Budget(epsilon, delta)"
            )
        return {group.name: Budget(group.epsilon, self.delta) for group in self.groups}

    @property
    def individual(self) -> bool:
        """Whether budgets are individual."""
        return self.names != (EVERYONE,)

    @property
    def voters(self) -> int:
        """How many teachers vote on each query."""
        return sum(block.voters for block in self._blocks())

    @property
    def votes(self) -> float:
        """The total weight of all ballots on one query."""
        return Electorate(self._blocks(), {}).votes

    @property
    def standard(self) -> bool:
        """Whether it counts like PATE without individual budgets: one vote per teacher, always."""
        return all(g.reach == ONE_VOTE and g.voters == self.teachers for g in self.groups)

    def group(self, name: str) -> GroupPlan:
        """Return the group of that name."""
        for group in self.groups:
            if group.name == name:
                return group
        raise ParameterError(f"the plan has no group {name!r}")

    def reach(self, name: str) -> Reach:
        """Return what one record of that group can change."""
        return self.group(name).reach

    def charge(self, classes: int) -> Charge:
        """Return the worst-case cost of one query for each group."""
        return Charge(tuple((group.name, self._share(group, classes)) for group in self.groups))

    def votes_at(self, name: str, turns: IntArray | None, queries: int) -> BoolArray:
        """Return which of a group's teachers vote on each query, shape (queries, its teachers).

        Args:
            name: the group.
            turns: each query's turn, as the ledger counts them; required if teachers take turns.
            queries: the number of queries.
        """
        group = self.group(name)
        if not group.takes_turns:
            return np.ones((queries, len(group.teachers)), dtype=bool)
        if turns is None or turns.shape != (queries,):
            raise ParameterError("teachers take turns: give the turn of every query")
        return seats_at(turns, group.voters, len(group.teachers))

    @property
    def takes_turns(self) -> bool:
        """Whether the voters depend on the query's turn."""
        return any(group.takes_turns for group in self.groups)

    def tally(
        self, votes: Tallies | IntArray, classes: int, turns: IntArray | None = None
    ) -> Tallies:
        """Count the weighted ballots of the teachers whose turn it is.

        Args:
            votes: class numbers, shape (queries, teachers), or 0/1 per label; or counts, if every
                teacher has one vote.
            classes: the number of classes, or labels.
            turns: each query's turn, as the ledger counts them; required if teachers take turns.
        """
        if isinstance(votes, Tallies):
            return self._counted(votes, classes)
        if votes.ndim < 2 or votes.shape[1] != self.teachers:
            raise DataError(f"ballots need the shape (queries, {self.teachers})")
        if self._blocks() == (VotingBlock(tuple(range(self.teachers)), self.teachers, 1.0),):
            return self.mechanism.tally(votes, classes)
        theirs = {
            g.teachers: self.votes_at(g.name, turns, len(votes))
            for g in self.groups
            if g.takes_turns
        }
        return self.mechanism.weigh(votes, classes, Electorate(self._blocks(), theirs))

    def _counted(self, tallies: Tallies, classes: int) -> Tallies:
        if not self.standard:
            raise ParameterError("individual budgets need ballots: a tally does not show teachers")
        if tallies.classes != classes:
            raise DataError(f"the tallies are for {tallies.classes} classes, not {classes}")
        return tallies

    def deal(self, groups: IntArray, secret: bytes) -> Partition:
        """Deal the records to the teachers, depending only on their groups and a secret.

        Args:
            groups: the group of each record, as its position among `names`.
            secret: what determines the deal.

        Returns:
            The records of each teacher; with upsampling a record has several teachers.
        """
        self._check_numbers(groups)
        if any(group.reach.teachers > 1 for group in self.groups):
            copies = np.zeros(len(self.names), dtype=np.int64)
            for group in self.groups:
                copies[self.names.index(group.name)] = group.reach.teachers
            return deal_copies(copies[groups], self.teachers, secret)
        numbers: dict[tuple[int, ...], list[int]] = {}
        for group in self.groups:
            numbers.setdefault(group.teachers, []).append(self.names.index(group.name))
        return deal_apart(groups, numbers, secret)

    def straight(self, groups: IntArray) -> IntArray:
        """Return the positions of records that need no privacy and may go straight to the student.

        No guarantee covers them: whatever the student does with them may be public.
        """
        check_groups(groups, len(self.names))
        exempt = [self.names.index(name) for name in self.exempt]
        return np.flatnonzero(np.isin(groups, exempt)).astype(np.int64)

    def exhaustion(self, classes: int) -> Exhaustion:
        """Return when each budget ends at tight data-independent costs, and what is then left."""
        return exhaustion(self.charge(classes), self.budgets)

    def describe(self) -> str:
        """Return everything that determines how a query is counted and charged, as text."""
        groups = {
            group.name: {
                "copies": group.reach.teachers,
                "epsilon": group.epsilon,
                "teachers": list(group.teachers),
                "voters": group.voters,
                "weight": group.reach.weight,
            }
            for group in self.groups
        }
        content: dict[str, Any] = {
            "delta": self.delta,
            "groups": groups,
            "mechanism": json.loads(self.mechanism.describe()),
            "scheme": self.scheme,
            "teachers": self.teachers,
        }
        return json.dumps(content, sort_keys=True)

    def table(self, classes: int | None = None) -> str:
        """Return the groups as text; given the number of classes, also when their budgets end."""
        rows = [("group", "ε", "records", "teachers", "weight", "copies", "voters")]
        rows += [
            (
                group.name,
                f"{group.epsilon:g}",
                str(group.records),
                str(len(group.teachers)),
                f"{group.reach.weight:g}",
                str(group.reach.teachers),
                str(group.voters),
            )
            for group in self.groups
        ]
        head = f"{self.scheme}: {self.teachers} teachers, {self.voters} vote on each query"
        lines = [head, aligned(rows)]
        if self.exempt:
            lines.append(f"without privacy, straight to the student: {', '.join(self.exempt)}")
        if classes is not None:
            lines.append(str(self.exhaustion(classes)))
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.table()

    def _share(self, group: GroupPlan, classes: int) -> GroupCharge:
        events = self.mechanism.events(classes, group.reach)
        if not group.takes_turns:
            return GroupCharge(events)
        return GroupCharge(events, group.voters, len(group.teachers))

    def _blocks(self) -> tuple[VotingBlock, ...]:
        """Return the teachers that are counted together; groups may share teachers."""
        blocks = {
            g.teachers: VotingBlock(g.teachers, g.voters, g.reach.weight) for g in self.groups
        }
        return tuple(blocks.values())

    def _check_numbers(self, groups: IntArray) -> None:
        check_groups(groups, len(self.names))
        found = np.bincount(groups, minlength=len(self.names))
        planned = {group.name: group.records for group in self.groups}
        for name, number in zip(self.names, found.tolist(), strict=True):
            if name not in self.exempt and planned.get(name, 0) != number:
                raise DataError(
                    f"the plan is for {planned.get(name, 0)} records of the group {name!r}, "
                    f"but there are {number}"
                )

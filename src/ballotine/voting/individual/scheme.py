"""The base classes of schemes for individual budgets."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ballotine.data.partition import Partition
from ballotine.errors import ParameterError
from ballotine.privacy.reach import Reach
from ballotine.types import IntArray
from ballotine.voting.individual.levels import Budgets, Pairs, as_pairs
from ballotine.voting.individual.plan import GroupPlan, Plan
from ballotine.voting.individual.setting import SchemeSetting
from ballotine.voting.individual.tiers import (
    Tier,
    assign_teachers,
    check_records,
    tiers_of,
    tiers_of_partition,
)
from ballotine.voting.mechanism import Mechanism

Part = tuple[Reach, int]
"""The part of a tier's teachers: the reach of their records, and how many vote on each query."""


@dataclass(frozen=True)
class Scheme(ABC):
    """Budgets by group, and a rule that turns them into influence on the votes.

    Attributes:
        budgets: ε by group name: a number, a level (`LEVELS`), or "none" for records that need
            no privacy. It is stored as a tuple of pairs.
    """

    budgets: Budgets
    name: ClassVar[str]

    def __post_init__(self) -> None:
        object.__setattr__(self, "budgets", as_pairs(self.budgets))

    @property
    def pairs(self) -> Pairs:
        """Names and ε in the given order: a group's number is its position here."""
        return as_pairs(self.budgets)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the groups, in the order of their numbers."""
        return tuple(name for name, _ in self.pairs)

    @property
    def exempt(self) -> tuple[str, ...]:
        """The groups that need no privacy."""
        return tuple(name for name, epsilon in self.pairs if math.isinf(epsilon))

    @abstractmethod
    def plan(
        self,
        records: Mapping[str, int],
        teachers: int,
        mechanism: Mechanism,
        classes: int,
        delta: float,
    ) -> Plan:
        """Choose factors so that the groups' budgets run out together.

        Args:
            records: the number of records of each group (public).
            teachers: the number of teachers without individual budgets.
            mechanism: a mechanism for that many teachers; see `require_priced`.
            classes: the number of classes, or labels.
            delta: the δ of every group's budget.
        """


@dataclass(frozen=True)
class SeparateTeachers(Scheme):
    """A scheme in which every budget has its own teachers."""

    def plan(
        self,
        records: Mapping[str, int],
        teachers: int,
        mechanism: Mechanism,
        classes: int,
        delta: float,
    ) -> Plan:
        """Give every budget its share of the teachers; the mechanism is used unchanged."""
        check_records(self.pairs, records, teachers)
        tiers = assign_teachers(tiers_of(self.pairs, records), teachers)
        return self._planned(tiers, SchemeSetting(mechanism, classes, delta))

    def plan_for(
        self,
        partition: Partition,
        groups: IntArray,
        mechanism: Mechanism,
        classes: int,
        delta: float,
    ) -> Plan:
        """Plan for existing teachers; one whose records have different budgets gets the smallest.

        Args:
            partition: the records of each teacher; every record has at most one teacher.
            groups: the group of each record, as its position among the budgets.
            mechanism: used unchanged; see `require_priced`.
            classes: the number of classes, or labels.
            delta: the δ of every group's budget.
        """
        tiers = tiers_of_partition(partition, groups, self.budgets)
        return self._planned(tiers, SchemeSetting(mechanism, classes, delta))

    def _planned(self, tiers: Sequence[Tier], setting: SchemeSetting) -> Plan:
        groups = [
            GroupPlan(name, tier.epsilon, number, tier.teachers, reach, voters)
            for tier, (reach, voters) in zip(tiers, self._parts(tiers, setting), strict=True)
            for name, number in tier.records
        ]
        return Plan(
            scheme=self.name,
            mechanism=setting.mechanism,
            teachers=sum(len(tier.teachers) for tier in tiers),
            groups=tuple(sorted(groups, key=lambda group: self.names.index(group.name))),
            delta=setting.delta,
            names=self.names,
            exempt=self.exempt,
        )

    @abstractmethod
    def _parts(self, tiers: Sequence[Tier], setting: SchemeSetting) -> list[Part]:
        """Return the part of each tier's teachers."""


def check_rule(rule: str, known: Sequence[str]) -> None:
    """Refuse a rule that the scheme does not have."""
    if rule not in known:
        raise ParameterError(f"unknown rule {rule!r}; choose one of {', '.join(known)}")

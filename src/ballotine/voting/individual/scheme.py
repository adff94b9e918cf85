"""The contract of every way to give records budgets of their own."""

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
from ballotine.voting.individual.tiers import Tier, check_records, seated, tiers_of, tiers_on
from ballotine.voting.mechanism import Mechanism

Part = tuple[Reach, int]
"""What a tier's teachers do: how far one of their records reaches, and how many vote per query."""


@dataclass(frozen=True)
class Scheme(ABC):
    """Budgets by group, and a rule that turns them into influence on the votes.

    Attributes:
        budgets: ε by group name: a number, a level (`LEVELS`), or "none" for records that need
            no privacy. It is kept as a tuple of pairs.
    """

    budgets: Budgets
    name: ClassVar[str]

    def __post_init__(self) -> None:
        object.__setattr__(self, "budgets", as_pairs(self.budgets))

    @property
    def pairs(self) -> Pairs:
        """Names and ε, in the order given: a group's number is its place here."""
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
            records: how many records each group has (public).
            teachers: how many teachers there would be without individual budgets.
            mechanism: see `require_priced`; made for that many teachers.
            classes: how many classes, or labels, there are.
            delta: the δ of every group's budget.
        """


@dataclass(frozen=True)
class Apart(Scheme):
    """A scheme in which every budget has teachers of its own."""

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
            records: how many records each group has (public).
            teachers: how many teachers there are; every budget gets its share of them.
            mechanism: see `require_priced`; it is used as it is.
            classes: how many classes, or labels, there are.
            delta: the δ of every group's budget.
        """
        check_records(self.pairs, records, teachers)
        tiers = seated(tiers_of(self.pairs, records), teachers)
        return self._planned(tiers, SchemeSetting(mechanism, classes, delta))

    def plan_for(
        self,
        partition: Partition,
        groups: IntArray,
        mechanism: Mechanism,
        classes: int,
        delta: float,
    ) -> Plan:
        """Plan for teachers that exist already; one that mixes budgets takes the smallest.

        Args:
            partition: who teaches whom; every record has at most one teacher.
            groups: the group of each record, as its position among the budgets.
            mechanism: see `require_priced`; it is used as it is.
            classes: how many classes, or labels, there are.
            delta: the δ of every group's budget.
        """
        tiers = tiers_on(partition, groups, self.budgets)
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
        """What the teachers of each tier do."""


def check_rule(rule: str, known: Sequence[str]) -> None:
    """Refuse a rule that the scheme does not have."""
    if rule not in known:
        raise ParameterError(f"unknown rule {rule!r}; choose one of {', '.join(known)}")

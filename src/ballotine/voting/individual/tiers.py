"""Tiers: groups with equal budgets, and how the teachers are divided among them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ballotine.data.partition import Partition
from ballotine.errors import DataError, ParameterError
from ballotine.types import IntArray
from ballotine.voting.individual.levels import Budgets, Pairs, as_pairs


@dataclass(frozen=True)
class Tier:
    """All groups with the same budget.

    Attributes:
        epsilon: the budget.
        records: the number of records of each group, by name.
        teachers: the positions of the tier's teachers.
    """

    epsilon: float
    records: tuple[tuple[str, int], ...]
    teachers: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        """The number of records."""
        return sum(number for _, number in self.records)


def check_records(pairs: Pairs, records: Mapping[str, int], teachers: int) -> None:
    """Refuse budgets without records, records without budgets, and too few records."""
    names = [name for name, _ in pairs]
    if unknown := sorted(set(records) - set(names)):
        raise ParameterError(f"the group {unknown[0]!r} has no budget; known: {', '.join(names)}")
    for name in names:
        number = records.get(name, 0)
        if number != int(number) or number < 1:
            raise DataError(f"the group {name!r} has a budget but no records; leave it out")
    if teachers < 1:
        raise ParameterError(f"an ensemble needs at least one teacher, got {teachers}")
    private = sum(records[name] for name, epsilon in pairs if math.isfinite(epsilon))
    if private < teachers:
        raise DataError(
            f"{private} private records cannot fill {teachers} teachers; "
            "use fewer teachers or more records"
        )


def tiers_of(pairs: Pairs, records: Mapping[str, int]) -> tuple[Tier, ...]:
    """Return the tiers, smallest budget first, without groups that need no privacy."""
    members: dict[float, list[tuple[str, int]]] = defaultdict(list)
    for name, epsilon in pairs:
        if math.isfinite(epsilon) and records.get(name, 0) > 0:
            members[epsilon].append((name, int(records[name])))
    return tuple(Tier(epsilon, tuple(members[epsilon])) for epsilon in sorted(members))


def assign_teachers(tiers: Sequence[Tier], teachers: int) -> tuple[Tier, ...]:
    """Give each tier its own teachers, in proportion to its records."""
    if teachers < len(tiers):
        raise ParameterError(
            f"{len(tiers)} different budgets need a teacher each, but there are only {teachers}"
        )
    numbers = apportion([tier.size for tier in tiers], teachers)
    ends = np.cumsum(numbers).tolist()
    return tuple(
        Tier(tier.epsilon, tier.records, tuple(range(end - number, end)))
        for tier, number, end in zip(tiers, numbers, ends, strict=True)
    )


def apportion(sizes: Sequence[int], seats: int) -> list[int]:
    """Divide seats in proportion to sizes: at least one each, then by largest remainder."""
    quotas = seats * np.array(sizes, dtype=np.float64) / sum(sizes)
    given = np.ones(len(sizes), dtype=np.int64)
    for _ in range(seats - len(sizes)):
        given[int(np.argmax(quotas - given))] += 1
    counts: list[int] = given.tolist()
    return counts


def smallest_budgets(partition: Partition, groups: IntArray, budgets: Budgets) -> IntArray:
    """Return the group with the smallest budget among the records of each teacher.

    Args:
        partition: the records of each teacher.
        groups: the group of each record, as its position among the budgets.
        budgets: ε by name.

    Returns:
        The number of a group for every teacher, shape (teachers,).
    """
    epsilons = np.array([epsilon for _, epsilon in as_pairs(budgets)])
    check_groups(groups, len(epsilons))
    held = np.concatenate(partition.shares)
    if len(np.unique(held)) != len(held):
        raise DataError("each record must have one teacher, but some have several")
    if any(len(share) == 0 for share in partition.shares):
        raise DataError("a teacher without records has no budget")
    strictest = [groups[share[np.argmin(epsilons[groups[share]])]] for share in partition.shares]
    numbers = np.array(strictest, dtype=np.int64)
    if np.any(np.isinf(epsilons[numbers])):
        raise DataError(
            "a teacher holds only records that need no privacy; "
            "give these records to the student instead"
        )
    return numbers


def tiers_of_partition(
    partition: Partition, groups: IntArray, budgets: Budgets
) -> tuple[Tier, ...]:
    """Return the tiers of a partition; a teacher with different budgets keeps the smallest.

    All records of such a teacher count towards the smallest budget, which keeps theirs too.
    """
    pairs = as_pairs(budgets)
    leads = smallest_budgets(partition, groups, budgets)
    epsilons = np.array([epsilon for _, epsilon in pairs])
    counts: IntArray = np.zeros(len(pairs), dtype=np.int64)
    for share, lead in zip(partition.shares, leads, strict=True):
        own = groups[share]
        kept = np.where(epsilons[own] == epsilons[lead], own, lead)
        counts += np.bincount(kept, minlength=len(pairs))
    records = {name: int(number) for (name, _), number in zip(pairs, counts, strict=True)}
    levels = epsilons[leads]
    return tuple(
        Tier(tier.epsilon, tier.records, tuple(np.flatnonzero(levels == tier.epsilon).tolist()))
        for tier in tiers_of(pairs, records)
    )


def check_groups(groups: IntArray, known: int) -> None:
    """Refuse groups that are not one position among the budgets per record."""
    if groups.ndim != 1 or not np.issubdtype(groups.dtype, np.integer):
        raise DataError("groups must be one whole number per record")
    if groups.size and not (int(groups.min()) >= 0 and int(groups.max()) < known):
        raise DataError(f"the groups of the records must be numbers from 0 to {known - 1}")

"""Upsampling: records with larger budgets go to more teachers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, get_args

import numpy as np

from ballotine.errors import ParameterError
from ballotine.privacy.reach import Reach
from ballotine.types import FloatArray
from ballotine.voting.individual.plan import GroupPlan, Plan
from ballotine.voting.individual.scheme import Scheme, check_rule
from ballotine.voting.individual.setting import SchemeSetting, allowances, scaled, strength
from ballotine.voting.individual.tiers import Tier, check_records, tiers_of
from ballotine.voting.mechanism import Mechanism

CopyRule = Literal["balanced", "data-independent", "proportional"]
FINEST, COARSEST = 0.01, 0.5


@dataclass(frozen=True)
class Upsampling(Scheme):
    """Every record of a group goes to u different teachers, where u is a whole number.

    With the copies grow the number of teachers (so that each has as many records as before), the
    noise and the threshold. The votes of u teachers may change independently: they cost u²α/σ².

    Attributes:
        budgets: ε by group name.
        precision: the largest relative error of the ratio of two factors; smaller values may need
            larger factors, and so more teachers.
        rule: "data-independent" makes factors proportional to √(L + ε) − √L with L = ln(1/δ),
            "proportional" makes them proportional to ε (Individualized PATE, Algorithm 1).
            "balanced" uses the ratios at which all budgets last equally long and, among factors
            up to those that meet the precision, the smallest that afford as many queries as any,
            within the precision, at the tight costs of the mechanism.
    """

    precision: float = 0.05
    rule: CopyRule = "balanced"
    name: ClassVar[str] = "upsampling"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_rule(self.rule, get_args(CopyRule))
        if not FINEST <= self.precision <= COARSEST:
            raise ParameterError(
                f"the precision must lie between {FINEST} and {COARSEST}, got {self.precision}"
            )

    def plan(
        self,
        records: Mapping[str, int],
        teachers: int,
        mechanism: Mechanism,
        classes: int,
        delta: float,
    ) -> Plan:
        """Choose the copies of each group, and scale teachers and mechanism accordingly."""
        check_records(self.pairs, records, teachers)
        setting = SchemeSetting(mechanism, classes, delta)
        tiers = tiers_of(self.pairs, records)
        factors = whole_factors(self._ratios([t.epsilon for t in tiers], delta), self.precision)
        if self.rule == "balanced" and len(factors) > 1:
            copies = _cheapest(factors, tiers, teachers, setting, self.precision)
        else:
            copies = factors[-1]
        grown = _grown(teachers, tiers, copies)
        if max(copies) > grown:
            raise ParameterError(
                f"a record cannot go to {max(copies)} different teachers if there are {grown}; "
                "use more teachers, a coarser precision, or budgets that are closer together"
            )
        everyone = tuple(range(grown))
        groups = [
            GroupPlan(name, tier.epsilon, number, everyone, Reach(teachers=factor), grown)
            for tier, factor in zip(tiers, copies, strict=True)
            for name, number in tier.records
        ]
        return Plan(
            scheme=self.name,
            mechanism=scaled(mechanism, grown / teachers),
            teachers=grown,
            groups=tuple(sorted(groups, key=lambda group: self.names.index(group.name))),
            delta=delta,
            names=self.names,
            exempt=self.exempt,
        )

    def _ratios(self, epsilons: Sequence[float], delta: float) -> FloatArray:
        """Return the factor of each budget relative to the smallest, smallest first."""
        if self.rule == "proportional":
            factors = np.array(epsilons)
        elif self.rule == "data-independent":
            factors = np.array([strength(epsilon, delta) for epsilon in epsilons])
        else:
            factors = np.sqrt([_published_queries(epsilon, delta) for epsilon in epsilons])
        ratios: FloatArray = factors / factors[0]
        return ratios


def whole_factors(ratios: FloatArray, precision: float) -> list[list[int]]:
    """Return whole factors for growing scales, up to the first that meet the precision.

    Args:
        ratios: the exact ratios, each at least 1.
        precision: the largest relative error of a factor.
    """
    found: list[list[int]] = []
    scale, near = 0, False
    while not near:  # ends at the latest when 0.5 is at most precision · scale
        scale += 1
        factors = np.floor(scale * ratios + 0.5).astype(np.int64)
        near = bool(np.all(np.abs(factors / (scale * ratios) - 1.0) <= precision))
        found.append(factors.tolist())
    return found


def _cheapest(
    factors: Sequence[list[int]],
    tiers: Sequence[Tier],
    teachers: int,
    setting: SchemeSetting,
    precision: float,
) -> list[int]:
    """Return the first factors that afford as many queries as any others, within the precision."""
    queries = []
    for copies in factors:
        growth = _grown(teachers, tiers, copies) / teachers
        grown = replace(setting, mechanism=scaled(setting.mechanism, growth))
        queries.append(
            min(
                grown.afforded(tier.epsilon, Reach(teachers=factor))
                for tier, factor in zip(tiers, copies, strict=True)
            )
        )
    enough = (1.0 - precision) * max(queries)
    return next(copies for copies, number in zip(factors, queries, strict=True) if number >= enough)


def _published_queries(epsilon: float, delta: float) -> float:
    """Return how many queries of cost α the budget affords."""
    orders, allowed = allowances(epsilon, delta)
    return float(np.max(allowed / orders))


def _grown(teachers: int, tiers: Sequence[Tier], copies: Sequence[int]) -> int:
    """Return the number of teachers that keeps the number of records per teacher."""
    shares = sum(tier.size * factor for tier, factor in zip(tiers, copies, strict=True))
    return (2 * teachers * shares + sum(tier.size for tier in tiers)) // (
        2 * sum(tier.size for tier in tiers)
    )

"""Vanishing: each budget has its own teachers, which vote on more or fewer queries."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from ballotine.privacy.reach import ONE_VOTE
from ballotine.voting.individual.scheme import Part, SeparateTeachers, check_rule
from ballotine.voting.individual.setting import SchemeSetting
from ballotine.voting.individual.tiers import Tier

TurnRule = Literal["balanced", "quadratic", "quartic"]
POWERS = {"quadratic": 2, "quartic": 4}
ROUNDING = 1e-9  # for shares that are a whole number of teachers up to rounding


@dataclass(frozen=True)
class Vanishing(SeparateTeachers):
    """Teachers with smaller budgets vote on fewer queries, taking turns.

    Every vote has weight 1, and a record pays for the queries on which its teacher votes. Teachers
    with the largest budget always vote. Which teachers vote depends only on the query's turn, and
    the number of voters per query is constant.

    The mechanism is not changed, so give it noise and a threshold for the number of voters
    (`Plan.voters`), which is smaller than the number of teachers. At least one teacher of each
    budget votes on each query, so the budget of a small group may end early: see `Plan.exhaustion`.

    Attributes:
        budgets: ε by group name.
        rule: how often a teacher votes, relative to those with c times its budget. "balanced"
            makes every budget last for the same number of queries at the tight data-independent
            costs; "quadratic" is 1/c², which is close, because n votes cost about as much as one
            of weight √n; "quartic" is 1/c⁴, which suits early stages of data-dependent accounting
            (Individualized PATE, Appendix C).
    """

    rule: TurnRule = "balanced"
    name: ClassVar[str] = "vanishing"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_rule(self.rule, get_args(TurnRule))

    def _parts(self, tiers: Sequence[Tier], setting: SchemeSetting) -> list[Part]:
        # Rounded down, so that no budget ends before the largest one.
        shares = self._participation([tier.epsilon for tier in tiers], setting)
        return [
            (ONE_VOTE, max(1, math.floor(share * len(tier.teachers) + ROUNDING)))
            for share, tier in zip(shares, tiers, strict=True)
        ]

    def _participation(self, epsilons: Sequence[float], setting: SchemeSetting) -> list[float]:
        if self.rule == "balanced":
            votes = [math.floor(setting.afforded(epsilon)) for epsilon in epsilons]
            return [number / max(1, *votes) for number in votes]
        return [(epsilon / max(epsilons)) ** POWERS[self.rule] for epsilon in epsilons]

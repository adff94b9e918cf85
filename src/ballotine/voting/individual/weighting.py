"""Weighting: each budget has its own teachers, whose votes have more or less weight."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np

from ballotine.privacy.reach import Reach
from ballotine.types import FloatArray
from ballotine.voting.individual.scheme import Part, SeparateTeachers, check_rule
from ballotine.voting.individual.setting import SchemeSetting, strength
from ballotine.voting.individual.tiers import Tier

WeightRule = Literal["balanced", "data-independent", "proportional"]

MAX_ROUNDS = 30
CLOSE = 1e-5  # relative difference of the groups' numbers of queries
DIGITS = 6  # of a weight: it is part of query ids, so the last bits of a float must not matter


@dataclass(frozen=True)
class Weighting(SeparateTeachers):
    """Votes of teachers with larger budgets have more weight; the mean weight is 1.

    A vote of weight w costs as much as w votes that change together, about w²α/σ².

    Attributes:
        budgets: ε by group name.
        rule: "balanced" makes every budget last for the same number of queries at the tight
            data-independent costs of the mechanism; "data-independent" makes weights
            proportional to √(L + ε) − √L with L = ln(1/δ), which does so for the costs and the
            conversion of the literature; "proportional" makes them proportional to ε
            (Individualized PATE, Appendix C), which suits data-dependent costs.
    """

    rule: WeightRule = "balanced"
    name: ClassVar[str] = "weighting"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_rule(self.rule, get_args(WeightRule))

    def _parts(self, tiers: Sequence[Tier], setting: SchemeSetting) -> list[Part]:
        teachers = np.array([len(tier.teachers) for tier in tiers])
        if self.rule == "proportional":
            weights = np.array([tier.epsilon for tier in tiers])
        else:
            weights = np.array([strength(tier.epsilon, setting.delta) for tier in tiers])
        weights = _mean_one(weights, teachers)
        if self.rule == "balanced":
            weights = _balanced(weights, teachers, tiers, setting)
        short = [float(f"{weight:.{DIGITS}g}") for weight in weights]
        return [(Reach(w), len(tier.teachers)) for w, tier in zip(short, tiers, strict=True)]


def _balanced(
    weights: FloatArray, teachers: FloatArray, tiers: Sequence[Tier], setting: SchemeSetting
) -> FloatArray:
    """Return weights with which all tiers afford the same number of queries.

    That number is roughly proportional to 1/w², so multiplying each weight by the square root of
    its tier's number is approximately Newton's method and converges in a few rounds.
    """
    for _ in range(MAX_ROUNDS):
        if len(tiers) == 1:
            break
        queries = np.array(
            [
                setting.afforded(tier.epsilon, Reach(float(weight)))
                for weight, tier in zip(weights, tiers, strict=True)
            ]
        )
        if queries.max() <= (1.0 + CLOSE) * queries.min():
            break
        weights = _mean_one(weights * np.sqrt(queries / queries.min()), teachers)
    return weights


def _mean_one(weights: FloatArray, teachers: FloatArray) -> FloatArray:
    scaled: FloatArray = weights * (teachers.sum() / (teachers @ weights))
    return scaled

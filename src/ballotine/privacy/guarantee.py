"""Budgets (what is promised) and guarantees (what holds, and under which assumptions)."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from ballotine.errors import ParameterError

NEIGHBOURING = "one private record replaced"
"""Two data sets are neighbouring when one record of one is replaced in the other."""


THIS_DATA_SET = "for this data set and its neighbours"
"""The scope of a sanitised ε, which was computed from the data set itself."""


class Kind(StrEnum):
    """What a guarantee's ε depends on, and therefore who may see it."""

    DATA_INDEPENDENT = "data-independent"
    DATA_DEPENDENT = "data-dependent, private"
    SANITISED = "sanitised"
    CONDITIONAL = "conditional"
    NOT_RELEASABLE = "not releasable"


def round_up(value: float, digits: int = 3) -> float:
    """Round an ε up, so that a printed guarantee is never smaller than the true one."""
    if not math.isfinite(value):
        return value
    scale = 10.0**digits
    return math.ceil(value * scale - 1e-9) / scale


MAX_EPSILON = 1e100
"""A larger ε promises nothing, and overflows when divided by small costs."""


@dataclass(frozen=True)
class Budget:
    """The (ε, δ) limit on the total of everything released from one data set."""

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        if not 0 < self.epsilon <= MAX_EPSILON:  # also refuses NaN
            raise ParameterError(
                f"a budget's epsilon must be positive and at most {MAX_EPSILON:g}, got "
                f"{self.epsilon}"
            )
        if not 0 < self.delta < 1:
            raise ParameterError(f"a budget's delta must lie between 0 and 1, got {self.delta}")

    def __str__(self) -> str:
        return f"(ε = {self.epsilon:g}, δ = {self.delta:g})"


@dataclass(frozen=True)
class GroupGuarantee:
    """What holds for the records of one group when budgets are individual."""

    name: str
    epsilon: float
    budget: float


@dataclass(frozen=True)
class Guarantee:
    """An (ε, δ) statement that can be printed, with everything it rests on.

    Attributes:
        epsilon: holds for everything released so far, given the assumptions; with individual
            budgets it is that of the least protected group.
        delta: the δ of the budget.
        budget: the ceiling that the ledger enforces however the queries are chosen.
        kind: what ε depends on.
        mode: the rule that stops answering: strict, fixed or paper.
        assumptions: statements that ε depends on.
        scope: which releases are counted.
        seeded: True when anyone who knows the seed can remove the noise.
        groups: the guarantee of each group, when budgets are individual.
    """

    epsilon: float
    delta: float
    budget: Budget
    kind: Kind = Kind.DATA_INDEPENDENT
    mode: str = "strict"
    neighbouring: str = NEIGHBOURING
    assumptions: tuple[str, ...] = ()
    scope: str = "everything in this ledger"
    seeded: bool = False
    notes: tuple[str, ...] = field(default=())
    groups: tuple[GroupGuarantee, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, with ε rounded up."""
        return {
            **asdict(self),
            "epsilon": round_up(self.epsilon),
            "kind": self.kind.value,
            "assumptions": list(self.assumptions),
            "notes": list(self.notes),
            "groups": [
                {**asdict(group), "epsilon": round_up(group.epsilon)} for group in self.groups
            ],
        }

    def _ceiling(self) -> str:
        if self.kind is Kind.NOT_RELEASABLE:
            return "no ceiling is enforced"
        return f"ceiling enforced by the ledger: {self.budget}"

    def _restriction(self) -> str:
        return f" {THIS_DATA_SET}" if self.kind is Kind.SANITISED else ""

    def __str__(self) -> str:
        promise = f"(ε = {round_up(self.epsilon):g}, δ = {self.delta:g})"
        lines = [
            f"no guarantee: stopped at a data-dependent {promise}"
            if self.kind is Kind.NOT_RELEASABLE
            else f"{promise}-differential privacy{self._restriction()}",
            f"  neighbouring: {self.neighbouring}",
            f"  kind: {self.kind.value}; mode: {self.mode}; {self._ceiling()}",
            f"  counts: {self.scope}",
        ]
        lines += [
            f"  group {g.name}: ε = {round_up(g.epsilon):g} of {g.budget:g}" for g in self.groups
        ]
        lines += [f"  assumes: {text}" for text in self.assumptions]
        lines += [f"  note: {text}" for text in self.notes]
        if self.seeded:
            lines.append("  seeded: for experiments only")
        return "\n".join(lines)

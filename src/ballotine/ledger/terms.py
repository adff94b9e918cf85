"""What a ledger promises, and by which rule it stops: fixed when it is opened, for good."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from ballotine.errors import ParameterError
from ballotine.ledger.charge import EVERYONE
from ballotine.privacy.guarantee import Budget


class Mode(StrEnum):
    """When answering stops, and what may be said afterwards.

    STRICT: stop on the data-independent cost. FIXED: a number of queries decided beforehand;
    afterwards a smaller, data-dependent ε may be published, sanitised. PAPER: stop on the
    data-dependent cost as papers do, for reproduction; the result may not be released.
    """

    STRICT = "strict"
    FIXED = "fixed"
    PAPER = "paper"


@dataclass(frozen=True)
class Terms:
    """The promise to each group of records, and the rule that keeps it.

    Attributes:
        budgets: what each group may be charged; one δ for all.
        mode: the rule.
        queries: how many queries are asked in FIXED mode, and never more.
        plan: how the ε of FIXED mode will be published, chosen before any vote is seen.
    """

    budgets: tuple[tuple[str, Budget], ...]
    mode: Mode = Mode.STRICT
    queries: int | None = None
    plan: str = ""

    def __post_init__(self) -> None:
        # The order of groups means nothing, and the file does not keep it.
        object.__setattr__(self, "budgets", tuple(sorted(self.budgets, key=lambda pair: pair[0])))
        names = [name for name, _ in self.budgets]
        if not names or len(set(names)) != len(names) or not all(names):
            raise ParameterError("a ledger needs one budget per group, each group named once")
        if len({budget.delta for _, budget in self.budgets}) > 1:
            raise ParameterError("all groups of a ledger share one δ")
        if (self.queries is not None) != (self.mode is Mode.FIXED):
            raise ParameterError("the fixed mode, and no other, needs a number of queries")
        if self.queries is not None and self.queries < 1:
            raise ParameterError(f"at least one query is asked, got {self.queries}")

    @classmethod
    def of(cls, promise: Terms | Budget | Mapping[str, Budget]) -> Terms:
        """Terms from a budget for everyone, or one per group."""
        if isinstance(promise, Terms):
            return promise
        if isinstance(promise, Budget):
            return cls(((EVERYONE, promise),))
        return cls(tuple(promise.items()))

    @property
    def loosest(self) -> Budget:
        """A budget that holds for every group."""
        return max((budget for _, budget in self.budgets), key=lambda budget: budget.epsilon)

    def __str__(self) -> str:
        text = ", ".join(
            str(budget) if name == EVERYONE else f"{name}: {budget}"
            for name, budget in self.budgets
        )
        if self.mode is Mode.STRICT:
            return text
        asked = "" if self.queries is None else f", {self.queries} queries"
        return f"{text} in {self.mode} mode{asked}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values for the ledger's file; a plain promise looks as it always did."""
        if self == Terms.of(self.loosest):
            return {"budget": _numbers(self.loosest)}
        return {
            "budgets": {name: _numbers(budget) for name, budget in self.budgets},
            "mode": self.mode.value,
            "plan": self.plan,
            "queries": self.queries,
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Terms:
        """Read terms back."""
        if "budget" in stored:
            return cls.of(Budget(**stored["budget"]))
        budgets = tuple((name, Budget(**numbers)) for name, numbers in stored["budgets"].items())
        return cls(budgets, Mode(stored["mode"]), stored["queries"], stored["plan"])


def _numbers(budget: Budget) -> dict[str, float]:
    return {"delta": budget.delta, "epsilon": budget.epsilon}

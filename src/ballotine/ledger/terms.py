"""A ledger's terms: what it promises and when it stops, fixed when it is created.

The stop rule is a Rényi filter at one order per group. The order depends on the budget alone,
before any query is known: adaptive composition at an order fixed beforehand needs no assumption
on how queries are chosen (Feldman and Zrnic 2021, Theorem 4.3).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Protocol

import numpy as np

from ballotine.errors import ParameterError
from ballotine.ledger.charge import EVERYONE
from ballotine.privacy import conversion
from ballotine.privacy.guarantee import Budget
from ballotine.privacy.orders import DEFAULT_ORDERS, widen


class Mode(StrEnum):
    """When answering stops, and what may be claimed afterwards.

    STRICT: stop on the data-independent cost. FIXED: the number of queries is fixed beforehand;
    afterwards a smaller, data-dependent ε may be published, sanitised. PAPER: stop on the
    data-dependent cost as papers do, for reproduction; the result may not be released.
    """

    STRICT = "strict"
    FIXED = "fixed"
    PAPER = "paper"


@dataclass(frozen=True)
class Terms:
    """The promise to each group of records, and the rule that enforces it.

    Attributes:
        budgets: what each group may be charged; one δ for all.
        mode: when answering stops.
        queries: in FIXED mode, the number of queries.
        plan: in FIXED mode, how ε will be published, chosen before any vote is seen.
        mechanism: in FIXED mode, the mechanism that answers, with its parameters.
        orders: the order of each group's filter; empty before the terms are settled, and in
            version 0.1.
    """

    budgets: tuple[tuple[str, Budget], ...]
    mode: Mode = Mode.STRICT
    queries: int | None = None
    plan: str = ""
    mechanism: str = ""
    orders: tuple[tuple[str, float], ...] = ()

    def __post_init__(self) -> None:
        # The order of the groups has no meaning, and the ledger does not keep it.
        object.__setattr__(self, "budgets", tuple(sorted(self.budgets, key=lambda pair: pair[0])))
        object.__setattr__(self, "orders", tuple(sorted(self.orders)))
        names = [name for name, _ in self.budgets]
        if not names or len(set(names)) != len(names) or not all(names):
            raise ParameterError("a ledger needs at least one group, and one budget per group")
        if len({budget.delta for _, budget in self.budgets}) > 1:
            raise ParameterError("all groups of a ledger must have the same δ")
        if (self.queries is not None) != (self.mode is Mode.FIXED):
            raise ParameterError(
                "fixed mode needs a number of queries, and no other mode takes one"
            )
        if self.queries is not None and self.queries < 1:
            raise ParameterError(f"the number of queries must be at least 1, got {self.queries}")
        if self.orders and [name for name, _ in self.orders] != names:
            raise ParameterError("a filter needs one order per group")
        if not all(order > 1 for _, order in self.orders):
            raise ParameterError("the order of a filter must be above 1")

    @classmethod
    def of(cls, promise: Terms | Budget | Mapping[str, Budget]) -> Terms:
        """Make terms from a budget for everyone, or from one per group."""
        if isinstance(promise, Terms):
            return promise
        if isinstance(promise, Budget):
            return cls(((EVERYONE, promise),))
        return cls(tuple(promise.items()))

    def planned(self) -> Terms:
        """The same terms, with an order for every group's filter."""
        if self.orders:
            return self
        return replace(self, orders=tuple((name, plan_order(b)) for name, b in self.budgets))

    def settle(self) -> Terms:
        """The terms of a new ledger."""
        return self.planned()

    def disagreement(self, stored: Terms) -> str | None:
        """Why a ledger with these terms is not the one asked for, or None."""
        asked = (self.budgets, self.mode, self.queries)
        if asked == (stored.budgets, stored.mode, stored.queries):
            return None
        return (
            f"it promises {stored} for its data set and cannot be opened with {self}, because a "
            "budget belongs to the data set, not to a run"
        )

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
        """The terms as JSON values, for the ledger."""
        return {
            "budgets": {name: _numbers(budget) for name, budget in self.budgets},
            "mechanism": self.mechanism,
            "mode": self.mode.value,
            "orders": dict(self.orders),
            "plan": self.plan,
            "queries": self.queries,
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Terms:
        """Read terms from the ledger, including those of version 0.1."""
        if "budget" in stored:
            return cls.of(Budget(**stored["budget"]))
        return cls(
            tuple((name, Budget(**numbers)) for name, numbers in stored["budgets"].items()),
            Mode(stored["mode"]),
            stored["queries"],
            stored["plan"],
            stored.get("mechanism", ""),
            tuple((name, float(order)) for name, order in stored.get("orders", {}).items()),
        )


class Promise(Protocol):
    """What a ledger is asked to promise when it is opened."""

    def settle(self) -> Terms:
        """The terms of a new ledger; this may be slow, and is called once."""

    def disagreement(self, stored: Terms) -> str | None:
        """Why a ledger with these terms is not the one asked for, or None."""


def plan_order(budget: Budget) -> float:
    """The order at which the budget affords the most releases whose cost is linear in the order.

    Gaussian noise costs about that; releases with pure differential privacy cost less.
    """
    orders = widen(DEFAULT_ORDERS)
    allowed = conversion.allowance(orders, budget.epsilon, budget.delta)
    return float(orders[int(np.argmax(allowed / orders))])


def _numbers(budget: Budget) -> dict[str, float]:
    return {"delta": budget.delta, "epsilon": budget.epsilon}

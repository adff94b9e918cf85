"""Generators of inputs, one per target: real files and options, each spoilt a little."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.fuzz.about_runs import ledger, report, run, small
from tests.fuzz.about_spending import spend
from tests.fuzz.about_votes import account, audit, plan, vote
from tests.fuzz.commands import Case

Make = Callable[[Random], Case]

TARGETS: dict[str, tuple[Make, float]] = {
    "account": (account, 0.2),
    "vote": (vote, 0.2),
    "plan": (plan, 0.1),
    "audit": (audit, 0.05),
    "report": (report, 0.09),
    "ledger": (ledger, 0.1),
    "run": (run, 0.12),
    "spend": (spend, 0.08),
    "small": (small, 0.06),
}
"""Generators, and which share of the inputs each makes."""


def case(target: str, seed: int, number: int) -> Case:
    """The input of that number."""
    return TARGETS[target][0](Random(f"{seed}/{target}/{number}"))

"""Individual budgets in the report: each group's guarantee, and whose budget ended answering."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ballotine.report.formatting import NOTHING, listed, name, number, up
from ballotine.report.promise import guess, likelihood_factor

METHODS = {
    "weighting": "Every budget has its own teachers; with a larger budget their votes weigh more.",
    "upsampling": "Records with larger budgets are used by more teachers.",
    "vanishing": "Every budget has its own teachers; with a smaller budget they vote less often.",
}

_SHARE = {
    "weighting": ("weight of a vote", "weight"),
    "upsampling": ("copies of a record", "copies"),
    "vanishing": ("voters on each query", "voters"),
}
"""By method, what distinguishes the groups: its heading, and its key in the card."""


def groups(card: Mapping[str, Any]) -> dict[str, Any] | None:
    """The tables about individual budgets; None if there are none."""
    individual = card.get("individual")
    if individual is None:
        return None
    found, delta = individual["groups"], float(card["guarantee"]["delta"])
    return {
        "method": name(individual["method"]),
        "meaning": METHODS.get(individual["method"], ""),
        "promises": [_promise(group, delta) for group in found],
        "heads": _heads(individual["method"]),
        "accounts": [_account(group, individual["method"]) for group in found],
        "exempt": [(name(each["name"]), f"{each['records']:,}") for each in individual["exempt"]],
        "ended": _ended(found),
    }


def _promise(group: Mapping[str, Any], delta: float) -> tuple[str, ...]:
    epsilon = group["epsilon"]
    if epsilon is None:
        return name(group["name"]), f"{group['records']:,}", NOTHING, NOTHING, NOTHING
    return (
        name(group["name"]),
        f"{group['records']:,}",
        number(epsilon),
        likelihood_factor(float(epsilon)),
        guess(float(epsilon), delta),
    )


def _heads(method: str) -> list[str]:
    return ["teachers", *([_SHARE[method][0]] if method in _SHARE else [])]


def _account(group: Mapping[str, Any], method: str) -> tuple[str, ...]:
    share = [f"{group[_SHARE[method][1]]:.4g}"] if method in _SHARE else []
    charged, budget = up(group["charged"]), number(group["budget"])
    return name(group["name"]), charged, budget, f"{group['teachers']:,}", *share


def _ended(found: list[Mapping[str, Any]]) -> str:
    names = [name(group["name"]) for group in found if group["ended"]]
    if not names:
        return ""
    if len(names) == 1:
        return f"Answering ended because the budget of group {names[0]} allows no further query."
    return f"Answering ended because the budgets of groups {listed(names)} allow no further query."

"""Individual budgets as the page shows them: what holds for whom, and whose budget ended it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ballotine.report.formatting import NOTHING, listed, name, number, up
from ballotine.report.promise import guess, likelihood_factor

METHODS = {
    "weighting": "Every budget has teachers of its own; votes of larger budgets weigh more.",
    "upsampling": "Records with larger budgets are learnt by more teachers.",
    "vanishing": "Every budget has teachers of its own; smaller budgets vote less often.",
}

_SHARE = {
    "weighting": ("a vote weighs", "weight"),
    "upsampling": ("copies of a record", "copies"),
    "vanishing": ("voters on each query", "voters"),
}
"""What tells groups apart, by method: what it is called, and where it stands."""


def groups(card: Mapping[str, Any]) -> dict[str, Any] | None:
    """The tables of individual budgets; None without them."""
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
        return f"Answering ended because the budget of the group {names[0]} allows no other query."
    return (
        f"Answering ended because the budgets of the groups {listed(names)} allow no other query."
    )

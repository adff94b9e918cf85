"""The cost over time, read back from the ledger's (public) entries."""

from __future__ import annotations

from typing import Any

from ballotine.ledger import Ledger, Spending

MOST_POINTS = 300


def cost_history(ledger: Ledger) -> list[dict[str, Any]]:
    """Queries asked, queries answered and the meter's ε after each recorded batch.

    With several groups, also the ε that each of them was charged.
    """
    entries = list(ledger.entries())
    records = [entry.seq for entry in entries if entry.kind == "record"]
    stride = max(1, -(-len(records) // MOST_POINTS))
    shown = set(records[::-1][::stride])
    spending = Spending(ledger.terms)
    points: list[dict[str, Any]] = [_point(spending)]
    for entry in entries:
        spending.apply(entry)
        if entry.seq in shown:
            points.append(_point(spending))
    return points


def runs_in(ledger: Ledger) -> int:
    """How many runs have spent from the ledger."""
    return len({e.payload["run"] for e in ledger.entries() if e.kind == "reserve"})


def _point(spending: Spending) -> dict[str, Any]:
    charged = {
        name: account.epsilon() if spending.asked else 0.0
        for name, account in spending.accounts.items()
    }
    point: dict[str, Any] = {
        "asked": spending.recorded,
        "answered": spending.answered,
        "epsilon": max(charged.values()),
    }
    return point | ({"groups": charged} if len(charged) > 1 else {})

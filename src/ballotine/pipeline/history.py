"""The cost over time, read back from the ledger's (public) entries."""

from __future__ import annotations

from typing import Any

from ballotine.privacy.ledger import Ledger, Spending

MOST_POINTS = 300


def cost_history(ledger: Ledger) -> list[dict[str, Any]]:
    """Queries asked, queries answered and the meter's ε after each recorded batch."""
    entries = list(ledger.entries())
    records = [entry.seq for entry in entries if entry.kind == "record"]
    stride = max(1, -(-len(records) // MOST_POINTS))
    shown = set(records[::-1][::stride])
    spending = Spending(ledger.terms)
    points: list[dict[str, Any]] = [{"asked": 0, "answered": 0, "epsilon": 0.0}]
    for entry in entries:
        spending.apply(entry)
        if entry.seq in shown:
            points.append(
                {
                    "asked": spending.recorded,
                    "answered": spending.answered,
                    "epsilon": spending.epsilon(),
                }
            )
    return points


def runs_in(ledger: Ledger) -> int:
    """How many runs have spent from the ledger."""
    return len({e.payload["run"] for e in ledger.entries() if e.kind == "reserve"})

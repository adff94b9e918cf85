"""The history of a ledger's cost, from its public entries."""

from __future__ import annotations

from typing import Any, TypeVar

from ballotine.ledger import Ledger, Spending

MOST_POINTS = 300
MOST_REPLAYED = 20_000

T = TypeVar("T")


def cost_history(ledger: Ledger) -> list[dict[str, Any]]:
    """Return queries asked, queries answered and the charged ε over time.

    There is one point per recorded batch (in a long ledger, per checkpoint), thinned to a few
    hundred, and one for the present state, as others may have reserved after the last batch.
    With several groups, points also contain the ε charged to each group.
    """
    if ledger.head().seq > MOST_REPLAYED:
        kept = _thinned(list(ledger.checkpoints()))
        return [_point(spending) for spending in (*kept, ledger.spending())]
    entries = list(ledger.entries())
    shown = set(_thinned([entry.seq for entry in entries if entry.kind == "record"]))
    spending = Spending.begin(entries[0])
    points = [_point(spending)]
    for entry in entries:
        spending.apply(entry)
        if entry.seq in shown:
            points.append(_point(spending))
    last = _point(spending)
    return points if last == points[-1] else [*points, last]


def _thinned(found: list[T]) -> list[T]:
    """Return evenly spaced items, including the last."""
    stride = max(1, -(-len(found) // MOST_POINTS))
    return found[::-1][::stride][::-1]


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

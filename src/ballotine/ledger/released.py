"""Released events and counts, as entries tell them."""

from __future__ import annotations

from typing import Any

from ballotine.errors import LedgerTamperedError
from ballotine.ledger.account import Realised, counted, plain
from ballotine.ledger.charge import EVERYONE, Count, GroupCharge
from ballotine.privacy.events import from_json


def released_from(payload: dict[str, Any], name: str, share: GroupCharge) -> tuple[Count, Realised]:
    """How often each unit voted on recorded queries, and what that released."""
    stored = payload["realised"]
    if isinstance(stored, list):
        stored = {EVERYONE: {"released": stored, "votes": payload["queries"]}}
    votes = _per_unit(stored[name]["votes"], share)
    released: dict[Any, Count] = {}
    for text, times in stored[name]["released"]:
        event = from_json(text)
        released[event] = released.get(event, 0) + _per_unit(times, share)
    return votes, released


def released_to(realised: Realised) -> list[list[Any]]:
    """Released events as the ledger stores them: one number, or one per unit."""
    return [[event.to_json(), plain(times)] for event, times in realised.items()]


def _per_unit(stored: Any, share: GroupCharge) -> Count:
    found = counted(stored)
    if isinstance(found, int):
        if share.units == 1:
            return found
    elif len(found) == share.units:
        return found if share.units > 1 else int(found[0])
    raise LedgerTamperedError("the ledger holds an impossible count")

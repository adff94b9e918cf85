"""What entries say about queries: the payloads written when they are paid for and answered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ballotine.errors import LedgerTamperedError
from ballotine.ledger import entries as chain
from ballotine.ledger.account import Realised, check_realised, count_from_json, count_to_json
from ballotine.ledger.answers import answered
from ballotine.ledger.binding import reservation_digest
from ballotine.ledger.charge import EVERYONE, Charge, Count, GroupCharge
from ballotine.ledger.store import Query
from ballotine.privacy.events import Event, from_json
from ballotine.types import IntArray

Realise = Callable[[IntArray, str], Counter[Event]]
"""Returns the events that a set of answers actually released about the records of a group."""


def query_fields(queries: Sequence[Query], charge: Charge) -> dict[str, Any]:
    """The fields that identify queries of one account."""
    return {
        "account": queries[0].account,
        "ids": reservation_digest([(query.id, query.turn) for query in queries], charge),
        "queries": len(queries),
    }


def run_fields(run: str, seeded: bool) -> dict[str, Any]:
    """The fields that name the run, and mark noise from a seed."""
    return {"run": run, **({"seeded": True} if seeded else {})}


def record_fields(
    queries: Sequence[Query],
    answers: IntArray,
    stored: Sequence[bytes],
    charge: Charge,
    realise: Realise,
) -> dict[str, Any]:
    """The fields that describe recorded answers and what they released."""
    parts = sorted(query.id + answer for query, answer in zip(queries, stored, strict=True))
    return {
        "account": queries[0].account,
        "answered": int(np.count_nonzero(answered(answers))),
        "answers": chain.digest_of(parts),
        "queries": len(queries),
        "realised": _realised_by_group(queries, answers, charge, realise),
    }


def votes_on(charge: Charge, name: str, queries: Sequence[Query]) -> Count:
    """How often each unit of a group votes on these queries."""
    group_charge = dict(charge.by_group)[name]
    if group_charge.units == 1:
        return len(queries)
    votes: IntArray = group_charge.votes_at(_turns(queries)).sum(axis=0)
    return votes


def read_released(
    payload: dict[str, Any], name: str, charge: GroupCharge
) -> tuple[Count, Realised]:
    """Read how often each unit of a group voted on recorded queries, and what that released."""
    stored = payload["realised"]
    if isinstance(stored, list):
        stored = {EVERYONE: {"released": stored, "votes": payload["queries"]}}
    votes = _per_unit(stored[name]["votes"], charge)
    released: dict[Any, Count] = {}
    for text, times in stored[name]["released"]:
        event = from_json(text)
        released[event] = released.get(event, 0) + _per_unit(times, charge)
    return votes, released


def released_to_json(realised: Realised) -> list[list[Any]]:
    """Released events as stored in the ledger: one count, or one per unit."""
    return [[event.to_json(), count_to_json(times)] for event, times in realised.items()]


def _realised_by_group(
    queries: Sequence[Query], answers: IntArray, charge: Charge, realise: Realise
) -> Any:
    """What the answers released about each group, per unit where teachers take turns."""
    stored: dict[str, Any] = {}
    for name, group_charge in charge.by_group:
        votes = votes_on(charge, name, queries)
        if group_charge.units == 1:
            realised: dict[Event, Count] = dict(realise(answers, name))
        else:
            voted = group_charge.votes_at(_turns(queries)).T
            parts = [realise(answers[each], name) for each in voted]
            realised = {
                event: np.array([part[event] for part in parts], dtype=np.int64)
                for event in dict.fromkeys(event for part in parts for event in part)
            }
        check_realised(realised, group_charge.events, votes)
        stored[name] = {"released": released_to_json(realised), "votes": count_to_json(votes)}
    same_for_all = charge.groups == (EVERYONE,) and not charge.takes_turns
    return stored[EVERYONE]["released"] if same_for_all else stored


def _turns(queries: Sequence[Query]) -> IntArray:
    return np.array([query.turn for query in queries], dtype=np.int64)


def _per_unit(stored: Any, charge: GroupCharge) -> Count:
    found = count_from_json(stored)
    if isinstance(found, int):
        if charge.units == 1:
            return found
    elif len(found) == charge.units:
        return found if charge.units > 1 else int(found[0])
    raise LedgerTamperedError("the ledger contains an impossible count")

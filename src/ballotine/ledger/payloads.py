"""Grants, and what the ledger writes down about queries: when they are paid for and answered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ballotine.errors import LedgerTamperedError
from ballotine.ledger import entries as chain
from ballotine.ledger.account import Realised, check_realised, counted, plain
from ballotine.ledger.answers import answered
from ballotine.ledger.binding import reservation_digest
from ballotine.ledger.charge import EVERYONE, Charge, Count, GroupCharge
from ballotine.ledger.store import Query
from ballotine.privacy.events import Event, from_json
from ballotine.types import IntArray

Realise = Callable[[IntArray, str], Counter[Event]]
"""Gives the events that a set of answers really released about the records of a group."""


def named(queries: Sequence[Query], charge: Charge) -> dict[str, Any]:
    """What an entry says about the queries of one account."""
    return {
        "account": queries[0].account,
        "ids": reservation_digest([(query.id, query.turn) for query in queries], charge),
        "queries": len(queries),
    }


def drawn_by(run: str, seeded: bool) -> dict[str, Any]:
    """What an entry says about who draws, and that it is from a seed; else nothing more."""
    return {"run": run, **({"seeded": True} if seeded else {})}


def answers_told(
    queries: Sequence[Query],
    answers: IntArray,
    stored: Sequence[bytes],
    charge: Charge,
    realise: Realise,
) -> dict[str, Any]:
    """What an entry says about answers, and what they released."""
    parts = sorted(query.id + answer for query, answer in zip(queries, stored, strict=True))
    return {
        "account": queries[0].account,
        "answered": int(np.count_nonzero(answered(answers))),
        "answers": chain.digest_of(parts),
        "queries": len(queries),
        "realised": _released(queries, answers, charge, realise),
    }


def votes_on(charge: Charge, name: str, queries: Sequence[Query]) -> Count:
    """How often each unit of a group votes on these queries."""
    share = dict(charge.shares)[name]
    if share.units == 1:
        return len(queries)
    turns = np.array([query.turn for query in queries], dtype=np.int64)
    votes: IntArray = share.votes_at(turns).sum(axis=0)
    return votes


def _released(queries: Sequence[Query], answers: IntArray, charge: Charge, realise: Realise) -> Any:
    """What the answers released about each group, told apart by who voted on them."""
    stored: dict[str, Any] = {}
    for name, share in charge.shares:
        votes = votes_on(charge, name, queries)
        if share.units == 1:
            realised: dict[Event, Count] = dict(realise(answers, name))
        else:
            turns = np.array([query.turn for query in queries], dtype=np.int64)
            parts = [realise(answers[votes], name) for votes in share.votes_at(turns).T]
            realised = {
                event: np.array([part[event] for part in parts], dtype=np.int64)
                for event in dict.fromkeys(event for part in parts for event in part)
            }
        check_realised(realised, share.events, votes)
        stored[name] = {"released": released_to(realised), "votes": plain(votes)}
    plain_charge = charge.groups == (EVERYONE,) and not charge.turned
    return stored[EVERYONE]["released"] if plain_charge else stored


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

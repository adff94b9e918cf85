"""Voting: ballots to tallies, tallies to answers, answers through the ledger."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from ballotine.errors import ParameterError
from ballotine.voting.answering import UNASKED, Answerer, Answers, query_ids
from ballotine.voting.confident import ConfidentGNMax
from ballotine.voting.gnmax import GNMax
from ballotine.voting.lnmax import LNMax
from ballotine.voting.mechanism import Mechanism
from ballotine.voting.tally import Tallies

MECHANISMS: dict[str, type[Mechanism]] = {
    kind.name: kind for kind in (GNMax, ConfidentGNMax, LNMax)
}
"""Mechanisms by the name that run files and the command line use."""


def make_mechanism(name: str, parameters: Mapping[str, float | None]) -> Mechanism:
    """The mechanism of that name with exactly the parameters it takes; None counts as absent."""
    kind = MECHANISMS.get(name)
    if kind is None:
        raise ParameterError(f"unknown mechanism {name!r}; choose one of {', '.join(MECHANISMS)}")
    wanted = {field.name for field in fields(kind)}
    given: dict[str, Any] = {key: value for key, value in parameters.items() if value is not None}
    if missing := sorted(wanted - set(given)):
        raise ParameterError(f"{name} needs {', '.join(missing)}")
    if extra := sorted(set(given) - wanted):
        raise ParameterError(f"{name} does not use {', '.join(extra)}")
    return kind(**given)


__all__ = [
    "MECHANISMS",
    "UNASKED",
    "Answerer",
    "Answers",
    "ConfidentGNMax",
    "GNMax",
    "LNMax",
    "Mechanism",
    "Tallies",
    "make_mechanism",
    "query_ids",
]

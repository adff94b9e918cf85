"""Voting: ballots to tallies, tallies to answers, answers through the ledger."""

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

from ballotine.errors import ParameterError
from ballotine.types import UNASKED
from ballotine.voting.answers import Answers
from ballotine.voting.confident import ConfidentGNMax
from ballotine.voting.gnmax import GNMax
from ballotine.voting.individual.plan import Plan
from ballotine.voting.interactive import InteractiveGNMax, StudentTallies
from ballotine.voting.lnmax import LNMax
from ballotine.voting.mechanism import Mechanism
from ballotine.voting.multilabel.ballots import Clipping, LabelTallies, SubsetTallies, cast_labels
from ballotine.voting.multilabel.binary import BinaryVoting
from ballotine.voting.multilabel.clipped import ClippedVoting
from ballotine.voting.multilabel.dependencies import Dependencies
from ballotine.voting.multilabel.powerset import PowersetVoting
from ballotine.voting.rules import Rules
from ballotine.voting.session import Session
from ballotine.voting.tally import Tallies
from ballotine.voting.voters import CastBallots, FittedModels, Voters

MECHANISMS: dict[str, type[Mechanism]] = {
    kind.name: kind
    for kind in (GNMax, ConfidentGNMax, LNMax, BinaryVoting, ClippedVoting, PowersetVoting)
}
"""Mechanisms by the name that run files and the command line use.

`InteractiveGNMax` is not among them: it needs a student's probabilities with every query.
"""


def make_mechanism(name: str, parameters: Mapping[str, Any]) -> Mechanism:
    """The mechanism of that name with the parameters it takes; None counts as absent."""
    kind = MECHANISMS.get(name)
    if kind is None:
        raise ParameterError(f"unknown mechanism {name!r}; choose one of {', '.join(MECHANISMS)}")
    known = {field.name for field in fields(kind)}
    needed = {field.name for field in fields(kind) if field.default is MISSING}
    given = {key: value for key, value in parameters.items() if value is not None}
    if missing := sorted(needed - set(given)):
        raise ParameterError(f"{name} needs {', '.join(missing)}")
    if extra := sorted(set(given) - known):
        raise ParameterError(f"{name} does not use {', '.join(extra)}")
    return kind(**given)


__all__ = [
    "MECHANISMS",
    "UNASKED",
    "Answers",
    "BinaryVoting",
    "CastBallots",
    "ClippedVoting",
    "Clipping",
    "ConfidentGNMax",
    "Dependencies",
    "FittedModels",
    "GNMax",
    "InteractiveGNMax",
    "LNMax",
    "LabelTallies",
    "Mechanism",
    "Plan",
    "PowersetVoting",
    "Rules",
    "Session",
    "StudentTallies",
    "SubsetTallies",
    "Tallies",
    "Voters",
    "cast_labels",
    "make_mechanism",
]

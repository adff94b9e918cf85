"""Voting: ballots to tallies, tallies to answers, answers through the ledger."""

from ballotine.voting.answering import UNASKED, Answerer, Answers, query_ids
from ballotine.voting.confident import ConfidentGNMax
from ballotine.voting.gnmax import GNMax
from ballotine.voting.mechanism import Mechanism
from ballotine.voting.tally import Tallies

MECHANISMS: dict[str, type[Mechanism]] = {kind.name: kind for kind in (GNMax, ConfidentGNMax)}
"""Mechanisms by the name that run files and the command line use."""

__all__ = [
    "MECHANISMS",
    "UNASKED",
    "Answerer",
    "Answers",
    "ConfidentGNMax",
    "GNMax",
    "Mechanism",
    "Tallies",
    "query_ids",
]

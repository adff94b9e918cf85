"""Voting: count ballots, release answers with noise, and charge them to the ledger."""

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
from ballotine.voting.registry import MECHANISMS, make_mechanism, register
from ballotine.voting.rules import Rules
from ballotine.voting.session import Session
from ballotine.voting.tally import Tallies
from ballotine.voting.voters import CastBallots, FittedModels, Voters

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
    "register",
]

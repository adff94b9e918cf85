"""Ballotine: train on data you may not share, release a model with a true guarantee."""

from ballotine.pipeline import DeltaWarning, PateClassifier
from ballotine.privacy.guarantee import Budget, Guarantee, Kind
from ballotine.privacy.ledger import Ledger
from ballotine.students import Student
from ballotine.version import __version__
from ballotine.voting import Answers, ConfidentGNMax, GNMax

__all__ = [
    "Answers",
    "Budget",
    "ConfidentGNMax",
    "DeltaWarning",
    "GNMax",
    "Guarantee",
    "Kind",
    "Ledger",
    "PateClassifier",
    "Student",
    "__version__",
]

"""Ballotine: train on data you may not share, release a model with a true guarantee."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ballotine.version import __version__

if TYPE_CHECKING:
    from ballotine.ledger import Ledger
    from ballotine.pipeline import DeltaWarning, PateClassifier
    from ballotine.privacy.guarantee import Budget, Guarantee, Kind
    from ballotine.students import Student
    from ballotine.voting import (
        Answers,
        BinaryVoting,
        ClippedVoting,
        ConfidentGNMax,
        Dependencies,
        FittedModels,
        GNMax,
        InteractiveGNMax,
        LNMax,
        Plan,
        PowersetVoting,
        Rules,
        Session,
    )
    from ballotine.voting.individual import Upsampling, Vanishing, Weighting

__all__ = [
    "Answers",
    "BinaryVoting",
    "Budget",
    "ClippedVoting",
    "ConfidentGNMax",
    "DeltaWarning",
    "Dependencies",
    "FittedModels",
    "GNMax",
    "Guarantee",
    "InteractiveGNMax",
    "Kind",
    "LNMax",
    "Ledger",
    "PateClassifier",
    "Plan",
    "PowersetVoting",
    "Rules",
    "Session",
    "Student",
    "Upsampling",
    "Vanishing",
    "Weighting",
    "__version__",
]

_HOMES = {
    "Answers": "voting",
    "BinaryVoting": "voting",
    "Budget": "privacy.guarantee",
    "ClippedVoting": "voting",
    "ConfidentGNMax": "voting",
    "DeltaWarning": "pipeline",
    "Dependencies": "voting",
    "FittedModels": "voting",
    "GNMax": "voting",
    "Guarantee": "privacy.guarantee",
    "InteractiveGNMax": "voting",
    "Kind": "privacy.guarantee",
    "LNMax": "voting",
    "Ledger": "ledger",
    "PateClassifier": "pipeline",
    "Plan": "voting",
    "PowersetVoting": "voting",
    "Rules": "voting",
    "Session": "voting",
    "Student": "students",
    "Upsampling": "voting.individual",
    "Vanishing": "voting.individual",
    "Weighting": "voting.individual",
}


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used: ``ballotine --help`` need not wait for it."""
    if name not in _HOMES:
        raise AttributeError(f"module 'ballotine' has no attribute {name!r}")
    return getattr(import_module(f"ballotine.{_HOMES[name]}"), name)

"""Ballotine: train on data you may not share, release a model with a true guarantee."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ballotine import shipped
from ballotine.version import __version__

if TYPE_CHECKING:
    from ballotine.estimators import register_student, register_transformer
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
        register,
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
    "register",
    "register_student",
    "register_transformer",
]

_HOMES = {
    **{
        name: home
        for home, _, name in (path.partition(":") for path in shipped.MECHANISMS.values())
    },
    "Answers": "ballotine.voting",
    "Budget": "ballotine.privacy.guarantee",
    "DeltaWarning": "ballotine.pipeline",
    "Dependencies": "ballotine.voting",
    "FittedModels": "ballotine.voting",
    "Guarantee": "ballotine.privacy.guarantee",
    "InteractiveGNMax": "ballotine.voting",
    "Kind": "ballotine.privacy.guarantee",
    "Ledger": "ballotine.ledger",
    "PateClassifier": "ballotine.pipeline",
    "Plan": "ballotine.voting",
    "Rules": "ballotine.voting",
    "Session": "ballotine.voting",
    "Student": "ballotine.students",
    "Upsampling": "ballotine.voting.individual",
    "Vanishing": "ballotine.voting.individual",
    "Weighting": "ballotine.voting.individual",
    "register": "ballotine.voting",
    "register_student": "ballotine.estimators",
    "register_transformer": "ballotine.estimators",
}


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used: ``ballotine --help`` need not wait for it."""
    if name not in _HOMES:
        raise AttributeError(f"module 'ballotine' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)

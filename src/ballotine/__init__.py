"""Ballotine: train on data you may not share, and release a model with a privacy guarantee."""

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
        Dependencies,
        FittedModels,
        InteractiveGNMax,
        Plan,
        Rules,
        Session,
        register,
    )
    from ballotine.voting import BinaryVoting as BinaryVoting
    from ballotine.voting import ClippedVoting as ClippedVoting
    from ballotine.voting import ConfidentGNMax as ConfidentGNMax
    from ballotine.voting import GNMax as GNMax
    from ballotine.voting import LNMax as LNMax
    from ballotine.voting import PowersetVoting as PowersetVoting
    from ballotine.voting.individual import Upsampling, Vanishing, Weighting

# Every shipped mechanism is public; the imports above are for type checkers only.
_MECHANISMS = {
    path.partition(":")[2]: path.partition(":")[0] for path in shipped.MECHANISMS.values()
}

__all__ = [
    "Answers",
    "Budget",
    "DeltaWarning",
    "Dependencies",
    "FittedModels",
    "Guarantee",
    "InteractiveGNMax",
    "Kind",
    "Ledger",
    "PateClassifier",
    "Plan",
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
__all__ += list(_MECHANISMS)

_HOMES = {
    **_MECHANISMS,
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
    """Import a public name on first use, so that ``ballotine --help`` starts quickly."""
    if name not in _HOMES:
        raise AttributeError(f"module 'ballotine' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)

"""Ballotine: train on data you may not share, release a model with a true guarantee."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ballotine.version import __version__

if TYPE_CHECKING:
    from ballotine.pipeline import DeltaWarning, PateClassifier
    from ballotine.privacy.guarantee import Budget, Guarantee, Kind
    from ballotine.privacy.ledger import Ledger
    from ballotine.students import Student
    from ballotine.voting import Answers, ConfidentGNMax, GNMax, LNMax

__all__ = [
    "Answers",
    "Budget",
    "ConfidentGNMax",
    "DeltaWarning",
    "GNMax",
    "Guarantee",
    "Kind",
    "LNMax",
    "Ledger",
    "PateClassifier",
    "Student",
    "__version__",
]

_HOMES = {
    "Answers": "voting",
    "Budget": "privacy.guarantee",
    "ConfidentGNMax": "voting",
    "DeltaWarning": "pipeline",
    "GNMax": "voting",
    "Guarantee": "privacy.guarantee",
    "Kind": "privacy.guarantee",
    "LNMax": "voting",
    "Ledger": "privacy.ledger",
    "PateClassifier": "pipeline",
    "Student": "students",
}


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used: ``ballotine --help`` need not wait for it."""
    if name not in _HOMES:
        raise AttributeError(f"module 'ballotine' has no attribute {name!r}")
    return getattr(import_module(f"ballotine.{_HOMES[name]}"), name)

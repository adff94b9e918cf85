"""Who and what takes part: cheap teachers, a few mechanisms, a few schemes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from ballotine import Budget, ConfidentGNMax, GNMax
from ballotine.voting import BinaryVoting, ClippedVoting, LNMax, PowersetVoting
from ballotine.voting.individual import Upsampling, Vanishing, Weighting

RECORDS, LABELS, FIXED = 24, 2, 6
FEW, ROWS = 12, 12
"""Files of so many teachers or fewer hold as many rows as fixed mode asks for; others more."""
DELTA = 1e-5
GROUPS = {"low": 4.0, "high": 10.0}
SEVERAL = ("binary", "binary-checked", "clipped", "powerset")
"""Mechanisms of several labels."""
SCHEMES = {"weighting": Weighting, "upsampling": Upsampling, "vanishing": Vanishing}


class Teacher(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Votes at once: by the row alone, so that all agree, or by the row and its own records."""

    def __init__(self, classes: int = 2, agree: bool = False) -> None:
        self.classes = classes
        self.agree = agree

    def fit(self, X: Any, y: Any) -> Teacher:
        self.classes_ = np.arange(self.classes)
        self.own_ = 0 if self.agree else int(np.abs(X).sum() * 997) + int(np.sum(y))
        return self

    def predict(self, X: Any) -> Any:
        return ((X[:, 0] * 1009).astype(np.int64) + self.own_ * (1 + X[:, 1].astype(int))) % (
            self.classes
        )


class LabelTeacher(Teacher):
    """The same for several labels."""

    def predict(self, X: Any) -> Any:
        first = super().predict(X) % 2
        return np.stack([first, 1 - first][:LABELS], axis=1)


@dataclass(frozen=True)
class Settings:
    """How one object, or one file of votes, is answered."""

    mechanism: str
    scheme: str | None = None
    mode: str = "strict"
    teachers: int = 8
    epsilon: float = 6.0
    agree: bool = False
    seed: int | None = None


def mechanism_of(settings: Settings) -> Any:
    """Few different ones: a new noise is a new supremum to be found."""
    return {
        "gnmax": GNMax(4.0),
        "gnmax-loud": GNMax(1.0),
        "gnmax-clear": GNMax(2.0),
        "gnmax-quiet": GNMax(9.0),
        "confident": ConfidentGNMax(3.0, settings.teachers / 2.0, 4.0),
        "lnmax": LNMax(0.25),
        "binary": BinaryVoting(6.0),
        "binary-checked": BinaryVoting(
            6.0, threshold=settings.teachers / 2.0 + 1.0, sigma_threshold=6.0
        ),
        "clipped": ClippedVoting(6.0, tau=1.0),
        "powerset": PowersetVoting(4.0),
    }[settings.mechanism]


def parameters_of(settings: Settings, classes: int, ledger: Path | None) -> dict[str, Any]:
    """The parameters of an estimator."""
    several = settings.mechanism in SEVERAL
    free = settings.scheme is not None or settings.mode == "fixed"
    kind = LabelTeacher if several else Teacher
    return {
        "teacher": kind(2 if several else classes, settings.agree),
        "n_teachers": settings.teachers,
        "mechanism": mechanism_of(settings),
        "budget": None if free else Budget(settings.epsilon, DELTA),
        "individual": SCHEMES[settings.scheme](GROUPS) if settings.scheme else None,
        "mode": settings.mode,
        "queries": FIXED if settings.mode == "fixed" else None,
        "delta": DELTA if free else None,
        "classes": LABELS if several else list(range(classes)),
        "ledger": ledger,
        "random_state": settings.seed,
    }

"""The students that are compared, and the few settings that are tried for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC

from ballotine.students import SpreadingClassifier
from ballotine.students.neural import VAT, CoTeaching, FixMatch, MixMatch, Supervised
from ballotine.types import IntArray
from ballotine_reproduction.student.trials import Trial

DEFAULT = "SpreadingClassifier"
"""The default student of a pipeline, with which the others are compared."""

STEPS, QUICK_STEPS = 500, 50
"""Steps of every network: epochs of a student that knows answered rows only are shorter."""

BATCH = 100
RATE = 3e-3
MOST_OF_A_KERNEL = 1_500
"""Rows that label spreading gets: a dense kernel of all of them would be slow."""

Values = dict[str, Any]
Pool = Literal["answered", "all"]


@dataclass(frozen=True)
class MenuEntry:
    """A student, and the settings among which the spare seed chooses.

    Attributes:
        name: what the table calls it.
        make: makes it from a setting.
        settings: the first is taken where several are equally good.
        labels: whether it takes part where rows have several labels.
        epoch: for a network, the rows that an epoch goes through.
        most: public rows it gets at most, those with an answer first.
    """

    name: str
    make: Callable[..., Any]
    settings: Sequence[Values] = ({},)
    labels: bool = True
    epoch: Pool | None = None
    most: int | None = None

    def student(self, setting: Values, trial: Trial, quick: bool) -> Any:
        """An unfitted student; a network gets as many epochs as make up the steps."""
        if self.epoch is None:
            return self.make(**setting)
        rows = trial.answered if self.epoch == "answered" else len(trial.X)
        steps = QUICK_STEPS if quick else STEPS
        epochs = max(1, round(steps / max(1, -(-rows // BATCH))))
        return self.make("mlp", epochs=epochs, batch=BATCH, learning_rate=RATE, **setting)

    def rows(self, trial: Trial) -> IntArray:
        """The public rows it gets."""
        silent = trial.answers.reshape(len(trial.X), -1).max(axis=1) < 0
        return np.sort(np.argsort(silent, kind="stable")[: self.most])


def _self_training(threshold: float) -> Any:
    return SelfTrainingClassifier(_logistic(C=10.0), threshold=threshold)


_logistic = partial(LogisticRegression, max_iter=1_000)
# Rows of several labels are ranked by probability.
_svc = partial(SVC, probability=True)
_boosting = partial(HistGradientBoostingClassifier, max_iter=50)

MENU: tuple[MenuEntry, ...] = (
    MenuEntry(DEFAULT, SpreadingClassifier),
    MenuEntry(
        f"{DEFAULT}, 15 neighbours",
        partial(SpreadingClassifier, n_neighbors=15, n_voters=15),
        labels=False,
    ),
    MenuEntry("logistic regression", _logistic, ({"C": 1.0}, {"C": 0.3}, {"C": 30.0})),
    MenuEntry("SVC", _svc, ({"C": 1.0}, {"C": 0.3}, {"C": 10.0})),
    MenuEntry(
        "random forest",
        RandomForestClassifier,
        ({"min_samples_leaf": 1}, {"min_samples_leaf": 5}),
    ),
    MenuEntry("boosting", _boosting, ({"min_samples_leaf": 20}, {"min_samples_leaf": 5})),
    MenuEntry(
        "LabelSpreading",
        partial(LabelSpreading, kernel="rbf"),
        ({"gamma": 20.0}, {"gamma": 5.0}),
        most=MOST_OF_A_KERNEL,
    ),
    MenuEntry("SelfTraining", _self_training, ({"threshold": 0.75}, {"threshold": 0.95})),
    MenuEntry(
        "Supervised", Supervised, ({"weight_decay": 0.0}, {"weight_decay": 0.01}), epoch="answered"
    ),
    MenuEntry(
        "CoTeaching",
        CoTeaching,
        ({"noise_rate": 0.1}, {"noise_rate": 0.3}),
        labels=False,
        epoch="answered",
    ),
    MenuEntry("VAT", VAT, ({"epsilon": 1.0}, {"epsilon": 0.1}), epoch="all"),
    MenuEntry(
        "MixMatch", MixMatch, ({"unlabelled_weight": 10.0}, {"unlabelled_weight": 1.0}), epoch="all"
    ),
    # Weights averaged over a thousand steps would hardly have left their first values.
    MenuEntry(
        "FixMatch",
        partial(FixMatch, ema=0.99),
        ({"threshold": 0.95}, {"threshold": 0.8}),
        epoch="all",
    ),
)

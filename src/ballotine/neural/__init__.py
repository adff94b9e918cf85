"""Networks: any torch module as a scikit-learn classifier, and a zoo of small ones."""

import ballotine.neural.installed  # noqa: F401 - must be first: reports what to install
from ballotine.neural.adapter import TorchClassifier
from ballotine.neural.augment import (
    AUGMENTATIONS,
    Augment,
    RotateShift,
    StrongChange,
    SwapFeatures,
)
from ballotine.neural.base import NeuralClassifier
from ballotine.neural.training import MISSING, Schedule
from ballotine.neural.zoo import ZOO, Factory, make_module

__all__ = [
    "AUGMENTATIONS",
    "MISSING",
    "ZOO",
    "Augment",
    "Factory",
    "NeuralClassifier",
    "RotateShift",
    "Schedule",
    "StrongChange",
    "SwapFeatures",
    "TorchClassifier",
    "make_module",
]

"""Networks: any torch module as a scikit-learn classifier, and a zoo of small ones."""

from ballotine.neural.adapter import TorchClassifier
from ballotine.neural.augment import AUGMENTATIONS, Augment, RotateShift
from ballotine.neural.training import MISSING, DivergedError, Schedule
from ballotine.neural.zoo import ZOO, Factory, make_module

__all__ = [
    "AUGMENTATIONS",
    "MISSING",
    "ZOO",
    "Augment",
    "DivergedError",
    "Factory",
    "RotateShift",
    "Schedule",
    "TorchClassifier",
    "make_module",
]

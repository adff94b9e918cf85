"""Neural students: they learn from few, partly wrong answers and from unanswered rows."""

import ballotine.neural.installed  # noqa: F401 - must be first: reports what to install
from ballotine.students.neural.base import NeuralStudent
from ballotine.students.neural.fixmatch import FixMatch
from ballotine.students.neural.gan import SemiSupervisedGAN
from ballotine.students.neural.loop import Epoch
from ballotine.students.neural.mixmatch import MixMatch
from ballotine.students.neural.noise_rate import estimate_noise_rate, noise_rate_of_peers
from ballotine.students.neural.patepp import PatePlus, PatePlusPlus
from ballotine.students.neural.supervised import CoTeaching, CoTeachingPlus, Supervised
from ballotine.students.neural.vat import VAT

__all__ = [
    "VAT",
    "CoTeaching",
    "CoTeachingPlus",
    "Epoch",
    "FixMatch",
    "MixMatch",
    "NeuralStudent",
    "PatePlus",
    "PatePlusPlus",
    "SemiSupervisedGAN",
    "Supervised",
    "estimate_noise_rate",
    "noise_rate_of_peers",
]

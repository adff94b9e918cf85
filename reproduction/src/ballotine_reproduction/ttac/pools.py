"""The rows of the TTAC experiments, and the network that everybody trains."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from torch import nn

from ballotine.errors import DataUnavailableError
from ballotine.neural.zoo import Shape
from ballotine.types import Matrix
from ballotine_reproduction.experiment import Setting
from ballotine_reproduction.images import load_digits, load_images
from ballotine_reproduction.pool import Pool

HIDDEN = 64
TEACHERS = 10
CLASSES = 10
QUICK_RECORDS = 5_000
_DIGITS = "quick, without MNIST: scikit-learn's digits stand in for it"


def one_hidden_layer(shape: Shape, outputs: int) -> nn.Module:
    """784-64-10 for MNIST: the network of teachers, averaging model and students alike."""
    return nn.Sequential(
        nn.Flatten(),
        nn.Linear(math.prod(shape), HIDDEN),
        nn.ReLU(),
        nn.Linear(HIDDEN, outputs),
    )


def pool_of(setting: Setting) -> Pool:
    """MNIST, or digits for a quick run that finds no MNIST."""
    try:
        pool = load_images(setting, "mnist")
    except DataUnavailableError:
        if not setting.quick:
            raise
        pool = load_digits(1_000, 500, _DIGITS)
    else:
        if setting.quick:
            few = slice(QUICK_RECORDS)
            note = f"quick: {QUICK_RECORDS:,} private records"
            pool = replace(pool, X=pool.X[few], y=pool.y[few], notes=(note,))
    return replace(pool.encoded(centred), shape=pool.shape)


def centred(X: Matrix) -> Matrix:
    """Pixels in [0, 1] rescaled by constants chosen by hand, not computed from any record."""
    return (3.0 * np.asarray(X, dtype=np.float32) - 0.4).astype(np.float32)


def uncentred(X: Matrix) -> Matrix:
    """Back to pixels, so that rotating an image fills in background."""
    return ((np.asarray(X, dtype=np.float32) + 0.4) / 3.0).astype(np.float32)

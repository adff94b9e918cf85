"""Handwritten digits of 8 × 8 pixels: some answers, a few of them wrong, and rows without."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_digits

from ballotine.students.neural import (
    VAT,
    CoTeaching,
    CoTeachingPlus,
    FixMatch,
    MixMatch,
    NeuralStudent,
    PatePlus,
    PatePlusPlus,
    SemiSupervisedGAN,
    Supervised,
)
from ballotine.types import FloatArray, IntArray

SHAPE = (1, 8, 8)
ANSWERS = 160
ON_ANSWERS = (Supervised, CoTeaching, CoTeachingPlus)
METHODS: tuple[type[NeuralStudent], ...] = (
    *ON_ANSWERS,
    SemiSupervisedGAN,
    PatePlus,
    PatePlusPlus,
    MixMatch,
    VAT,
    FixMatch,
)


class Digits(NamedTuple):
    """Public rows with answers and without, and rows to judge a student by."""

    X: FloatArray
    answers: IntArray
    truth: IntArray
    others: FloatArray
    fresh: FloatArray
    fresh_truth: IntArray


@cache
def digits(wrong: float = 0.15) -> Digits:
    X, y = load_digits(return_X_y=True)
    draw = np.random.default_rng(5)
    order = draw.permutation(len(X))
    X, y = X[order] / 16, y[order].astype(np.int64)
    truth = y[:ANSWERS]
    shift = (draw.random(ANSWERS) < wrong) * draw.integers(1, 10, ANSWERS)
    answers = (truth + shift) % 10
    return Digits(X[:ANSWERS], answers, truth, X[ANSWERS:900], X[900:], y[900:])


def student(kind: type[NeuralStudent], **more: Any) -> NeuralStudent:
    """A quick one."""
    epochs = 60 if kind in ON_ANSWERS else 14
    given = {"epochs": epochs, "batch": 50, "learning_rate": 3e-3, "random_state": 1}
    if issubclass(kind, SemiSupervisedGAN | PatePlus):
        given["generator_width"] = 64
    return kind(**{**given, **more})

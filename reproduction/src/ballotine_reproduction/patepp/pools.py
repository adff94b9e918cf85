"""Rows and ballots: sets of images with trained teachers, or digits with simulated ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ballotine.features import PatchFeatures
from ballotine.types import IntArray
from ballotine_reproduction.experiment import Setting
from ballotine_reproduction.images import load_digits, load_images
from ballotine_reproduction.patepp.ensemble import CLASSES, TEACHERS, VotedPool, with_votes
from ballotine_reproduction.summary import percent_right, plurality

TEACHERS_NOTE = (
    "one ensemble of 250 support vector machines of 240 records each, on patches of public images; "
    "seeds change the queries, the noise and the students, not the teachers"
)
QUICK_NOTE = (
    "quick: scikit-learn's digits and a simulated ensemble, so the numbers mean nothing for "
    "Fashion-MNIST"
)
QUICK_PUBLIC = 1_500


def pool_of(setting: Setting, name: str = "fashion-mnist") -> VotedPool:
    """What an experiment works on: a set of images, or digits for a quick run."""
    if setting.quick:
        return digits()
    found = with_votes(setting, load_images(setting, name))
    truth = found.rows.y_public
    quality = (
        f"a teacher is right on {percent_right(found.ballots, truth[:, None]):.1f} % of public "
        f"rows, the plurality on {percent_right(plurality(found.ballots, CLASSES), truth):.1f} %"
    )
    return replace(found, rows=replace(found.rows, notes=(TEACHERS_NOTE, quality)))


def digits() -> VotedPool:
    """Digits, and teachers who err independently: some rows are harder than others."""
    rows = load_digits(0, QUICK_PUBLIC, QUICK_NOTE)
    seen = PatchFeatures(rows.image_shape, patch=3, regions=3, components=60, random_state=0)
    seen.fit(rows.X_public)
    # One call for all rows: it rounds differently for another number of rows.
    patches = seen.transform(np.concatenate([rows.X_public, rows.X_test]))
    ballots = simulated(rows.y_public)
    return VotedPool(rows, ballots, patches[:QUICK_PUBLIC], patches[QUICK_PUBLIC:])


def simulated(truth: IntArray) -> IntArray:
    """Ballots of teachers; the share that is right differs from row to row."""
    rng = np.random.default_rng(0)
    share = rng.beta(4.0, 1.0, size=(len(truth), 1))
    right = rng.random((len(truth), TEACHERS)) < share
    wrong = (truth[:, None] + rng.integers(1, CLASSES, size=right.shape)) % CLASSES
    return np.where(right, truth[:, None], wrong).astype(np.int64)

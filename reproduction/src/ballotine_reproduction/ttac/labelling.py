"""Noisy labels, what they cost, and the students that learn from them."""

from __future__ import annotations

import math
import warnings

import numpy as np
import torch

from ballotine.neural import RotateShift, TorchClassifier
from ballotine.noise import QueryNoise, SeededNoise
from ballotine.privacy import conversion, published
from ballotine.privacy.conversion import OrderGridWarning
from ballotine.privacy.events import LaplaceArgmax
from ballotine.privacy.plan import epsilon_of
from ballotine.types import FloatArray, IntArray, Matrix
from ballotine.voting import LNMax
from ballotine.voting.tally import Tallies
from ballotine_reproduction.pool import Pool
from ballotine_reproduction.summary import percent_right
from ballotine_reproduction.ttac.pools import CLASSES, centred, one_hidden_layer, uncentred

DELTA = 1e-5
MOMENTS = np.arange(1, 9)
ORDERS = (MOMENTS + 1).astype(np.float64)
"""Moment l is the Rényi order l + 1."""
COPIES = 50
"""Rotated copies of each of 1,000 labelled rows; fewer rows get more, by the root of the ratio."""
REASON = "reproducing a table of a paper on public data"


def labels(ballots: IntArray, gamma: float, seed: int) -> IntArray:
    """LNMax's answer to every row: argmax of counts plus Laplace noise of scale 1/γ."""
    keys = [row.to_bytes(8, "big") for row in range(len(ballots))]
    tallies = Tallies.of(ballots, CLASSES)
    return LNMax(gamma).release(tallies, QueryNoise(SeededNoise(seed), keys))


def asked(pool: Pool, queries: int, seed: int) -> IntArray:
    """Which public rows are asked: chosen by the seed alone."""
    order = np.random.default_rng(seed).permutation(len(pool.X_public))
    return order[: min(queries, len(order))].astype(np.int64)


def student_accuracy(pool: Pool, rows: IntArray, answers: IntArray, seed: int) -> float:
    """Accuracy, in percent, of a student taught with SGD on these rows and answers.

    It sees every copy once: a second pass would make it memorise wrong answers.
    """
    copies = round(COPIES * math.sqrt(1_000 / len(rows)))
    student = TorchClassifier(
        one_hidden_layer,
        pool.shape,
        epochs=1,
        batch=128,
        learning_rate=0.02,
        optimiser="sgd",
        weight_decay=1e-2,
        device="cpu",
        random_state=seed,
    )
    student.fit(_turned(pool, rows, copies, seed), np.tile(answers[rows], copies))
    return percent_right(student.predict(pool.X_test), pool.y_test)


def _turned(pool: Pool, rows: IntArray, copies: int, seed: int) -> Matrix:
    """Copies of these public rows, each rotated and shifted a little."""
    images = torch.from_numpy(np.tile(uncentred(pool.X_public[rows]), (copies, 1)))
    turned = RotateShift()(images.reshape(-1, *pool.shape), torch.Generator().manual_seed(seed))
    return centred(turned.reshape(len(images), -1).numpy())


def epsilon_equation10(queries: int, gamma: float) -> float:
    """The paper's data-independent ε: moments up to 8, classic conversion."""
    return _classic(queries * 2.0 * gamma**2 * ORDERS)


def epsilon_published(ballots: IntArray, gamma: float) -> float:
    """The paper's ε of these queries: the smaller of equations 10 and 11, one direction only."""
    counts = Tallies.of(ballots, CLASSES).unlock(reason=REASON)
    return _classic(published.lnmax(counts, ORDERS, gamma, two_sided=False).sum(axis=0))


def epsilon_strict(queries: int, gamma: float) -> float:
    """What holds whatever the votes: both directions, all orders, the improved conversion."""
    return epsilon_of([(LaplaceArgmax(gamma), queries)], DELTA)


def _classic(costs: FloatArray) -> float:
    with warnings.catch_warnings():
        # The paper stops at moment 8 wherever the best order lies.
        warnings.simplefilter("ignore", OrderGridWarning)
        return conversion.epsilon(ORDERS, costs, DELTA, "classic")[0]

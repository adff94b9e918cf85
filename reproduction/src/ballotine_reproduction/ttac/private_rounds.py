"""Private TTAC: rounds and votes paid from one budget, small models, many teachers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ballotine.data.partition import make_partition
from ballotine.ledger import Ledger
from ballotine.neural import TorchClassifier
from ballotine.noise import QueryNoise, SeededNoise
from ballotine.privacy.events import ClippedSum, GaussianArgmax
from ballotine.privacy.guarantee import Budget
from ballotine.privacy.plan import PRECISION, epsilon_of, smallest_noise
from ballotine.teachers.ttac import (
    LearnTogether,
    Method,
    RoundsAccount,
    RoundsPlan,
    TtacTrainer,
    plan_rounds,
)
from ballotine.types import IntArray, Matrix
from ballotine.voting import GNMax
from ballotine.voting.tally import Tallies
from ballotine_reproduction.encoders import principal_directions
from ballotine_reproduction.experiment import Setting
from ballotine_reproduction.pool import Encoder, Pool
from ballotine_reproduction.summary import deviation, percent_right, plurality
from ballotine_reproduction.table import Row, Table
from ballotine_reproduction.ttac.labelling import DELTA, asked
from ballotine_reproduction.ttac.pools import CLASSES, pool_of

TEACHERS = (10, 50, 250)
EPSILONS = (2.0, 4.0, 8.0)
QUERIES = 1_000
FEATURES, LENGTH = 30, 3.0
ROUNDS, STEPS, BATCH, STEP_SIZE, CLIP = 10, 1, 100, 2.0, 2.0
ALONE_STEPS, ALONE_STEP_SIZE = 10, 0.5
"""Separate teachers pay no rounds: they may take more steps."""
TRAINED: dict[Method, str] = {
    "ttac": "TTAC",
    "averaging": "averaging",
    "conventional": "separate",
}
SHARE = 0.5
"""Of the budget, for the rounds; the rest is for the votes."""
PLAIN = math.inf
"""The budget of rounds and votes without noise."""

_NOTES = (
    (
        f"a linear model of {(FEATURES + 1) * CLASSES} weights on {FEATURES} principal components "
        "of the public rows; the components are computed from public rows alone"
    ),
    (
        f"{ROUNDS} rounds, of which {ROUNDS - 1} are paid: the last round's moves stay with their "
        f"teachers; {STEPS} local step of {BATCH} records, step size {STEP_SIZE:g}, clipped to "
        f"{CLIP:g}; chosen with 250 teachers on held-out training rows at 0 % and ε = 8, which "
        "spends privacy that is not counted here"
    ),
    (
        f"half of the budget is for rounds, half for {QUERIES:,} GNMax answers, all "
        "data-independent; δ = 1e-5; ε is what both cost together. ∞: no noise anywhere"
    ),
    (
        "at 0 % the split is sorted by label, so its ε is conditional; at 100 % it is random and "
        "the ε holds"
    ),
    (
        "separate teachers share nothing: the whole budget is for their votes, and they take "
        f"{ROUNDS * ALONE_STEPS} steps of size {ALONE_STEP_SIZE:g}"
    ),
    "cells: right votes and right answers in percent, mean ± standard deviation over seeds",
)


@dataclass(frozen=True)
class TaughtRow:
    """One way to teach: the method, the split, the number of teachers and the budget."""

    method: Method
    similarity: int
    teachers: int
    epsilon: float

    @property
    def noise_key(self) -> bytes:
        """Seeds the noise of the rounds; recorded results depend on this very text."""
        facts = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"Row({facts})".encode()

    @property
    def together(self) -> bool:
        """Whether there are rounds to pay."""
        return self.method != "conventional"


def private(setting: Setting) -> Table:
    """Right votes and answers by method, split, number of teachers and budget."""
    pool = pool_of(setting)
    pool = pool.encoded(_components(pool.X_public))
    wanted = _wanted(setting)
    rows: list[Row] = []
    known: dict[TaughtRow, list[IntArray]] = {}
    with setting.progress.stage("private rounds", len(wanted)) as advance:
        for row in wanted:
            # The votes of separate teachers do not depend on the budget.
            taught = row if row.together else replace(row, epsilon=PLAIN)
            if taught not in known:
                known[taught] = [_votes(pool, taught, seed) for seed in setting.seed_range()]
            rows.append(_cells(pool, row, known[taught]))
            advance(1)
    title = f"Private TTAC: rounds and votes from one budget ({pool.name})"
    return Table(title, COLUMNS, rows, (*pool.notes, *_NOTES))


COLUMNS = (
    "s, %",
    "teachers",
    "trained",
    "ε in all",
    "z of the rounds",
    "σ of the votes",
    "plurality without noise, right %",
    "answers, right %",
)


def _cells(pool: Pool, row: TaughtRow, votes: Sequence[IntArray]) -> Row:
    spent, sigma, z = _prices(row)
    right, answered = [], []
    for seed, cast in enumerate(votes):
        rows = asked(pool, QUERIES, seed)
        right.append(percent_right(plurality(cast, CLASSES), pool.y_public))
        answered.append(percent_right(_answers(cast, sigma, seed)[rows], pool.y_public[rows]))
    return (
        row.similarity,
        row.teachers,
        TRAINED[row.method],
        "∞" if row.epsilon == PLAIN else f"{spent:.2f}",
        None if z is None else f"{z:.2f}",
        None if sigma is None else f"{sigma:.1f}",
        deviation(right),
        deviation(answered),
    )


def _wanted(setting: Setting) -> list[TaughtRow]:
    methods: tuple[Method, ...] = ("ttac", "averaging", "conventional")
    sizes = TEACHERS[:2] if setting.quick else TEACHERS
    budgets = (*EPSILONS[-1:], PLAIN) if setting.quick else (*EPSILONS, PLAIN)
    return [
        TaughtRow(method, similarity, teachers, epsilon)
        for similarity in (0, 100)
        for teachers in sizes
        for method in methods
        for epsilon in budgets
        if similarity == 0 or method != "ttac"
    ]


def _components(X_public: Matrix) -> Encoder:
    centre, directions, length = principal_directions(X_public, FEATURES)
    # With the same length of public rows everywhere, a step size means the same everywhere.
    scale = LENGTH / length
    return lambda X: ((X - centre) @ directions * scale).astype(np.float32)


def _prices(row: TaughtRow) -> tuple[float, float | None, float | None]:
    """ε in all, σ of the votes, z of the rounds."""
    if row.epsilon == PLAIN:
        return PLAIN, None, None
    budget = Budget(row.epsilon, DELTA)
    if not row.together:
        sigma = smallest_noise(lambda s: [(GaussianArgmax(s, CLASSES), QUERIES)], budget)
        return epsilon_of([(GaussianArgmax(sigma, CLASSES), QUERIES)], DELTA), sigma, None
    plan = plan_rounds(budget, ROUNDS, SHARE)
    sigma = _vote_sigma(plan)
    rounds = (ClippedSum(plan.noise_multiplier), plan.releases)
    spent = epsilon_of([rounds, (GaussianArgmax(sigma, CLASSES), QUERIES)], DELTA)
    return spent, sigma, plan.noise_multiplier


def _vote_sigma(plan: RoundsPlan) -> float:
    """The least noise with which all answers cost what the rounds leave, at the same order."""
    at = np.array([plan.order])
    high = math.sqrt(QUERIES * plan.order / plan.left)  # the published cost, always enough
    low = 0.7 * high
    while high / low > 1 + PRECISION:
        middle = math.sqrt(low * high)
        fits = QUERIES * float(GaussianArgmax(middle, CLASSES).cost(at)[0]) <= plan.left
        low, high = (low, middle) if fits else (middle, high)
    return high


def _votes(pool: Pool, row: TaughtRow, seed: int) -> IntArray:
    secret = f"ballotine/experiments/ttac/private/{seed}".encode()
    steps, step_size = (STEPS, STEP_SIZE) if row.together else (ALONE_STEPS, ALONE_STEP_SIZE)
    _, _, z = _prices(row)
    clip = None if z is None else CLIP
    how = LearnTogether(
        row.method, ROUNDS, steps, step_size, decay=1.0, clip=clip, noise_multiplier=z
    )
    network = TorchClassifier("linear", batch=BATCH)
    account = None if z is None else _account(row, seed)
    trainer = TtacTrainer(network, how, CLASSES, secret, account=account)
    partition = make_partition("similarity", pool.y, row.teachers, secret, s=row.similarity)
    return trainer.train(pool.X, pool.y, partition).ballots(pool.X_public)


def _account(row: TaughtRow, seed: int) -> RoundsAccount:
    ledger = Ledger.open(None, Budget(row.epsilon, DELTA))
    return RoundsAccount(ledger, SeededNoise(seed), name=row.noise_key)


def _answers(cast: IntArray, sigma: float | None, seed: int) -> IntArray:
    if sigma is None:
        return plurality(cast, CLASSES)
    keys = [row.to_bytes(8, "big") for row in range(len(cast))]
    tallies = Tallies.of(cast, CLASSES)
    return GNMax(sigma).release(tallies, QueryNoise(SeededNoise(seed), keys))

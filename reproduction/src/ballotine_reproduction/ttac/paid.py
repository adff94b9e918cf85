"""What private TTAC gives: rounds and votes paid from one budget, small models, many teachers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ballotine.data.partition import make_partition
from ballotine.ledger import Ledger
from ballotine.noise import QueryNoise, SeededNoise
from ballotine.privacy.events import ClippedSum, GaussianArgmax
from ballotine.privacy.guarantee import Budget
from ballotine.privacy.plan import PRECISION, epsilon_of, smallest_noise
from ballotine.teachers.engine import LocalEngine
from ballotine.teachers.ttac import (
    Method,
    PrivateRounds,
    RoundsPlan,
    Together,
    TtacTrainer,
    plan_rounds,
)
from ballotine.types import IntArray
from ballotine.types import Matrix as Rows
from ballotine.voting import GNMax
from ballotine.voting.tally import Tallies
from ballotine_reproduction.table import Cell, Setting, Table
from ballotine_reproduction.ttac.labelling import CLASSES, DELTA, asked
from ballotine_reproduction.ttac.sources import Pool, pool_of, seeds_of
from ballotine_reproduction.ttac.table1 import spread

TEACHERS = (10, 50, 250)
EPSILONS = (2.0, 4.0, 8.0)
QUERIES = 1_000
FEATURES = 30
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
"""Stands for rounds and votes without noise."""

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
class Row:
    """One way to teach: how, by how many, on which split, at what budget."""

    method: Method
    similarity: int
    teachers: int
    epsilon: float

    @property
    def together(self) -> bool:
        """Whether there are rounds to pay."""
        return self.method != "conventional"


def private(setting: Setting) -> Table:
    """Rows for private TTAC, told as they are."""
    pool = pool_of(setting)
    X, X_public = components(pool)
    wanted = _wanted(setting)
    rows: list[tuple[Cell, ...]] = []
    known: dict[Row, list[IntArray]] = {}
    with setting.progress.stage("private rounds", len(wanted)) as advance:
        for row in wanted:
            # The votes of separate teachers do not depend on the budget.
            taught = row if row.together else replace(row, epsilon=PLAIN)
            if taught not in known:
                known[taught] = [
                    _votes(pool, taught, X, X_public, seed) for seed in seeds_of(setting)
                ]
            rows.append(_cells(pool, row, known[taught]))
            advance(1)
    title = f"Private TTAC: rounds and votes from one budget ({pool.name})"
    return Table(title, COLUMNS, tuple(rows), (*pool.notes, *_NOTES))


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


def _cells(pool: Pool, row: Row, votes: Sequence[IntArray]) -> tuple[Cell, ...]:
    spent, sigma, z = _prices(row)
    answered = [
        _right(pool, _answers(cast, sigma, seed), asked(pool, QUERIES, seed))
        for seed, cast in enumerate(votes)
    ]
    return (
        row.similarity,
        row.teachers,
        TRAINED[row.method],
        "∞" if row.epsilon == PLAIN else f"{spent:.2f}",
        None if z is None else f"{z:.2f}",
        None if sigma is None else f"{sigma:.1f}",
        spread([_right(pool, cast) for cast in votes]),
        spread(answered),
    )


def _wanted(setting: Setting) -> list[Row]:
    methods: tuple[Method, ...] = ("ttac", "averaging", "conventional")
    sizes = TEACHERS[:2] if setting.quick else TEACHERS
    budgets = (*EPSILONS[-1:], PLAIN) if setting.quick else (*EPSILONS, PLAIN)
    return [
        Row(method, similarity, teachers, epsilon)
        for similarity in (0, 100)
        for teachers in sizes
        for method in methods
        for epsilon in budgets
        if similarity == 0 or method != "ttac"
    ]


def components(pool: Pool) -> tuple[Rows, Rows]:
    """Private and public rows on the principal components of the public ones."""
    centre = pool.X_public.mean(axis=0)
    shifted = (pool.X_public - centre).astype(np.float64)
    values, vectors = np.linalg.eigh(shifted.T @ shifted)
    directions = vectors[:, np.argsort(values)[::-1][:FEATURES]]
    # Rows of length 3 on average, on public rows: a step size then means the same everywhere.
    length = 3.0 / math.sqrt(float(np.mean(np.sum((shifted @ directions) ** 2, axis=1))))
    private, public = (
        ((rows - centre) @ directions * length).astype(np.float32)
        for rows in (pool.X, pool.X_public)
    )
    return private, public


def _prices(row: Row) -> tuple[float, float | None, float | None]:
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


def _votes(pool: Pool, row: Row, X: Rows, X_public: Rows, seed: int) -> IntArray:
    secret = f"ballotine/experiments/ttac/private/{seed}".encode()
    steps, step_size = (STEPS, STEP_SIZE) if row.together else (ALONE_STEPS, ALONE_STEP_SIZE)
    how = Together("linear", (FEATURES,), row.method, ROUNDS, steps, BATCH, step_size, 1.0)
    trainer = TtacTrainer(how, CLASSES, secret, LocalEngine(1), _release(row, seed))
    partition = make_partition("similarity", pool.y, row.teachers, secret, s=row.similarity)
    return trainer.train(X, pool.y, partition).ballots(X_public)


def _release(row: Row, seed: int) -> PrivateRounds | None:
    _, _, z = _prices(row)
    if z is None:
        return None
    ledger = Ledger.open(None, Budget(row.epsilon, DELTA))
    return PrivateRounds(CLIP, z, ledger, SeededNoise(seed), repr(row).encode())


def _answers(cast: IntArray, sigma: float | None, seed: int) -> IntArray:
    if sigma is None:
        return _plurality(cast)
    keys = [row.to_bytes(8, "big") for row in range(len(cast))]
    tallies = Tallies.of(cast, CLASSES)
    return GNMax(sigma).release(tallies, QueryNoise(SeededNoise(seed), keys))


def _plurality(cast: IntArray) -> IntArray:
    counts = np.stack([(cast == label).sum(axis=1) for label in range(CLASSES)], axis=1)
    winners: IntArray = counts.argmax(axis=1).astype(np.int64)
    return winners


def _right(pool: Pool, votes: IntArray, rows: Sequence[int] | IntArray | None = None) -> float:
    answers = _plurality(votes) if votes.ndim == 2 else votes
    right = answers == pool.y_public
    return 100.0 * float(np.mean(right if rows is None else right[rows]))

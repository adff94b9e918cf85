"""How the recommended student was chosen: on rows and seeds that no other table uses."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.svm import SVC

from ballotine.students import SpreadingClassifier
from ballotine.students.neural import (
    VAT,
    CoTeaching,
    FixMatch,
    MixMatch,
    SemiSupervisedGAN,
    Supervised,
)
from ballotine.types import IntArray
from ballotine.types import Matrix as Rows
from ballotine_reproduction.experiment import Setting
from ballotine_reproduction.patepp.ensemble import VotedPool
from ballotine_reproduction.patepp.labelling import LEVELS, answered
from ballotine_reproduction.patepp.methods import CHOICE
from ballotine_reproduction.patepp.pools import pool_of
from ballotine_reproduction.summary import deviation, percent_right
from ballotine_reproduction.table import Cell, Row, Table

HELD_OUT = 2_000
QUICK_HELD_OUT = 400
FIRST_SEED = 100
COLUMNS = ("student", *(f"{level}, %" for level in LEVELS), "seconds")

Candidate: TypeAlias = Callable[[Rows, IntArray, Rows, Rows, int], IntArray]
"""From answered rows, answers, other rows, rows to predict and a seed to predictions."""


def _plain(estimator: Any, X: Rows, y: IntArray, others: Rows, asked: Rows, seed: int) -> IntArray:  # noqa: ARG001
    found: IntArray = clone(estimator).fit(X, y).predict(asked)
    return found


def _left_out(X: Rows, y: IntArray, others: Rows, asked: Rows, seed: int) -> IntArray:  # noqa: ARG001
    """Answers that a model which did not learn from them contradicts are left out."""
    agreed = cross_val_predict(SVC(), X, y, cv=5) == y
    found: IntArray = SVC(C=3.0).fit(X[agreed], y[agreed]).predict(asked)
    return found


def _own_labels(X: Rows, y: IntArray, others: Rows, asked: Rows, seed: int) -> IntArray:  # noqa: ARG001
    guessed = SVC().fit(X, y).predict(others)
    model = SVC().fit(np.concatenate([X, others]), np.concatenate([y, guessed]))
    found: IntArray = model.predict(asked)
    return found


def _spreading(X: Rows, y: IntArray, others: Rows, asked: Rows, seed: int) -> IntArray:  # noqa: ARG001
    labels = np.concatenate([y, np.full(len(others), -1)])
    return SpreadingClassifier().fit(np.concatenate([X, others]), labels).predict(asked)


def _net(
    kind: Any, options: dict[str, Any], X: Rows, y: IntArray, others: Rows, asked: Rows, seed: int
) -> IntArray:
    found: IntArray = kind("mlp", random_state=seed, **options).fit(X, y, others).predict(asked)
    return found


def _peers(beta: float) -> Candidate:
    options = {"epochs": 20, "noise_rate": beta, "ramp": 5, "ema": 0.99}
    return partial(_net, CoTeaching, options)


CANDIDATES: dict[str, Candidate] = {
    "SVM, C = 1": partial(_plain, SVC(C=1.0)),
    "SVM, C = 2": partial(_plain, SVC(C=2.0)),
    "SVM, C by cross-validation": partial(_plain, GridSearchCV(SVC(), {"C": [0.3, 1, 3]}, cv=3)),
    "SVM, contradicted answers left out": _left_out,
    "SVM, taught its own labels too": _own_labels,
    "spreading": _spreading,
    "one network": partial(_net, Supervised, {"epochs": 20}),
    "two networks, β = 0.1": _peers(0.1),
    "two networks, β = 0.3": _peers(0.3),
    "original": partial(_net, SemiSupervisedGAN, {"epochs": 10}),
    "VAT": partial(_net, VAT, {"epochs": 10, "epsilon": 2.0, "ema": 0.99}),
    "FixMatch": partial(_net, FixMatch, {"epochs": 10, "threshold": 0.8, "ema": 0.99}),
    "MixMatch": partial(_net, MixMatch, {"epochs": 10, "ema": 0.99}),
    "MixMatch, 20 epochs": partial(_net, MixMatch, {"epochs": 20, "ema": 0.99}),
}
"""All of them see patches."""


def choice(setting: Setting) -> Table:
    """Accuracies of candidates on public rows that nothing else uses."""
    pool = pool_of(setting)
    rows = [_row(setting, pool, name) for name in CANDIDATES]
    notes = (
        *pool.notes,
        f"students on patches; {_held_out(setting):,} public rows are held out for evaluation",
        f"seeds from {FIRST_SEED}: the other tables use other seeds, and the evaluation slice",
        "cells: mean ± standard deviation over seeds; seconds: mean of a training",
        f"chosen: MixMatch ({CHOICE} in Table I)",
    )
    return Table(
        f"Candidates for the recommended student ({pool.name})", COLUMNS, tuple(rows), notes
    )


def _row(setting: Setting, pool: VotedPool, name: str) -> Row:
    cells: list[Cell] = [name]
    took: list[float] = []
    with setting.progress.stage(name, len(LEVELS) * len(setting.seed_range())) as advance:
        for level in LEVELS:
            found = []
            for seed in setting.seed_range():
                start = time.monotonic()
                found.append(_accuracy(setting, pool, name, level, FIRST_SEED + seed))
                took.append(time.monotonic() - start)
                advance(1)
            cells.append(deviation(found))
    return (*cells, f"{float(np.mean(took)):.1f}")


def _accuracy(setting: Setting, pool: VotedPool, name: str, level: str, seed: int) -> float:
    own = _without_held_out(pool, _held_out(setting), seed)
    given = answered(own, level, seed, quick=setting.quick)
    X, labels, others = given.rows_of(own.patches)
    predicted = CANDIDATES[name](X, labels, others, own.patches_test, seed)
    return percent_right(predicted, own.rows.y_test)


def _without_held_out(pool: VotedPool, number: int, seed: int) -> VotedPool:
    """The pool with some of its public rows in the place of the test rows."""
    order = np.random.default_rng([seed, 12]).permutation(len(pool.ballots))
    return pool.held_out(order[number:], order[:number])


def _held_out(setting: Setting) -> int:
    return QUICK_HELD_OUT if setting.quick else HELD_OUT

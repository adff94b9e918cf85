"""Figure 2: how many labels are right, against γ, for four similarities (MNIST)."""

from __future__ import annotations

import numpy as np

from ballotine.teachers.ttac import Method
from ballotine.types import IntArray
from ballotine_reproduction.charts import Line, chart
from ballotine_reproduction.table import Cell, Setting, Table
from ballotine_reproduction.ttac import labelling, reported
from ballotine_reproduction.ttac.ensembles import EnsembleKey, ballots
from ballotine_reproduction.ttac.pools import Pool, pool_of, seeds_of
from ballotine_reproduction.ttac.table1 import CONDITIONAL, NAMES, spread

SIMILARITIES = (0, 1, 10, 100)
GAMMAS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
METHODS: tuple[Method, ...] = ("conventional", "ttac")
DASHES = {"conventional": "dash", "ttac": "solid"}
_CELLS = (
    "cells: right labels in percent, all public rows, mean ± standard deviation over seeds; "
    "the last column has no noise"
)


def figure2(setting: Setting) -> Table:
    """Labelling accuracy of every similarity, method and γ."""
    pool = pool_of(setting)
    rows: list[tuple[Cell, ...]] = []
    lines: list[Line] = []
    for place, similarity in enumerate(SIMILARITIES):
        for method in METHODS:
            votes = [
                ballots(setting, pool, EnsembleKey(method, similarity, seed))
                for seed in seeds_of(setting)
            ]
            found = [accuracies(pool, votes, gamma) for gamma in GAMMAS]
            clear = [plurality(pool, cast) for cast in votes]
            rows.append((similarity, NAMES[method, 1], *map(spread, found), spread(clear)))
            name = f"{NAMES[method, 1]}, s = {similarity} %"
            means = [float(np.mean(values)) for values in found]
            lines.append(Line(name, GAMMAS, means, colour=place, dash=DASHES[method]))
    columns = ("s, %", "teachers", *(f"γ = {gamma:g}" for gamma in GAMMAS), "no noise")
    title = f"Figure 2: right labels against γ ({pool.name})"
    notes = (*pool.notes, _CELLS, reported.FIGURE2_SAYS, CONDITIONAL)
    figure = chart(lines, title, "γ (inverse scale of the noise)", "right labels, %")
    return Table(title, columns, tuple(rows), notes, {"labels": figure})


def accuracies(pool: Pool, votes: list[IntArray], gamma: float) -> list[float]:
    """Right labels in percent, one number per ensemble."""
    return [
        100.0 * float(np.mean(labelling.labels(cast, gamma, seed) == pool.y_public))
        for seed, cast in enumerate(votes)
    ]


def plurality(pool: Pool, cast: IntArray) -> float:
    """Right labels in percent where nothing is noised."""
    counts = np.stack([(cast == label).sum(axis=1) for label in range(labelling.CLASSES)], axis=1)
    return 100.0 * float(np.mean(counts.argmax(axis=1) == pool.y_public))

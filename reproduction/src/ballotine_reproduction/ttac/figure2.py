"""Figure 2: how many labels are right, against γ, for four similarities (MNIST)."""

from __future__ import annotations

import numpy as np

from ballotine.teachers.ttac import Method
from ballotine.types import IntArray
from ballotine_reproduction.charts import Line, chart
from ballotine_reproduction.experiment import Setting
from ballotine_reproduction.pool import Pool
from ballotine_reproduction.summary import deviation, percent_right, plurality
from ballotine_reproduction.table import Row, Table
from ballotine_reproduction.ttac import labelling, reported
from ballotine_reproduction.ttac.ensembles import votes_by_seed
from ballotine_reproduction.ttac.pools import CLASSES, pool_of
from ballotine_reproduction.ttac.table1 import CONDITIONAL, NAMES

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
    rows: list[Row] = []
    lines: list[Line] = []
    for place, similarity in enumerate(SIMILARITIES):
        for method in METHODS:
            votes = votes_by_seed(setting, pool, method, similarity)
            found = [accuracies(pool, votes, gamma) for gamma in GAMMAS]
            clear = right_without_noise(pool, votes)
            rows.append((similarity, NAMES[method, 1], *map(deviation, found), deviation(clear)))
            name = f"{NAMES[method, 1]}, s = {similarity} %"
            means = [float(np.mean(values)) for values in found]
            lines.append(Line(name, GAMMAS, means, colour=place, dash=DASHES[method]))
    columns = ("s, %", "teachers", *(f"γ = {gamma:g}" for gamma in GAMMAS), "no noise")
    title = f"Figure 2: right labels against γ ({pool.name})"
    notes = (*pool.notes, _CELLS, reported.FIGURE2_SAYS, CONDITIONAL)
    figure = chart({title: lines}, "γ (inverse scale of the noise)", "right labels, %")
    return Table(title, columns, rows, notes, {"labels": figure})


def accuracies(pool: Pool, votes: list[IntArray], gamma: float) -> list[float]:
    """Right labels in percent, one number per ensemble."""
    return [
        percent_right(labelling.labels(cast, gamma, seed), pool.y_public)
        for seed, cast in enumerate(votes)
    ]


def right_without_noise(pool: Pool, votes: list[IntArray]) -> list[float]:
    """The same for the plurality of the votes."""
    return [percent_right(plurality(cast, CLASSES), pool.y_public) for cast in votes]

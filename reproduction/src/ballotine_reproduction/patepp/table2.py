"""Table II: what the assumed noise rate β does to co-teaching and PATE+."""

from __future__ import annotations

import numpy as np

from ballotine_reproduction.experiment import Setting
from ballotine_reproduction.patepp import reported
from ballotine_reproduction.patepp.methods import Training
from ballotine_reproduction.patepp.notes import CELLS, schedule_note
from ballotine_reproduction.patepp.pools import pool_of
from ballotine_reproduction.patepp.trainings import accuracies
from ballotine_reproduction.summary import deviation
from ballotine_reproduction.table import Row, Table

COLUMNS = ("student", "β", "paper, %", "ours, %")


def table2(setting: Setting) -> Table:
    """Accuracies by noise rate, at the tight budget."""
    pool = pool_of(setting)
    seeds = setting.seed_range()
    cells = [
        (method, beta, paper)
        for method, printed in reported.TABLE2.items()
        for beta, paper in zip(reported.BETAS, printed, strict=True)
    ]
    cases = [Training(method, "tight", seed, beta) for method, beta, _ in cells for seed in seeds]
    found = np.reshape(accuracies(setting, pool, cases), (len(cells), len(seeds)))
    rows: list[Row] = [
        (method, beta, f"{paper:.1f}", deviation(ours.tolist()))
        for (method, beta, paper), ours in zip(cells, found, strict=True)
    ]
    title = f"Table II: students by assumed noise rate, tight budget ({pool.name})"
    return Table(title, COLUMNS, rows, (*pool.notes, CELLS, schedule_note(setting)))

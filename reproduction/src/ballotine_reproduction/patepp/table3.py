"""Table III: what the removed share τ does to PATE++."""

from __future__ import annotations

import numpy as np

from ballotine_reproduction.experiment import Setting
from ballotine_reproduction.patepp import reported
from ballotine_reproduction.patepp.methods import BETA, Training
from ballotine_reproduction.patepp.notes import CELLS, schedule_note
from ballotine_reproduction.patepp.pools import pool_of
from ballotine_reproduction.patepp.trainings import Result, results
from ballotine_reproduction.summary import deviation
from ballotine_reproduction.table import Row, Table

COLUMNS = ("τ", "wrong among forgotten, %", "paper, %", "ours, %")
_FOUND = (
    "wrong among forgotten: the share of forgotten answers that were indeed wrong, mean over "
    "seeds; picking at random would find a third"
)


def table3(setting: Setting) -> Table:
    """Accuracies of PATE++ by removed share, at the tight budget."""
    pool = pool_of(setting)
    seeds = setting.seed_range()
    cases = [
        Training("PATE++", "tight", seed, BETA, tau) for tau in reported.TAUS for seed in seeds
    ]
    found = results(setting, pool, cases)
    rows: list[Row] = []
    for place, (tau, paper) in enumerate(zip(reported.TAUS, reported.TABLE3, strict=True)):
        own = found[place * len(seeds) : (place + 1) * len(seeds)]
        ours = deviation([each.accuracy for each in own])
        rows.append((tau, _precision(own), f"{paper:.1f}", ours))
    title = f"Table III: PATE++ by removed share, β = {BETA:g}, tight budget ({pool.name})"
    return Table(title, COLUMNS, rows, (*pool.notes, CELLS, _FOUND, schedule_note(setting)))


def _precision(found: list[Result]) -> str | None:
    shares = [100.0 * each.found for each in found if each.found is not None]
    return f"{float(np.mean(shares)):.0f}" if shares else None

"""Table II: what the assumed noise rate β does to co-teaching and PATE+."""

from __future__ import annotations

from ballotine.experiments.patepp import reported
from ballotine.experiments.patepp.methods import Case
from ballotine.experiments.patepp.notes import CELLS, schedule_note
from ballotine.experiments.patepp.running import accuracies
from ballotine.experiments.patepp.sources import pool_of, seeds_of
from ballotine.experiments.table import Cell, Setting, Table
from ballotine.experiments.ttac.table1 import spread

COLUMNS = ("student", "β", "paper, %", "ours, %")


def table2(setting: Setting) -> Table:
    """Accuracies by noise rate, at the tight budget."""
    pool = pool_of(setting)
    rows: list[tuple[Cell, ...]] = []
    for method, printed in reported.TABLE2.items():
        for beta, paper in zip(reported.BETAS, printed, strict=True):
            cases = [Case(method, "tight", seed, beta) for seed in seeds_of(setting)]
            ours = spread(accuracies(setting, pool, cases))
            rows.append((method, beta, f"{paper:.1f}", ours))
    title = f"Table II: students by assumed noise rate, tight budget ({pool.name})"
    return Table(title, COLUMNS, tuple(rows), (*pool.notes, CELLS, schedule_note(setting)))

"""The paper's schedule, as far as it is told: 400 epochs at a constant rate of 0.01."""

from __future__ import annotations

from dataclasses import replace

from ballotine.experiments.individualized.charts import Line, chart
from ballotine.experiments.patepp import reported
from ballotine.experiments.patepp.methods import case
from ballotine.experiments.patepp.notes import schedule_note
from ballotine.experiments.patepp.running import Result, result
from ballotine.experiments.patepp.sources import pool_of
from ballotine.experiments.table import Cell, Setting, Table

SEED = 0
COLUMNS = ("student", "paper, %", "12 epochs, %", "400 epochs, %", "in dispute at the end")
METHODS = ("original", "PATE+", "PATE++")


def long(setting: Setting) -> Table:
    """One seed at the tight budget; hours, and it goes on where it was stopped."""
    pool = pool_of(setting)
    rows: list[tuple[Cell, ...]] = []
    found: dict[str, Result] = {}
    for method in METHODS:
        short = case(method, "tight", SEED)
        found[method] = result(setting, pool, replace(short, long=True))
        disputed = found[method].curves.get("disagreed")
        rows.append(
            (
                method,
                f"{reported.TABLE1['tight'][method]:.1f}",
                f"{result(setting, pool, short).accuracy:.1f}",
                f"{found[method].accuracy:.1f}",
                None if disputed is None else int(disputed[-1]),
            )
        )
    notes = (
        *pool.notes,
        f"one seed ({SEED}), tight budget",
        "in dispute: answered rows on which the two discriminators differed in the last epoch",
        schedule_note(setting, long=True),
    )
    title = f"The paper's schedule ({pool.name})"
    figure = chart(
        [
            Line(name, _epochs(found[name]), found[name].curves["disagreed"], colour=colour)
            for colour, name in enumerate(("PATE+", "PATE++"))
        ],
        "answered rows on which the two disagree",
        "epoch",
        "rows",
    )
    return Table(title, COLUMNS, tuple(rows), notes, {"disputed": figure})


def _epochs(found: Result) -> list[float]:
    return [float(number + 1) for number in range(len(found.curves["disagreed"]))]

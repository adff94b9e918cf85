"""The paper's schedule, as far as it is told: 400 epochs at a constant rate of 0.01."""

from __future__ import annotations

from dataclasses import replace

from ballotine.experiments.individualized.charts import Line, chart
from ballotine.experiments.patepp import reported
from ballotine.experiments.patepp.methods import case
from ballotine.experiments.patepp.notes import schedule_note
from ballotine.experiments.patepp.running import Result, results
from ballotine.experiments.patepp.sources import pool_of
from ballotine.experiments.table import Cell, Setting, Table

SEED = 0
COLUMNS = ("student", "paper, %", "as in Table I, %", "long, %", "in dispute at the end")
METHODS = ("original on patches", "PATE+ on patches", "PATE++ on patches")


def long(setting: Setting) -> Table:
    """On patches, with a small network: a quarter of an hour."""
    return at_length(setting, METHODS)


def at_length(setting: Setting, methods: tuple[str, str, str]) -> Table:
    """One seed at the tight budget; a training that is stopped goes on where it was.

    Args:
        setting: how the experiment is carried out.
        methods: the original student, PATE+ and PATE++.
    """
    pool = pool_of(setting)
    short = [case(method, "tight", SEED) for method in methods]
    both = results(setting, pool, [*short, *(replace(which, long=True) for which in short)])
    found = both[len(methods) :]
    rows = tuple(map(_row, methods, both, found))
    notes = (
        *pool.notes,
        f"one seed ({SEED}), tight budget; the paper's students see pixels",
        "in dispute: answered rows on which the two discriminators differed in the last epoch",
        schedule_note(setting, long=True),
        "on patches the network is the small mlp",
    )
    lines = [
        Line(name, _epochs(each), each.curves["disagreed"], colour=colour)
        for colour, (name, each) in enumerate(zip(methods[1:], found[1:], strict=True))
    ]
    figure = chart(lines, "answered rows on which the two disagree", "epoch", "rows")
    title = f"The paper's schedule ({pool.name})"
    return Table(title, COLUMNS, rows, notes, {"disputed": figure})


def _row(method: str, before: Result, found: Result) -> tuple[Cell, ...]:
    disputed = found.curves.get("disagreed")
    return (
        method,
        f"{reported.TABLE1['tight'][method.removesuffix(' on patches')]:.1f}",
        f"{before.accuracy:.1f}",
        f"{found.accuracy:.1f}",
        None if disputed is None else int(disputed[-1]),
    )


def _epochs(found: Result) -> list[float]:
    return [float(number + 1) for number in range(len(found.curves["disagreed"]))]

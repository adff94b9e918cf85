"""The paper's schedule, as far as it is printed: 400 epochs at a constant rate of 0.01."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ballotine_reproduction.charts import Line, chart
from ballotine_reproduction.experiment import Setting
from ballotine_reproduction.patepp import reported
from ballotine_reproduction.patepp.methods import case
from ballotine_reproduction.patepp.notes import schedule_note
from ballotine_reproduction.patepp.pools import pool_of
from ballotine_reproduction.patepp.trainings import Result, results
from ballotine_reproduction.summary import deviation
from ballotine_reproduction.table import Row, Table

COLUMNS = ("student", "paper, %", "as in Table I, %", "long, %", "in dispute at the end")
METHODS = ("original", "PATE+", "PATE++")


def long(setting: Setting) -> Table:
    """On patches, with a small network: a quarter of an hour for each seed."""
    return _at_length(setting, [f"{method} on patches" for method in METHODS])


def longer(setting: Setting) -> Table:
    """On pixels, with convolutions: hours, and it can be resumed."""
    return _at_length(setting, METHODS)


def _at_length(setting: Setting, methods: Sequence[str]) -> Table:
    """At the tight budget; a training that was interrupted is resumed.

    Args:
        setting: how the experiment is carried out.
        methods: the original student, PATE+ and PATE++.
    """
    pool, seeds = pool_of(setting), setting.seed_range()
    short = [case(method, "tight", seed) for method in methods for seed in seeds]
    both = results(setting, pool, [*short, *(replace(which, long=True) for which in short)])
    before, found = _by_method(both[: len(short)], seeds), _by_method(both[len(short) :], seeds)
    rows = tuple(map(_row, methods, before, found))
    notes = (
        *pool.notes,
        f"seeds: {len(seeds)}; tight budget; the paper's students see pixels",
        "in dispute: answered rows the two discriminators differed on in the last epoch, a mean",
        schedule_note(setting, long=True),
        "on patches the network is the small mlp",
    )
    lines = [
        Line(name, *_disputed(each[0]), colour=colour)
        for colour, (name, each) in enumerate(zip(methods[1:], found[1:], strict=True))
    ]
    panel = {"answered rows on which the two disagree, first seed": lines}
    figure = chart(panel, "epoch", "rows")
    title = f"The paper's schedule ({pool.name})"
    return Table(title, COLUMNS, rows, notes, {"disputed": figure})


def _by_method(found: list[Result], seeds: range) -> list[list[Result]]:
    return [found[start : start + len(seeds)] for start in range(0, len(found), len(seeds))]


def _row(method: str, before: list[Result], found: list[Result]) -> Row:
    disputed = [each.curves["disagreed"][-1] for each in found if "disagreed" in each.curves]
    return (
        method,
        f"{reported.TABLE1['tight'][method.removesuffix(' on patches')]:.1f}",
        deviation([each.accuracy for each in before]),
        deviation([each.accuracy for each in found]),
        round(sum(disputed) / len(disputed)) if disputed else None,
    )


def _disputed(found: Result) -> tuple[list[float], list[float]]:
    rows = found.curves["disagreed"]
    return [float(number + 1) for number in range(len(rows))], rows

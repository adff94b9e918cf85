"""Table I: students of answers at two noise levels, Fashion-MNIST."""

from __future__ import annotations

import numpy as np

from ballotine.voting import Tallies
from ballotine_reproduction.patepp import reported
from ballotine_reproduction.patepp.ensemble import CLASSES, teacher
from ballotine_reproduction.patepp.labelling import (
    DELTA,
    LEVELS,
    REASON,
    answered,
    epsilon_exact,
    epsilon_strict,
)
from ballotine_reproduction.patepp.methods import METHODS, case
from ballotine_reproduction.patepp.notes import CELLS, schedule_note
from ballotine_reproduction.patepp.pools import Pool, pool_of, seeds_of
from ballotine_reproduction.patepp.trainings import accuracies
from ballotine_reproduction.table import Cell, Setting, Table
from ballotine_reproduction.ttac.table1 import spread

COLUMNS = (
    "budget",
    "ε, paper",
    "ε, strict",
    "ε, exact",
    "right answers, %",
    "student",
    "paper, %",
    "ours, %",
)
_EPSILONS = (
    f"ε at δ = {DELTA:g}. Strict: data-independent, a check for each query and an argmax for each "
    "answer, the largest over seeds: the one that holds for a release. Exact: the exact two-sided "
    "cost of these very votes, mean over seeds; it is private until it is sanitised. The paper's "
    "is data-independent; its T and σ are not printed"
)


def table1(setting: Setting) -> Table:
    """Students' accuracies beside the paper's, with the ε of their answers."""
    pool = pool_of(setting)
    rows = students(setting, pool, tuple(LEVELS), tuple(METHODS), reported.TABLE1)
    title = f"Table I: students of few, partly wrong answers ({pool.name})"
    notes = (*level_notes(pool, tuple(LEVELS)), schedule_note(setting))
    return Table(title, COLUMNS, rows, (*notes, _ceiling_note(setting, pool)))


def students(
    setting: Setting,
    pool: Pool,
    levels: tuple[str, ...],
    names: tuple[str, ...],
    printed: dict[str, dict[str, float]],
) -> tuple[tuple[Cell, ...], ...]:
    """A row for each student of each level, beside what the paper prints."""
    seeds = seeds_of(setting)
    cells = [(level, method) for level in levels for method in names]
    cases = [case(method, level, seed) for level, method in cells for seed in seeds]
    found = np.reshape(accuracies(setting, pool, cases), (len(cells), len(seeds)))
    facts = {level: _facts(setting, pool, level, paper=bool(printed)) for level in levels}
    rows: list[tuple[Cell, ...]] = []
    for (level, method), ours in zip(cells, found, strict=True):
        paper = printed.get(level, {}).get(method)
        shown = None if paper is None else f"{paper:.1f}"
        rows.append((*facts[level], method, shown, spread(ours.tolist())))
    return tuple(rows)


def level_notes(pool: Pool, levels: tuple[str, ...]) -> tuple[str, ...]:
    """What was asked, how, and what cells hold."""
    return (*pool.notes, *map(_level_note, levels), CELLS, _EPSILONS)


def _facts(setting: Setting, pool: Pool, level: str, *, paper: bool) -> tuple[Cell, ...]:
    given = [answered(pool, level, seed, quick=setting.quick) for seed in seeds_of(setting)]
    return (
        level,
        f"{reported.EPSILONS[level]:.2f}" if paper else None,
        f"{max(map(epsilon_strict, given)):.2f}",
        f"{float(np.mean([epsilon_exact(pool, each) for each in given])):.2f}",
        spread([100.0 * each.right for each in given]),
    )


def _ceiling_note(setting: Setting, pool: Pool) -> str:
    """What the teachers and the number of rows allow, whatever the noise; nobody may see this."""
    plurality = Tallies.of(pool.ballots, CLASSES).unlock(reason=REASON).argmax(axis=1)
    reached: dict[str, list[float]] = {"plurality": [], "truth": []}
    for seed in seeds_of(setting):
        rows = answered(pool, "tight", seed, quick=setting.quick).rows
        for name, labels in (("plurality", plurality), ("truth", pool.y)):
            student = teacher().fit(pool.patches[rows], labels[rows])
            right = student.predict(pool.patches_test) == pool.y_test
            reached[name].append(100.0 * float(np.mean(right)))
    return (
        "without noise, from the same rows: an SVM on patches reaches "
        f"{spread(reached['plurality'])} % when taught the plurality of the votes, "
        f"{spread(reached['truth'])} % when taught the truth"
    )


def _level_note(level: str) -> str:
    mechanism = LEVELS[level]
    return (
        f"{level}: Confident-GNMax, T = {mechanism.threshold:g}, "
        f"σ1 = {mechanism.sigma_threshold:g}, σ2 = {mechanism.sigma:g}"
    )

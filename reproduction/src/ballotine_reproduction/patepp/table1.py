"""Table I: students of answers at two noise levels, Fashion-MNIST; the same on MNIST."""

from __future__ import annotations

import numpy as np

from ballotine_reproduction.experiment import Setting
from ballotine_reproduction.patepp import reported
from ballotine_reproduction.patepp.ensemble import CLASSES, VotedPool, teacher
from ballotine_reproduction.patepp.labelling import (
    DELTA,
    LEVELS,
    answered,
    epsilon_exact,
    epsilon_strict,
)
from ballotine_reproduction.patepp.methods import CHOICE, METHODS, case
from ballotine_reproduction.patepp.notes import CELLS, schedule_note
from ballotine_reproduction.patepp.pools import pool_of
from ballotine_reproduction.patepp.trainings import accuracies
from ballotine_reproduction.summary import deviation, percent_right, plurality
from ballotine_reproduction.table import Row, Table

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
MNIST_STUDENTS = ("SVM", "original", "PATE+", "PATE++", "SVM on patches", CHOICE)
MNIST_LEVELS = ("tight",)
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


def mnist(setting: Setting) -> Table:
    """Students on MNIST, which the paper does not have; everything else as in Table I."""
    pool = pool_of(setting, "mnist")
    rows = students(setting, pool, MNIST_LEVELS, MNIST_STUDENTS, {})
    title = f"Students of few, partly wrong answers ({pool.name})"
    return Table(title, COLUMNS, rows, (*level_notes(pool, MNIST_LEVELS), schedule_note(setting)))


def students(
    setting: Setting,
    pool: VotedPool,
    levels: tuple[str, ...],
    names: tuple[str, ...],
    printed: dict[str, dict[str, float]],
) -> tuple[Row, ...]:
    """A row for each student of each level, beside what the paper prints."""
    seeds = setting.seed_range()
    cells = [(level, method) for level in levels for method in names]
    cases = [case(method, level, seed) for level, method in cells for seed in seeds]
    found = np.reshape(accuracies(setting, pool, cases), (len(cells), len(seeds)))
    facts = {level: _facts(setting, pool, level, paper=bool(printed)) for level in levels}
    rows: list[Row] = []
    for (level, method), ours in zip(cells, found, strict=True):
        paper = printed.get(level, {}).get(method)
        shown = None if paper is None else f"{paper:.1f}"
        rows.append((*facts[level], method, shown, deviation(ours.tolist())))
    return tuple(rows)


def level_notes(pool: VotedPool, levels: tuple[str, ...]) -> tuple[str, ...]:
    """What was asked, how, and what the cells show."""
    return (*pool.notes, *map(_level_note, levels), CELLS, _EPSILONS)


def _facts(setting: Setting, pool: VotedPool, level: str, *, paper: bool) -> Row:
    given = [answered(pool, level, seed, quick=setting.quick) for seed in setting.seed_range()]
    return (
        level,
        f"{reported.EPSILONS[level]:.2f}" if paper else None,
        f"{max(map(epsilon_strict, given)):.2f}",
        f"{float(np.mean([epsilon_exact(pool, each) for each in given])):.2f}",
        deviation([100.0 * each.right for each in given]),
    )


def _ceiling_note(setting: Setting, pool: VotedPool) -> str:
    """What the teachers and the number of rows allow without noise; for experiments only."""
    taught = {
        "plurality": plurality(pool.ballots, CLASSES),
        "truth": pool.rows.y_public,
    }
    reached: dict[str, list[float]] = {name: [] for name in taught}
    for seed in setting.seed_range():
        rows = answered(pool, "tight", seed, quick=setting.quick).rows
        for name, labels in taught.items():
            student = teacher().fit(pool.patches[rows], labels[rows])
            right = percent_right(student.predict(pool.patches_test), pool.rows.y_test)
            reached[name].append(right)
    return (
        "without noise, from the same rows: an SVM on patches reaches "
        f"{deviation(reached['plurality'])} % when taught the plurality of the votes, "
        f"{deviation(reached['truth'])} % when taught the truth"
    )


def _level_note(level: str) -> str:
    mechanism = LEVELS[level]
    return (
        f"{level}: Confident-GNMax, T = {mechanism.threshold:g}, "
        f"σ1 = {mechanism.sigma_threshold:g}, σ2 = {mechanism.sigma:g}"
    )

"""Tables 5 and 7: labels by method when two groups split the data (MNIST and Adult)."""

from __future__ import annotations

from collections.abc import Mapping
from math import log

import numpy as np

from ballotine.types import FloatArray
from ballotine_reproduction.experiment import Setting
from ballotine_reproduction.individualized import reported, sets
from ballotine_reproduction.individualized.elections import (
    Method,
    balanced_weighting,
    standard,
    upsampling,
    vanishing,
    weighting,
    without_check,
)
from ballotine_reproduction.individualized.ensembles import Source, fresh, fresh_and_saved
from ballotine_reproduction.individualized.layout import QUARTERS
from ballotine_reproduction.individualized.reported import HIGHER, SHARES, Split
from ballotine_reproduction.individualized.tallied import COLUMNS, NOTES, Tallied, votings_of
from ballotine_reproduction.summary import notes
from ballotine_reproduction.table import Row, Table

METHODS: dict[str, Method] = {
    "upsampling": upsampling,
    "weighting": weighting,
    "weighting, balanced": balanced_weighting,
    "vanishing": vanishing,
}
BASELINES: dict[str, Method] = {"standard": standard, "standard GNMax": without_check}
_STANDARD = (
    "standard: Confident-GNMax with the smallest budget for everybody; standard GNMax: the same "
    "without the check"
)
_PROPORTIONAL = (
    "upsampling and weighting: factors and weights proportional to budgets (the paper's "
    "Appendix C); balanced: weights with which all budgets last equally long at strict costs"
)
_VANISHING = (
    "vanishing: 1/c⁴ of the queries at budget ratio c, votes not scaled up, noise and threshold "
    "scaled down to the number of voters"
)
_BOUND = (
    "fixed, exact, of upsampling with ten classes: a bound above the exact cost (Theorem 6 in "
    "both directions inside the exact law of the check), for two and more teachers can move in "
    "too many ways to try each; the exact cost would allow more"
)
_STRONGER = (
    "the paper's 257 and its weighting column seem to come from stronger teachers than its "
    "Table 3 prints (its public code names a VGG7); its upsampling column fits the printed ones: "
    "see docs/papers/individualized.md"
)
_SVC = (
    "fresh SVC: support vector machines on upright 14 × 14 images, 240 records each; as accurate "
    "as the paper's teachers (90.2 %)"
)
METHOD_NOTES = (_STANDARD, _PROPORTIONAL, _VANISHING)
MNIST_NOTES = (_BOUND, _STRONGER, _SVC)

Printed = Mapping[str, Mapping[Split, float]]


def table5(setting: Setting) -> Table:
    """Labels on MNIST by method and budget split."""
    pool = sets.mnist(setting)
    found, extra = fresh_and_saved(setting, pool, QUARTERS)
    rows = _rows(setting, found, reported.TABLE5, reported.TABLE5_BASELINE)
    title = f"Table 5: labels by method and budget split ({pool.name})"
    return _table(title, rows, notes(pool.notes, NOTES, METHOD_NOTES, extra, MNIST_NOTES))


def table7(setting: Setting) -> Table:
    """Labels on Adult by method and budget split."""
    pool = sets.adult(setting)
    found = [fresh(setting, pool, QUARTERS)]
    rows = _rows(setting, found, reported.TABLE7, reported.TABLE7_BASELINE)
    title = f"Table 7: labels by method and budget split ({pool.name})"
    return _table(title, rows, notes(pool.notes, NOTES, METHOD_NOTES))


def budgets_of(high: int, share: int) -> FloatArray:
    """A budget for each quarter: ln of the higher one for the first of them, ln 2 for others."""
    quarters = len(QUARTERS.edges)
    generous = np.arange(quarters) < share * quarters / 100
    return np.where(generous, log(high), reported.LOW)


def _table(title: str, rows: list[Row], remarks: tuple[str, ...]) -> Table:
    columns = ("teachers", "method", "higher budget", "share with it", *COLUMNS)
    return Table(title, columns, rows, remarks)


def _rows(setting: Setting, found: list[Source], printed: Printed, baseline: int) -> list[Row]:
    rows: list[Row] = []
    for source in found:
        cells = _vote(setting, source)
        for (method, split), cell in cells.items():
            if split is None:
                paper: float | None = baseline if method == "standard" else None
                rows.append((source.teachers, method, "–", "–", _whole(paper), *cell.cells()))
            else:
                high, share = split
                paper = printed.get(method, {}).get(split)
                where = (f"ln {high}", f"{share} %")
                rows.append((source.teachers, method, *where, _whole(paper), *cell.cells()))
    return rows


def _vote(setting: Setting, source: Source) -> dict[tuple[str, Split | None], Tallied]:
    votings = votings_of(setting)
    cells: dict[tuple[str, Split | None], Tallied] = {}
    methods = {name: m for name, m in METHODS.items() if source.shared or name != "upsampling"}
    higher = HIGHER[:1] if setting.quick else HIGHER
    splits = [(high, share) for high in higher for share in SHARES]
    for seed, ensemble in enumerate(source.ensembles):
        stage = f"{source.teachers}: votes, seed {seed}"
        number = len(BASELINES) + len(methods) * len(splits)
        with setting.progress.stage(stage, number) as advance:
            for name, method in BASELINES.items():
                cell = cells.setdefault((name, None), Tallied())
                cell.add(ensemble, method, budgets_of(4, 50), seed, votings)
                advance(1)
            for name, method in methods.items():
                for split in splits:
                    cell = cells.setdefault((name, split), Tallied())
                    cell.add(ensemble, method, budgets_of(*split), seed, votings)
                    advance(1)
    return cells


def _whole(number: float | None) -> int | None:
    return None if number is None else int(number)

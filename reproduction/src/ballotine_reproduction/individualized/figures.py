"""Figures 1 and 2: cost histories of upsampling, and labels against the weighted budget ratio."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import product
from math import log
from typing import TYPE_CHECKING

import numpy as np

from ballotine.progress import Advance
from ballotine.types import FloatArray, IntArray
from ballotine.voting.individual.convert import epsilons
from ballotine_reproduction.charts import Line, chart
from ballotine_reproduction.experiment import Setting
from ballotine_reproduction.individualized import reported, sets
from ballotine_reproduction.individualized.accounting import (
    PAPER_ORDERS,
    WAYS,
    paper_costs,
)
from ballotine_reproduction.individualized.elections import (
    DELTA,
    GroupElection,
    Method,
    SegmentVotes,
    name_of,
    standard,
    upsampling,
    weighting,
)
from ballotine_reproduction.individualized.ensembles import fresh
from ballotine_reproduction.individualized.layout import QUARTERS
from ballotine_reproduction.individualized.reported import LOW, SHARES
from ballotine_reproduction.individualized.tallied import (
    COLUMNS,
    NOTES,
    VOTINGS,
    Tallied,
    votings_of,
)
from ballotine_reproduction.individualized.two_groups import MNIST_NOTES, budgets_of
from ballotine_reproduction.summary import Interval, interval, notes
from ballotine_reproduction.table import Row, Table

if TYPE_CHECKING:
    import plotly.graph_objects as go

MOST_LABELS = 2000
POINTS = 100
HIGH = 8
COPIES = {"upsampling": (2, 3, 4), "weighting": (2, 3, 4, 5)}
Cells = dict[tuple[str, int, int], Tallied]
"""By method, share and ratio of budgets."""

METHODS: dict[str, Method] = {"upsampling": upsampling, "weighting": weighting}
_CONTRADICTION = (
    "the paper's Figure 1 calls 890 the labels of upsampling, its Table 5 gives 414 for it and "
    "890 for weighting"
)
_NO_NUMBERS = "the paper prints this figure without numbers: nearly linear"


@dataclass
class History:
    """One line of Figure 1: ε after each label, and labels when its budget is spent."""

    curves: list[FloatArray] = field(default_factory=list)
    labels: dict[str, list[float]] = field(default_factory=lambda: {way: [] for way in WAYS})


def figure1(setting: Setting) -> Table:
    """Privacy cost of the first 2,000 labels: standard against upsampling."""
    pool = sets.mnist(setting)
    histories = {name: History() for name in reported.FIGURE1}
    for seed, ensemble in enumerate(fresh(setting, pool, QUARTERS).ensembles):
        with setting.progress.stage(f"votes, seed {seed}", votings_of(setting)) as advance:
            _vote(histories, ensemble, seed, votings_of(setting), advance)
    rows: list[Row] = []
    for name, printed in reported.FIGURE1.items():
        budget = f"ln {HIGH}" if "higher" in name else "ln 2"
        ours = (interval(histories[name].labels[way]) for way in WAYS)
        rows.append((name, budget, printed, *ours))
    title = f"Figure 1: labels when a budget is spent, half with ln 8 ({pool.name})"
    remarks = notes(pool.notes, (_CONTRADICTION,), NOTES[:-1], MNIST_NOTES)
    figures = {"costs": _cost_chart(histories, pool.name)}
    return Table(title, ("line", "budget", *COLUMNS), rows, remarks, figures)


def _vote(
    histories: dict[str, History],
    ensemble: SegmentVotes,
    seed: int,
    votings: int,
    advance: Advance,
) -> None:
    """Add one ensemble's curves, and the mean of its labels."""
    counts: dict[tuple[str, str], list[int]] = {(n, w): [] for n in histories for w in WAYS}
    budgets = budgets_of(HIGH, 50)
    for voting in range(votings):
        own = VOTINGS * seed + voting
        asked = ensemble.shuffled(own)
        for name, election in _elections(upsampling(asked, budgets), standard(asked, budgets)):
            answers = election.answers(own)
            histories[name].curves.append(_by_label(election, answers))
            for way, count in WAYS.items():
                if way != "fixed" or voting == 0:
                    counts[name, way].append(count(election, answers).labels)
        advance(1)
    for (name, way), found in counts.items():
        histories[name].labels[way].append(float(np.mean(found)))


def _elections(upsampled: GroupElection, base: GroupElection) -> list[tuple[str, GroupElection]]:
    """Each line's election: the groups of upsampling one by one, and the standard one."""
    plan = upsampled.plan
    low, high = (
        GroupElection(replace(plan, groups=(plan.group(name_of(e)),)), upsampled.tallies)
        for e in (LOW, log(HIGH))
    )
    named = zip(reported.FIGURE1, (base, high, low), strict=True)
    return list(named)


def _by_label(election: GroupElection, answers: IntArray) -> FloatArray:
    """ε after each label, as the paper counts it."""
    (group,) = election.plan.groups
    total = np.cumsum(paper_costs(election, group.reach, answers), axis=0)
    labelled = np.flatnonzero(answers >= 0)[:MOST_LABELS]
    return epsilons(PAPER_ORDERS, total[labelled], DELTA, "classic")


def _cost_chart(histories: dict[str, History], name_of_set: str) -> go.Figure:
    lines = []
    for colour, (name, history) in enumerate(histories.items()):
        length = min(len(curve) for curve in history.curves)
        mean = np.mean([curve[:length] for curve in history.curves], axis=0)
        places = np.unique(np.linspace(0, length - 1, POINTS).astype(int))
        lines.append(Line(name, (places + 1).tolist(), mean[places].tolist(), colour=colour))
    title = f"Privacy cost of labels, paper's accounting ({name_of_set})"
    levels = {"budget ln 2": LOW, "budget ln 8": log(HIGH)}
    return chart({title: lines}, "labels", "ε at δ = 10⁻⁵", levels=levels)


def figure2(setting: Setting) -> Table:
    """Labels against the ratio of budgets, weighted with the groups' sizes."""
    pool = sets.mnist(setting)
    cells: Cells = {}
    votings = votings_of(setting)
    for seed, ensemble in enumerate(fresh(setting, pool, QUARTERS).ensembles):
        ratios = {m: c[:2] if setting.quick else c for m, c in COPIES.items()}
        jobs = [(m, s, c) for m in METHODS for s, c in product(SHARES, ratios[m])]
        with setting.progress.stage(f"votes, seed {seed}", len(jobs)) as advance:
            for name, share, ratio in jobs:
                cell = cells.setdefault((name, share, ratio), Tallied())
                budgets = np.where(budgets_of(HIGH, share) > LOW, float(ratio), 1.0)
                cell.add(ensemble, METHODS[name], budgets, seed, votings)
                advance(1)
    rows = tuple(
        (name, f"{share} %", f"1 and {ratio}", weighted_ratio(share, ratio), None, *cell.cells())
        for (name, share, ratio), cell in cells.items()
    )
    columns = ("method", "share with the higher", "budgets", "weighted ratio", *COLUMNS)
    title = f"Figure 2: labels against the weighted ratio of budgets ({pool.name})"
    remarks = notes(pool.notes, _fits(cells), (_NO_NUMBERS,), NOTES, MNIST_NOTES)
    return Table(title, columns, rows, remarks, {"ratio": _ratio_chart(cells, pool.name)})


def weighted_ratio(share: int, ratio: int) -> float:
    """(ε₁ · d₁) / (ε₀ · d₀), with shares d of the groups."""
    return ratio * share / (100 - share)


def mean_budget(share: int, ratio: int) -> float:
    """The mean budget of all records, when the lower one is 1."""
    return 1.0 + (ratio - 1) * share / 100


def _fits(cells: Cells) -> list[str]:
    """How well a straight line fits each method's points, and what fits better."""
    found = []
    for name in METHODS:
        mine = {key: cell for key, cell in cells.items() if key[0] == name}
        labels, ratios = _points(mine)
        if len(set(labels)) == 1:
            continue
        squares = [mean_budget(share, ratio) ** 2 for _, share, ratio in mine]
        slope, start = np.polyfit(ratios, labels, 1)
        straight, square = (np.corrcoef(labels, other)[0, 1] ** 2 for other in (ratios, squares))
        found.append(
            f"{name}: labels ≈ {start:.0f} + {slope:.0f} · weighted ratio, R² = {straight:.3f}; "
            f"against the square of the mean budget, R² = {square:.3f}"
        )
    return found


def _points(cells: Cells) -> tuple[list[float], list[float]]:
    """Mean labels and weighted ratios."""
    labels = [float(np.mean(cell.labels["paper"])) for cell in cells.values()]
    return labels, [weighted_ratio(share, ratio) for _, share, ratio in cells]


def _ratio_chart(cells: Cells, name_of_set: str) -> go.Figure:
    lines = []
    for colour, name in enumerate(METHODS):
        mine = {key: cell for key, cell in cells.items() if key[0] == name}
        x, y = _points(mine)
        half = [Interval.of(cell.labels["paper"]).half or 0.0 for cell in mine.values()]
        opened = name == "upsampling"
        lines.append(Line(name, x, y, half, colour=colour, mode="markers", open_circles=opened))
        ends = [min(x), max(x)]
        if ends[0] == ends[1]:
            continue
        slope, start = np.polyfit(x, y, 1)
        heights = [float(start + slope * end) for end in ends]
        lines.append(Line(f"{name}, straight line", ends, heights, colour=colour, dash="dot"))
    title = f"Labels against the weighted ratio of budgets, paper's accounting ({name_of_set})"
    return chart({title: lines}, "labels", "(ε₁ · d₁) / (ε₀ · d₀)")

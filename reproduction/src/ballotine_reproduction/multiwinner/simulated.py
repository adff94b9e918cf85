"""Figures 3 and 4: simulated votes, where Binary and Powerset voting each have their best case."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ballotine.privacy.guarantee import Budget
from ballotine.voting.multilabel.ballots import UNCLIPPED, ByteArray, LabelTallies, SubsetTallies
from ballotine_reproduction.charts import Line, chart
from ballotine_reproduction.experiment import Setting
from ballotine_reproduction.multiwinner.accounts import MODES
from ballotine_reproduction.multiwinner.affordable import BUDGET, repeatable
from ballotine_reproduction.multiwinner.elections import TEACHERS
from ballotine_reproduction.multiwinner.notes import ACCOUNTS
from ballotine_reproduction.multiwinner.votes import LabelVotes, SetVotes, Votes
from ballotine_reproduction.summary import Interval
from ballotine_reproduction.table import Row, Table

if TYPE_CHECKING:
    import plotly.graph_objects as go

SIGMA = 7.0
LABELS = 20
SMALL_BUDGET = Budget(2.0, 1e-5)
QUERIES = 400
QUICK_QUERIES = 50
EXPECTED = (
    "Numbers are how often the budget affords the mean cost of the simulated queries; there is no "
    "pool that could end."
)

NOTHING_SAID = (
    "With several random labels the exact cost of Powerset voting falls, because votes spread so "
    "thinly that almost any of the 2^20 sets may win: such answers cost and say next to nothing."
)


def figure3(setting: Setting) -> Table:
    """Some labels at random, all others absent for certain."""
    queries, seeds = (QUICK_QUERIES, 1) if setting.quick else (QUERIES, setting.seeds)
    random_labels = (0, 5, 20) if setting.quick else (0, 1, 2, 3, 4, 6, 8, 10, 12, 14, 16, 18, 20)
    found: dict[tuple[str, str], list[Interval]] = {}
    rows: list[Row] = []
    with setting.progress.stage("random labels", len(random_labels)) as advance:
        for number in random_labels:
            ballots = [votes_at_random(number, queries, seed) for seed in range(seeds)]
            rows += _counted(number, ballots, BUDGET, found)
            advance(1)
    setup = (
        f"{LABELS} labels, {TEACHERS} teachers, σ = {SIGMA:g}, budget {BUDGET}. Each teacher names "
        "each of the random labels with probability 1/2, and none of the others. "
        f"{queries} simulated queries; mean ± 95 % interval over {seeds} seeds."
    )
    said = (setup, EXPECTED, *ACCOUNTS, NOTHING_SAID)
    title = "Figure 3: answered queries when some labels are random (p = 1/2)"
    figure = _drawn("labels at random", random_labels, found)
    columns = ("random labels", "mechanism", *MODES)
    return Table(title, columns, rows, said, {"queries": figure})


def figure4(setting: Setting) -> Table:
    """All teachers name no label at all: the gap is as large as it can be."""
    steps = (1, 8, 20) if setting.quick else tuple(range(1, LABELS + 1))
    found: dict[tuple[str, str], list[Interval]] = {}
    rows: list[Row] = []
    for labels in steps:
        ballots = np.zeros((1, TEACHERS, labels), dtype=np.uint8)
        rows += _counted(labels, [ballots], SMALL_BUDGET, found)
    said = (
        f"{TEACHERS} teachers that all name no label, σ = {SIGMA:g}, budget {SMALL_BUDGET}.",
        EXPECTED,
        *ACCOUNTS,
    )
    title = "Figure 4: answered queries when all teachers agree on every label"
    figure = _drawn("labels", steps, found)
    return Table(title, ("labels", "mechanism", *MODES), rows, said, {"queries": figure})


def votes_at_random(random_labels: int, queries: int, seed: int) -> ByteArray:
    """Ballots that name each of the first labels with probability 1/2, the others never."""
    generator = np.random.default_rng([seed, random_labels])
    ballots = np.zeros((queries, TEACHERS, LABELS), dtype=np.uint8)
    shape = (queries, TEACHERS, random_labels)
    ballots[..., :random_labels] = generator.integers(0, 2, shape, dtype=np.uint8)
    return ballots


def _counted(
    step: int,
    drawn: Sequence[ByteArray],
    budget: Budget,
    found: dict[tuple[str, str], list[Interval]],
) -> list[Row]:
    """Rows for one step; the lines of the figure grow along."""
    rows: list[Row] = []
    rules: dict[str, list[Votes]] = {
        "Binary": [LabelVotes(LabelTallies.from_ballots(each, UNCLIPPED)) for each in drawn],
        "Powerset": [SetVotes(SubsetTallies.from_ballots(each)) for each in drawn],
    }
    for name, votes in rules.items():
        spreads = {
            "paper": [repeatable(v.paper(SIGMA).mean(axis=0), budget, "classic") for v in votes],
            "strict": [repeatable(v.strict(SIGMA), budget) for v in votes],
            "fixed": [repeatable(v.exact(SIGMA).mean(axis=0), budget) for v in votes],
        }
        for mode, numbers in spreads.items():
            found.setdefault((name, mode), []).append(Interval.of(numbers))
        rows.append((step, name, *(Interval.of(spreads[mode]).brief() for mode in MODES)))
    return rows


def _drawn(
    x_title: str, steps: Sequence[int], found: dict[tuple[str, str], list[Interval]]
) -> go.Figure:
    colours = {"Binary": 0, "Powerset": 1}
    lines = [
        Line.of_intervals(f"{name}, {mode}", steps, heights, dash=MODES[mode], colour=colours[name])
        for (name, mode), heights in found.items()
    ]
    return chart({"": lines}, x_title, "answered queries", logarithmic=True)

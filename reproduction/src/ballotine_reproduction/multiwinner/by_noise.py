"""Figures 1, 8, 14 and 15: answered queries and quality against the noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from ballotine.metrics import MultiLabelScores
from ballotine_reproduction.multiwinner.accounts import (
    Afforded,
    Rule,
    afforded,
    binary,
    clipped,
    powerset,
)
from ballotine_reproduction.multiwinner.affordable import BUDGET
from ballotine_reproduction.multiwinner.elections import LabelElection, elections
from ballotine_reproduction.multiwinner.plots import Line, chart
from ballotine_reproduction.multiwinner.sets import TMC2007, Profile, profiles
from ballotine_reproduction.multiwinner.summary import (
    ACCOUNTS,
    JUDGED,
    METRICS,
    POOL,
    Spread,
    counted,
    judge,
    judged,
    notes,
)
from ballotine_reproduction.table import Cell, Setting, Table

SIGMAS = (1, 2, 3, 5, 7, 9, 12, 15, 20, 25, 30)
QUICK_SIGMAS = (2, 5, 10)
FIRST_LABELS = 11
"""On how many labels Figure 8 compares Binary with Powerset voting, as in the paper."""

SELECTED = {"Pascal VOC": 9.0, "CheXpert": 7.0}
"""σ that Figures 1 and 15 mark: the paper's choice for the set that ours stands for."""


@dataclass(frozen=True)
class Point:
    """One mechanism of one set at one noise, over all seeds."""

    profile: Profile
    mechanism: str
    sigma: float
    pool: int
    counts: Sequence[Afforded]
    scores: Sequence[MultiLabelScores]

    def height(self, what: str) -> Spread:
        """Answered queries by one account."""
        return Spread.of([getattr(each, what) for each in self.counts])

    def quality(self, metric: str) -> Spread:
        """One of the metrics."""
        return Spread.of([getattr(each, metric.lower()) for each in self.scores])


def figure1(setting: Setting) -> Table:
    """Answered queries and quality of Binary and τ voting, on all sets."""
    return _queries_against_noise("Figure 1", setting, *profiles(setting))


def figure15(setting: Setting) -> Table:
    """The same for the set that stands for Pascal VOC alone."""
    return _queries_against_noise("Figure 15", setting, *profiles(setting, TMC2007))


def figure8(setting: Setting) -> Table:
    """Quality of Binary and Powerset voting against the noise."""
    rules = {"Binary": binary, "Powerset": powerset()}
    points = []
    for profile in profiles(setting):
        held = [e.first_labels(min(FIRST_LABELS, e.labels)) for e in elections(profile, setting)]
        points += _swept(profile, held, rules, setting, count=False)
    title = f"Figure 8: quality against noise on the first {FIRST_LABELS} labels (scene has 6)"
    return _quality_table(title, setting, points)


def figure14(setting: Setting) -> Table:
    """Quality of Binary voting on all labels against the noise."""
    points = []
    for profile in profiles(setting):
        held = elections(profile, setting)
        points += _swept(profile, held, {"Binary": binary}, setting, count=False)
    return _quality_table("Figure 14: quality of Binary voting against noise", setting, points)


def _swept(
    profile: Profile,
    held: Sequence[LabelElection],
    rules: dict[str, Rule],
    setting: Setting,
    *,
    count: bool,
) -> list[Point]:
    sigmas = QUICK_SIGMAS if setting.quick else SIGMAS
    points = []
    with setting.progress.stage(f"σ {profile.title}", len(rules) * len(sigmas)) as advance:
        for name, rule in rules.items():
            votes = [rule(election) for election in held]
            for sigma in sigmas:
                counts = [afforded(each, sigma, BUDGET) for each in votes] if count else []
                scores = [judge(e, v, sigma) for e, v in zip(held, votes, strict=True)]
                points.append(Point(profile, name, sigma, held[0].queries, counts, scores))
                advance(1)
    return points


def _queries_against_noise(name: str, setting: Setting, *wanted: Profile) -> Table:
    points: list[Point] = []
    for profile in wanted:
        rules = {
            "Binary": binary,
            "τ, l2": clipped(profile.tau),
            "τ, l1": clipped(profile.tau_l1, "l1"),
        }
        points += _swept(profile, elections(profile, setting), rules, setting, count=True)
    rows = tuple(_counts_row(point) for point in points)
    columns = ("set", "mechanism", "σ", "claimed", "paper", "strict", "fixed", *METRICS)
    taus = "; ".join(f"{p.title}: {p.tau:g} (l2), {p.tau_l1:g} (l1)" for p in wanted)
    remarks = notes(
        setting,
        BUDGET,
        f"τ: {taus}. The line marks the paper's σ: 9 for Pascal VOC, 7 for CheXpert.",
        "claimed: the paper's data-independent costs (its L2-DI and L1-DI), classic conversion.",
        *ACCOUNTS,
        POOL,
        JUDGED,
    )
    title = f"{name}: answered queries and quality against the noise"
    figures = {
        "paper": _drawn(points, {"paper": "solid", "claimed": "dot"}, wanted),
        "true": _drawn(points, {"fixed": "solid", "strict": "dash"}, wanted),
        "quality": _quality_chart([p for p in points if p.mechanism == "τ, l2"]),
    }
    return Table(title, columns, rows, remarks, figures)


def _counts_row(point: Point) -> tuple[Cell, ...]:
    cells = [
        counted([getattr(each, how) for each in point.counts], point.pool)
        for how in ("claimed", "paper", "strict", "fixed")
    ]
    return (point.profile.title, point.mechanism, point.sigma, *cells, *judged(point.scores))


def _drawn(
    points: Sequence[Point], accounts: dict[str, str], wanted: Sequence[Profile]
) -> go.Figure:
    panels: dict[str, list[Line]] = {}
    for profile in wanted:
        lines = panels.setdefault(profile.title, [])
        for colour, mechanism in enumerate(dict.fromkeys(p.mechanism for p in points)):
            mine = [p for p in points if (p.profile, p.mechanism) == (profile, mechanism)]
            sigmas = [point.sigma for point in mine]
            for how, dash in accounts.items():
                heights = [point.height(how) for point in mine]
                lines.append(Line(f"{mechanism}, {how}", sigmas, heights, dash, colour))
    marks = {p.title: SELECTED[p.stands_for] for p in wanted if p.stands_for in SELECTED}
    return chart(panels, "σ", "answered queries", logarithmic=True, mark=marks)


def _quality_table(title: str, setting: Setting, points: Sequence[Point]) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (point.profile.title, point.mechanism, point.sigma, *judged(point.scores))
        for point in points
    ]
    remarks = notes(setting, None, JUDGED)
    columns = ("set", "mechanism", "σ", *METRICS)
    return Table(title, columns, tuple(rows), remarks, {"quality": _quality_chart(points)})


def _quality_chart(points: Sequence[Point]) -> go.Figure:
    panels: dict[str, list[Line]] = {}
    mechanisms = list(dict.fromkeys(point.mechanism for point in points))
    for title in dict.fromkeys(point.profile.title for point in points):
        lines = panels.setdefault(title, [])
        for mechanism, dash in zip(mechanisms, ("solid", "dot"), strict=False):
            mine = [p for p in points if (p.profile.title, p.mechanism) == (title, mechanism)]
            sigmas = [point.sigma for point in mine]
            for colour, metric in enumerate(("ACC", "BAC", "mAP")):
                heights = [point.quality(metric) for point in mine]
                lines.append(Line(f"{mechanism}: {metric}", sigmas, heights, dash, colour))
    return chart(panels, "σ", "metric")

"""Figures 1, 8, 14 and 15: answered queries and quality against the noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ballotine_reproduction.charts import Line, chart
from ballotine_reproduction.experiment import Setting
from ballotine_reproduction.multiwinner import notes
from ballotine_reproduction.multiwinner.accounts import (
    BINARY_AND_POWERSET,
    METRICS,
    MechanismOutcome,
    Rule,
    binary,
    clipped,
    outcome,
    query_lines,
)
from ballotine_reproduction.multiwinner.affordable import BUDGET
from ballotine_reproduction.multiwinner.elections import LabelElection, elections
from ballotine_reproduction.multiwinner.sets import TMC2007, Profile, profiles
from ballotine_reproduction.table import Row, Table

if TYPE_CHECKING:
    import plotly.graph_objects as go

SIGMAS = (1, 2, 3, 5, 7, 9, 12, 15, 20, 25, 30)
QUICK_SIGMAS = (2, 5, 10)
FIRST_LABELS = 11
"""On how many labels Figure 8 compares Binary with Powerset voting, as in the paper."""

SELECTED = {"Pascal VOC": 9.0, "CheXpert": 7.0}
"""σ that Figures 1 and 15 mark: the paper's choice for the set that ours stands for."""

ACCOUNTED = ("claimed", "paper", "strict", "fixed")


@dataclass(frozen=True)
class Sweep:
    """One mechanism of one set at every noise."""

    profile: Profile
    mechanism: str
    outcomes: Sequence[MechanismOutcome]
    sigmas: Sequence[float]

    def rows(self, *accounts: str) -> list[Row]:
        """A row for every noise, with the queries that these accounts allow."""
        return [
            (
                *(self.profile.title, self.mechanism, each.sigma),
                *(each.counted(*accounts) if accounts else ()),
                *each.judged(),
            )
            for each in self.outcomes
        ]


def figure1(setting: Setting) -> Table:
    """Answered queries and quality of Binary and τ voting, on all sets."""
    return _queries_against_noise("Figure 1", setting, *profiles(setting))


def figure15(setting: Setting) -> Table:
    """The same for the set that stands for Pascal VOC alone."""
    return _queries_against_noise("Figure 15", setting, *profiles(setting, TMC2007))


def figure8(setting: Setting) -> Table:
    """Quality of Binary and Powerset voting against the noise."""
    sweeps = []
    for profile in profiles(setting):
        held = [e.first_labels(min(FIRST_LABELS, e.labels)) for e in elections(profile, setting)]
        sweeps += _swept(profile, held, BINARY_AND_POWERSET, setting, count=False)
    title = f"Figure 8: quality against noise on the first {FIRST_LABELS} labels (scene has 6)"
    return _quality_table(title, setting, sweeps)


def figure14(setting: Setting) -> Table:
    """Quality of Binary voting on all labels against the noise."""
    sweeps = []
    for profile in profiles(setting):
        held = elections(profile, setting)
        sweeps += _swept(profile, held, {"Binary": binary}, setting, count=False)
    return _quality_table("Figure 14: quality of Binary voting against noise", setting, sweeps)


def _swept(
    profile: Profile,
    held: Sequence[LabelElection],
    rules: dict[str, Rule],
    setting: Setting,
    *,
    count: bool,
) -> list[Sweep]:
    sigmas = QUICK_SIGMAS if setting.quick else SIGMAS
    sweeps = []
    with setting.progress.stage(f"σ {profile.title}", len(rules)) as advance:
        for name, rule in rules.items():
            votes = [rule(election) for election in held]
            found = [outcome(held, votes, sigma, BUDGET if count else None) for sigma in sigmas]
            sweeps.append(Sweep(profile, name, found, sigmas))
            advance(1)
    return sweeps


def _queries_against_noise(name: str, setting: Setting, *wanted: Profile) -> Table:
    sweeps: list[Sweep] = []
    for profile in wanted:
        rules = {
            "Binary": binary,
            "τ, l2": clipped(profile.tau),
            "τ, l1": clipped(profile.tau_l1, "l1"),
        }
        sweeps += _swept(profile, elections(profile, setting), rules, setting, count=True)
    rows = [row for sweep in sweeps for row in sweep.rows(*ACCOUNTED)]
    taus = "; ".join(f"{p.title}: {p.tau:g} (l2), {p.tau_l1:g} (l1)" for p in wanted)
    remarks = notes.about(
        setting,
        BUDGET,
        f"τ: {taus}. The line marks the paper's σ: 9 for Pascal VOC, 7 for CheXpert.",
        "claimed: the paper's data-independent costs (its L2-DI and L1-DI), classic conversion.",
        *notes.ACCOUNTS,
        notes.POOL,
        notes.JUDGED,
    )
    title = f"{name}: answered queries and quality against the noise"
    figures = {
        "paper": _query_chart(sweeps, {"paper": "solid", "claimed": "dot"}),
        "true": _query_chart(sweeps, {"fixed": "solid", "strict": "dash"}),
        "quality": _quality_chart([sweep for sweep in sweeps if sweep.mechanism == "τ, l2"]),
    }
    return Table(title, ("set", "mechanism", "σ", *ACCOUNTED, *METRICS), rows, remarks, figures)


def _query_chart(sweeps: Sequence[Sweep], accounts: dict[str, str]) -> go.Figure:
    panels: dict[str, list[Line]] = {}
    marks = {}
    for sweep in sweeps:
        lines = panels.setdefault(sweep.profile.title, [])
        colour = len(lines) // len(accounts)
        lines += query_lines(sweep.mechanism, sweep.sigmas, sweep.outcomes, colour, accounts)
        if sweep.profile.stands_for in SELECTED:
            marks[sweep.profile.title] = SELECTED[sweep.profile.stands_for]
    return chart(panels, "σ", "answered queries", logarithmic=True, marks=marks)


def _quality_table(title: str, setting: Setting, sweeps: Sequence[Sweep]) -> Table:
    rows = [row for sweep in sweeps for row in sweep.rows()]
    remarks = notes.about(setting, None, notes.JUDGED)
    figures = {"quality": _quality_chart(sweeps)}
    return Table(title, ("set", "mechanism", "σ", *METRICS), rows, remarks, figures)


def _quality_chart(sweeps: Sequence[Sweep]) -> go.Figure:
    panels: dict[str, list[Line]] = {}
    for sweep in sweeps:
        lines = panels.setdefault(sweep.profile.title, [])
        dash = "dot" if lines else "solid"
        for colour, metric in enumerate(("ACC", "BAC", "mAP")):
            heights = [each.quality(metric) for each in sweep.outcomes]
            name = f"{sweep.mechanism}: {metric}"
            line = Line.of_intervals(name, sweep.sigmas, heights, dash=dash, colour=colour)
            lines.append(line)
    return chart(panels, "σ", "metric")

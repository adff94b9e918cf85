"""Tables 5 and 6 and Figure 7: Binary against Powerset voting on the first k labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from ballotine.metrics import MultiLabelScores
from ballotine_reproduction.multiwinner import reported
from ballotine_reproduction.multiwinner.accounts import (
    Afforded,
    Rule,
    afforded,
    binary,
    count_cells,
    largest_noise,
    mean_scores,
    powerset,
)
from ballotine_reproduction.multiwinner.affordable import BUDGET
from ballotine_reproduction.multiwinner.elections import elections
from ballotine_reproduction.multiwinner.plots import MODES, Line, chart
from ballotine_reproduction.multiwinner.sets import SCENE, TMC2007, YEAST, Profile, profiles
from ballotine_reproduction.multiwinner.summary import (
    ACCOUNTS,
    JUDGED,
    METRICS,
    POOL,
    PRINTED,
    TUNED,
    Spread,
    judge,
    judged,
    notes,
)
from ballotine_reproduction.table import Cell, Setting, Table

RULES: dict[str, Rule] = {"Binary": binary, "Powerset": powerset()}
LABELS: dict[str, tuple[int, ...]] = {
    TMC2007.name: (1, 2, 3, 5, 8, 11, 14, 15, 16, 18, 20, 22),
    YEAST.name: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 14),
    SCENE.name: (1, 2, 3, 4, 5, 6),
}
QUICK_LABELS = (1, 4, 8)
COLUMNS = ("set", "labels", "mechanism", "σ", "paper", "strict", "fixed", *METRICS)


@dataclass(frozen=True)
class Compared:
    """One mechanism on the first labels of one set, over all seeds."""

    profile: Profile
    labels: int
    mechanism: str
    sigma: float
    pool: int
    counts: Sequence[Afforded]
    scores: Sequence[MultiLabelScores]

    def row(self) -> tuple[Cell, ...]:
        """What a table says about it, the printed numbers last."""
        found = reported.BY_LABELS.get(self.profile.stands_for, {})
        queries, sigma = found.get((self.mechanism, self.labels), (None, None))
        cells = (*count_cells(self.counts, self.pool), *judged(self.scores))
        head = (self.profile.title, self.labels, self.mechanism, self.sigma)
        return (*head, *cells, queries, sigma)


def compare(profile: Profile, setting: Setting) -> list[Compared]:
    """Both mechanisms on more and more labels of a set, each at its own noise."""
    held = elections(profile, setting)
    steps = LABELS.get(profile.name, QUICK_LABELS)
    found = []
    with setting.progress.stage(f"labels {profile.title}", len(steps)) as advance:
        for labels in steps:
            chosen = [election.first_labels(labels) for election in held]
            target = mean_scores(chosen, [binary(e) for e in chosen], None)
            for mechanism, rule in RULES.items():
                votes = [rule(election) for election in chosen]
                sigma = largest_noise(chosen, votes, target)
                counts = [afforded(each, sigma, BUDGET) for each in votes]
                scores = [judge(e, v, sigma) for e, v in zip(chosen, votes, strict=True)]
                pool = chosen[0].queries
                found.append(Compared(profile, labels, mechanism, sigma, pool, counts, scores))
            advance(1)
    return found


def table5(setting: Setting) -> Table:
    """Teachers that disagree: yeast and scene in the place of CheXpert."""
    return _table("Table 5", "CheXpert", setting, YEAST, SCENE)


def table6(setting: Setting) -> Table:
    """Teachers that agree: tmc2007 in the place of Pascal VOC."""
    return _table("Table 6", "Pascal VOC", setting, TMC2007)


def figure7(setting: Setting) -> Table:
    """Answered queries against the number of labels, on all sets."""
    found = [each for p in profiles(setting) for each in compare(p, setting)]
    title = "Figure 7: answered queries on the first k labels, Binary against Powerset"
    remarks = notes(setting, BUDGET, *ACCOUNTS, POOL, TUNED, JUDGED)
    rows = tuple(each.row()[: len(COLUMNS)] for each in found)
    return Table(title, COLUMNS, rows, remarks, {"queries": _drawn(found)})


def _table(name: str, sets: str, setting: Setting, *wanted: Profile) -> Table:
    found = [each for p in profiles(setting, *wanted) for each in compare(p, setting)]
    title = f"{name}: Binary against Powerset voting on the first k labels"
    remarks = notes(setting, BUDGET, *ACCOUNTS, POOL, TUNED, JUDGED, PRINTED.format(sets=sets))
    columns = (*COLUMNS, "printed", "printed σ")
    rows = tuple(each.row() for each in found)
    return Table(title, columns, rows, remarks, {"queries": _drawn(found)})


def _drawn(found: Sequence[Compared]) -> go.Figure:
    panels: dict[str, list[Line]] = {}
    for title in dict.fromkeys(each.profile.title for each in found):
        lines = panels.setdefault(title, [])
        for colour, mechanism in enumerate(RULES):
            mine = [e for e in found if (e.profile.title, e.mechanism) == (title, mechanism)]
            for mode, dash in MODES.items():
                heights = [Spread.of([getattr(c, mode) for c in each.counts]) for each in mine]
                steps = [each.labels for each in mine]
                lines.append(Line(f"{mechanism}, {mode}", steps, heights, dash, colour))
    return chart(panels, "first k labels", "answered queries", logarithmic=True)

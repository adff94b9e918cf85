"""Tables 5 and 6 and Figure 7: Binary against Powerset voting on the first k labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ballotine_reproduction.charts import Line, chart
from ballotine_reproduction.experiment import Setting
from ballotine_reproduction.multiwinner import notes, reported
from ballotine_reproduction.multiwinner.accounts import (
    BINARY_AND_POWERSET,
    METRICS,
    MODES,
    MechanismOutcome,
    binary,
    largest_noise,
    mean_scores,
    outcome,
    query_lines,
)
from ballotine_reproduction.multiwinner.affordable import BUDGET
from ballotine_reproduction.multiwinner.elections import elections
from ballotine_reproduction.multiwinner.sets import SCENE, TMC2007, YEAST, Profile, profiles
from ballotine_reproduction.table import Row, Table

if TYPE_CHECKING:
    import plotly.graph_objects as go

LABELS: dict[str, tuple[int, ...]] = {
    TMC2007.name: (1, 2, 3, 5, 8, 11, 14, 15, 16, 18, 20, 22),
    YEAST.name: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 14),
    SCENE.name: (1, 2, 3, 4, 5, 6),
}
QUICK_LABELS = (1, 4, 8)
COLUMNS = ("set", "labels", "mechanism", "σ", *MODES, *METRICS)


@dataclass(frozen=True)
class Compared:
    """One mechanism on the first labels of one set."""

    profile: Profile
    labels: int
    mechanism: str
    outcome: MechanismOutcome

    def row(self) -> Row:
        """What a table says about it, the printed numbers last."""
        found = reported.BY_LABELS.get(self.profile.stands_for, {})
        queries, sigma = found.get((self.mechanism, self.labels), (None, None))
        head = (self.profile.title, self.labels, self.mechanism, self.outcome.sigma)
        return (*head, *self.outcome.counted(), *self.outcome.judged(), queries, sigma)


def compare(profile: Profile, setting: Setting) -> list[Compared]:
    """Both mechanisms on increasing numbers of labels, each at its own noise."""
    held = elections(profile, setting)
    steps = LABELS.get(profile.name, QUICK_LABELS)
    found = []
    with setting.progress.stage(f"labels {profile.title}", len(steps)) as advance:
        for labels in steps:
            chosen = [election.first_labels(labels) for election in held]
            target = mean_scores(chosen, [binary(e) for e in chosen], None)
            for mechanism, rule in BINARY_AND_POWERSET.items():
                votes = [rule(election) for election in chosen]
                reached = outcome(chosen, votes, largest_noise(chosen, votes, target))
                found.append(Compared(profile, labels, mechanism, reached))
            advance(1)
    return found


def table5(setting: Setting) -> Table:
    """Teachers that disagree: yeast and scene instead of CheXpert."""
    return _table("Table 5", "CheXpert", setting, YEAST, SCENE)


def table6(setting: Setting) -> Table:
    """Teachers that agree: tmc2007 instead of Pascal VOC."""
    return _table("Table 6", "Pascal VOC", setting, TMC2007)


def figure7(setting: Setting) -> Table:
    """Answered queries against the number of labels, on all sets."""
    found = [each for p in profiles(setting) for each in compare(p, setting)]
    title = "Figure 7: answered queries on the first k labels, Binary against Powerset"
    rows = [each.row()[: len(COLUMNS)] for each in found]
    return Table(title, COLUMNS, rows, _notes(setting), {"queries": _drawn(found)})


def _table(name: str, sets: str, setting: Setting, *wanted: Profile) -> Table:
    found = [each for p in profiles(setting, *wanted) for each in compare(p, setting)]
    title = f"{name}: Binary against Powerset voting on the first k labels"
    remarks = (*_notes(setting), notes.printed(sets))
    columns = (*COLUMNS, "printed", "printed σ")
    return Table(
        title, columns, [each.row() for each in found], remarks, {"queries": _drawn(found)}
    )


def _notes(setting: Setting) -> tuple[str, ...]:
    return notes.about(setting, BUDGET, *notes.ACCOUNTS, notes.POOL, notes.TUNED, notes.JUDGED)


def _drawn(found: Sequence[Compared]) -> go.Figure:
    panels: dict[str, list[Line]] = {}
    for title in dict.fromkeys(each.profile.title for each in found):
        lines = panels.setdefault(title, [])
        for colour, mechanism in enumerate(BINARY_AND_POWERSET):
            mine = [e for e in found if (e.profile.title, e.mechanism) == (title, mechanism)]
            steps = [each.labels for each in mine]
            lines += query_lines(mechanism, steps, [each.outcome for each in mine], colour)
    return chart(panels, "first k labels", "answered queries", logarithmic=True)

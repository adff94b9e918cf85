"""Figures 9, 10 and 11: how far winners lie ahead, Binary against Powerset voting."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ballotine.types import FloatArray
from ballotine_reproduction.charts import Line, chart
from ballotine_reproduction.experiment import Setting
from ballotine_reproduction.multiwinner import notes
from ballotine_reproduction.multiwinner.accounts import BINARY_AND_POWERSET, METRICS, outcome
from ballotine_reproduction.multiwinner.elections import elections
from ballotine_reproduction.multiwinner.sets import SCENE, TMC2007, YEAST, Profile, profiles
from ballotine_reproduction.summary import Interval
from ballotine_reproduction.table import Row, Table

PRIVATE = "Gaps are raw votes without noise: an experiment may show them, a real run must not."
PRINTED_GAPS = {("Powerset", "Pascal VOC"): 18.0, ("Powerset", "CheXpert"): 13.0}
LARGE = 40


def figure9(setting: Setting) -> Table:
    """The distribution of gaps."""
    rows: list[Row] = []
    panels: dict[str, list[Line]] = {}
    for profile in profiles(setting):
        held = elections(profile, setting)
        steps = tuple(range(held[0].teachers + 1))
        for colour, (name, rule) in enumerate(BINARY_AND_POWERSET.items()):
            gaps = [rule(election).gaps().ravel() for election in held]
            below = [_distribution(each, steps) for each in gaps]
            heights = [Interval.of(column) for column in zip(*below, strict=True)]
            line = Line.of_intervals(name, steps, heights, colour=colour, mode="steps")
            panels.setdefault(profile.title, []).append(line)
            rows.append(
                (
                    profile.title,
                    name,
                    Interval.of([float(each.mean()) for each in gaps]).brief(1),
                    Interval.of([float((each > LARGE).mean()) for each in gaps]).brief(3),
                    PRINTED_GAPS.get((name, profile.stands_for)),
                )
            )
    columns = ("set", "mechanism", "mean gap", f"share above {LARGE}", "printed mean gap")
    remarks = notes.about(setting, None, PRIVATE, notes.printed("Pascal VOC and CheXpert"))
    figure = chart(panels, "gap in votes", "share of gaps up to it")
    title = "Figure 9: gaps between the winner and the next"
    return Table(title, columns, rows, remarks, {"distribution": figure})


def figure10(setting: Setting) -> Table:
    """Gaps and quality without noise on the first k labels: tmc2007 for Pascal VOC."""
    return _by_labels("Figure 10", setting, TMC2007)


def figure11(setting: Setting) -> Table:
    """The same: yeast and scene for CheXpert."""
    return _by_labels("Figure 11", setting, YEAST, SCENE)


def _distribution(gaps: FloatArray, steps: Sequence[int]) -> list[float]:
    ranked = np.sort(gaps)
    return [float(share) for share in np.searchsorted(ranked, steps, side="right") / ranked.size]


def _by_labels(name: str, setting: Setting, *wanted: Profile) -> Table:
    rows: list[Row] = []
    gap_panels: dict[str, list[Line]] = {}
    quality_panels: dict[str, list[Line]] = {}
    for profile in profiles(setting, *wanted):
        held = elections(profile, setting)
        steps = range(1, held[0].labels + 1)
        for colour, (mechanism, rule) in enumerate(BINARY_AND_POWERSET.items()):
            gaps, quality = [], []
            for labels in steps:
                chosen = [election.first_labels(labels) for election in held]
                votes = [rule(election) for election in chosen]
                gaps.append(Interval.of([float(each.gaps().mean()) for each in votes]))
                found = outcome(chosen, votes, None)
                quality.append(found.quality("BAC"))
                head = (profile.title, labels, mechanism, gaps[-1].brief(1))
                rows.append((*head, *found.judged()))
            for panels, heights in ((gap_panels, gaps), (quality_panels, quality)):
                line = Line.of_intervals(mechanism, steps, heights, colour=colour)
                panels.setdefault(profile.title, []).append(line)
    remarks = notes.about(setting, None, PRIVATE, notes.JUDGED_WITHOUT_NOISE)
    figures = {
        "gaps": chart(gap_panels, "first k labels", "mean gap in votes"),
        "quality": chart(quality_panels, "first k labels", "BAC without noise"),
    }
    title = f"{name}: gaps and quality without noise on the first k labels"
    columns = ("set", "labels", "mechanism", "mean gap", *METRICS)
    return Table(title, columns, rows, remarks, figures)

"""Figures 9, 10 and 11: how far winners lie ahead, Binary against Powerset voting."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ballotine.types import FloatArray
from ballotine_reproduction.multiwinner.accounts import Rule, binary, powerset
from ballotine_reproduction.multiwinner.elections import elections
from ballotine_reproduction.multiwinner.plots import Line, chart
from ballotine_reproduction.multiwinner.sets import SCENE, TMC2007, YEAST, Profile, profiles
from ballotine_reproduction.multiwinner.summary import (
    JUDGED,
    METRICS,
    PRINTED,
    Spread,
    judge,
    judged,
    notes,
)
from ballotine_reproduction.table import Cell, Setting, Table

RULES: dict[str, Rule] = {"Binary": binary, "Powerset": powerset()}
PRIVATE = "Gaps are raw votes without noise: an experiment may show them, a real run must not."
PRINTED_GAPS = {("Powerset", "Pascal VOC"): 18.0, ("Powerset", "CheXpert"): 13.0}
LARGE = 40


def figure9(setting: Setting) -> Table:
    """The distribution of gaps."""
    rows: list[tuple[Cell, ...]] = []
    panels: dict[str, list[Line]] = {}
    for profile in profiles(setting):
        held = elections(profile, setting)
        steps = tuple(range(held[0].teachers + 1))
        for colour, (name, rule) in enumerate(RULES.items()):
            gaps = [rule(election).gaps().ravel() for election in held]
            below = [_distribution(each, steps) for each in gaps]
            heights = [Spread.of(column) for column in zip(*below, strict=True)]
            line = Line(name, steps, heights, colour=colour, markers=False)
            panels.setdefault(profile.title, []).append(line)
            rows.append(
                (
                    profile.title,
                    name,
                    Spread.of([float(each.mean()) for each in gaps]).text(1),
                    Spread.of([float((each > LARGE).mean()) for each in gaps]).text(3),
                    PRINTED_GAPS.get((name, profile.stands_for)),
                )
            )
    columns = ("set", "mechanism", "mean gap", f"share above {LARGE}", "printed mean gap")
    remarks = notes(setting, None, PRIVATE, PRINTED.format(sets="Pascal VOC and CheXpert"))
    figure = chart(panels, "gap in votes", "share of gaps up to it")
    title = "Figure 9: gaps between the winner and the next"
    return Table(title, columns, tuple(rows), remarks, {"distribution": figure})


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
    rows: list[tuple[Cell, ...]] = []
    gap_panels: dict[str, list[Line]] = {}
    quality_panels: dict[str, list[Line]] = {}
    for profile in profiles(setting, *wanted):
        held = elections(profile, setting)
        steps = range(1, held[0].labels + 1)
        for colour, (mechanism, rule) in enumerate(RULES.items()):
            gaps, quality = [], []
            for labels in steps:
                chosen = [election.first_labels(labels) for election in held]
                votes = [rule(election) for election in chosen]
                gaps.append(Spread.of([float(each.gaps().mean()) for each in votes]))
                scores = [judge(e, v, None) for e, v in zip(chosen, votes, strict=True)]
                quality.append(Spread.of([each.bac for each in scores]))
                head = (profile.title, labels, mechanism, gaps[-1].text(1))
                rows.append((*head, *judged(scores)))
            for panels, heights in ((gap_panels, gaps), (quality_panels, quality)):
                line = Line(mechanism, list(steps), heights, colour=colour)
                panels.setdefault(profile.title, []).append(line)
    remarks = notes(setting, None, PRIVATE, JUDGED.replace("released bits", "bits without noise"))
    figures = {
        "gaps": chart(gap_panels, "first k labels", "mean gap in votes"),
        "quality": chart(quality_panels, "first k labels", "BAC without noise"),
    }
    title = f"{name}: gaps and quality without noise on the first k labels"
    columns = ("set", "labels", "mechanism", "mean gap", *METRICS)
    return Table(title, columns, tuple(rows), remarks, figures)

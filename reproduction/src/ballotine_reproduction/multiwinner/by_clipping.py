"""Figures 12 and 13: quality against the norm to which ballots are clipped."""

from __future__ import annotations

from ballotine.privacy.multilabel import Norm, squared_sensitivity
from ballotine_reproduction.multiwinner.accounts import clipped
from ballotine_reproduction.multiwinner.elections import elections
from ballotine_reproduction.multiwinner.plots import Line, chart
from ballotine_reproduction.multiwinner.sets import profiles
from ballotine_reproduction.multiwinner.summary import (
    JUDGED,
    METRICS,
    Spread,
    judge,
    judged,
    notes,
)
from ballotine_reproduction.table import Cell, Setting, Table

TAUS: dict[Norm, tuple[float, ...]] = {
    "l2": (1.0, 1.2, 1.4, 1.6, 1.8, 2.0, 2.2, 2.5, 3.0),
    "l1": (1.0, 1.4, 1.8, 2.2, 2.6, 3.0, 3.4, 4.0, 5.0, 6.0),
}


def figure12(setting: Setting) -> Table:
    """Clipping in the l2 norm."""
    return _clipped("Figure 12", "l2", setting)


def figure13(setting: Setting) -> Table:
    """Clipping in the l1 norm."""
    return _clipped("Figure 13", "l1", setting)


def _clipped(name: str, norm: Norm, setting: Setting) -> Table:
    rows: list[tuple[Cell, ...]] = []
    panels: dict[str, list[Line]] = {}
    marks: dict[str, float] = {}
    for profile in profiles(setting):
        held = elections(profile, setting)
        lines: dict[str, list[Spread]] = {"ACC": [], "BAC": [], "mAP": []}
        for tau in TAUS[norm]:
            rule = clipped(tau, norm)
            scores = [judge(election, rule(election), None) for election in held]
            for metric, heights in lines.items():
                heights.append(Spread.of([getattr(s, metric.lower()) for s in scores]))
            claim = tau**2 if norm == "l2" else 2.0 * tau**2
            true = squared_sensitivity(held[0].labels, tau, norm)
            rows.append((profile.title, tau, claim, true, *judged(scores)))
        panels[profile.title] = [
            Line(metric, TAUS[norm], heights, colour=colour)
            for colour, (metric, heights) in enumerate(lines.items())
        ]
        marks[profile.title] = profile.tau if norm == "l2" else profile.tau_l1
    remarks = notes(
        setting,
        None,
        JUDGED.replace("released bits", "bits without noise"),
        "Δ²: an answer costs αΔ²/σ². Claimed: τ² for l2 (false), 2τ² for l1 (true, but loose).",
        "The line marks the τ that the other experiments use. It was chosen by looking at this "
        "figure, so with true labels: a real run must choose it beforehand.",
    )
    title = f"{name}: quality against clipping in the {norm} norm, without noise"
    columns = ("set", "τ", "claimed Δ²", "true Δ²", *METRICS)
    figure = chart(panels, "τ", "metric", mark=marks)
    return Table(title, columns, tuple(rows), remarks, {"quality": figure})

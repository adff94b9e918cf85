"""Figures 12 and 13: quality against the norm to which ballots are clipped."""

from __future__ import annotations

from ballotine.privacy.multilabel import Norm, squared_sensitivity
from ballotine_reproduction.charts import Line, chart
from ballotine_reproduction.experiment import Setting
from ballotine_reproduction.multiwinner import notes
from ballotine_reproduction.multiwinner.accounts import METRICS, clipped, outcome
from ballotine_reproduction.multiwinner.elections import elections
from ballotine_reproduction.multiwinner.sets import profiles
from ballotine_reproduction.table import Row, Table

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
    rows: list[Row] = []
    panels: dict[str, list[Line]] = {}
    marks: dict[str, float] = {}
    for profile in profiles(setting):
        held = elections(profile, setting)
        found = [outcome(held, [clipped(tau, norm)(e) for e in held], None) for tau in TAUS[norm]]
        for tau, each in zip(TAUS[norm], found, strict=True):
            claim = tau**2 if norm == "l2" else 2.0 * tau**2
            true = squared_sensitivity(held[0].labels, tau, norm)
            rows.append((profile.title, tau, claim, true, *each.judged()))
        panels[profile.title] = [
            Line.of_intervals(metric, TAUS[norm], [e.quality(metric) for e in found], colour=colour)
            for colour, metric in enumerate(("ACC", "BAC", "mAP"))
        ]
        marks[profile.title] = profile.tau if norm == "l2" else profile.tau_l1
    remarks = notes.about(
        setting,
        None,
        notes.JUDGED_WITHOUT_NOISE,
        "Δ²: an answer costs αΔ²/σ². Claimed: τ² for l2 (false), 2τ² for l1 (true, but loose).",
        "The line marks the τ that the other experiments use. It was chosen by looking at this "
        "figure, so with true labels: a real run must choose it beforehand.",
    )
    title = f"{name}: quality against clipping in the {norm} norm, without noise"
    columns = ("set", "τ", "claimed Δ²", "true Δ²", *METRICS)
    figure = chart(panels, "τ", "metric", marks=marks)
    return Table(title, columns, rows, remarks, {"quality": figure})

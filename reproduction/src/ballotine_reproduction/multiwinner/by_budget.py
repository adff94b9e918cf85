"""Table 10: Binary voting under budgets from ε = 1 to 20."""

from __future__ import annotations

from ballotine.privacy.guarantee import Budget
from ballotine_reproduction.charts import chart
from ballotine_reproduction.experiment import Setting
from ballotine_reproduction.multiwinner import notes, reported
from ballotine_reproduction.multiwinner.accounts import (
    METRICS,
    MODES,
    MechanismOutcome,
    binary,
    judge,
    judged,
    outcome,
    query_lines,
)
from ballotine_reproduction.multiwinner.affordable import BUDGET
from ballotine_reproduction.multiwinner.elections import LabelElection, elections
from ballotine_reproduction.multiwinner.sets import Profile, profiles
from ballotine_reproduction.table import Row, Table

SIGMA = 7.0
EPSILONS = tuple(range(1, 21))
QUICK_EPSILONS = (2, 8, 20)


def table10(setting: Setting) -> Table:
    """Answered queries for each ε, and how good the strictly answered ones are."""
    rows: list[Row] = []
    panels = {}
    steps = QUICK_EPSILONS if setting.quick else EPSILONS
    for profile in profiles(setting):
        held = elections(profile, setting)
        votes = [binary(election) for election in held]
        found = []
        with setting.progress.stage(f"ε {profile.title}", len(steps)) as advance:
            for epsilon in steps:
                found.append(outcome(held, votes, SIGMA, Budget(float(epsilon), BUDGET.delta)))
                rows.append(_row(profile, held, epsilon, found[-1]))
                advance(1)
        panels[profile.title] = [
            line
            for colour, (mode, dash) in enumerate(MODES.items())
            for line in query_lines("", steps, found, colour, {mode: dash})
        ]
    remarks = notes.about(
        setting,
        None,
        f"Noise σ = {SIGMA:g}, all labels, δ = {BUDGET.delta:g}.",
        *notes.ACCOUNTS,
        notes.POOL,
        "ACC, BAC, AUC, mAP: means over labels, on the strictly answered queries alone.",
        notes.printed("Pascal VOC, 20 labels"),
    )
    columns = ("set", "ε", *MODES, *METRICS, "printed")
    title = "Table 10: Binary voting under several budgets"
    figure = chart(panels, "ε", "answered queries")
    return Table(title, columns, rows, remarks, {"queries": figure})


def _row(profile: Profile, held: list[LabelElection], epsilon: int, found: MechanismOutcome) -> Row:
    heads = [e.first_queries(c.strict) for e, c in zip(held, found.counts, strict=True) if c.strict]
    scores = [judge(head, binary(head), SIGMA) for head in heads]
    metrics = judged(scores) if scores else ("–",) * len(METRICS)
    number = reported.BY_EPSILON.get(epsilon) if profile.stands_for == "Pascal VOC" else None
    return (profile.title, epsilon, *found.counted(), *metrics, number)

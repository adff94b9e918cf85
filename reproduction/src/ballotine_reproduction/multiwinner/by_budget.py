"""Table 10: Binary voting under budgets from ε = 1 to 20."""

from __future__ import annotations

from ballotine.privacy.guarantee import Budget
from ballotine_reproduction.multiwinner import reported
from ballotine_reproduction.multiwinner.accounts import afforded, binary, count_cells
from ballotine_reproduction.multiwinner.affordable import BUDGET
from ballotine_reproduction.multiwinner.elections import LabelElection, elections
from ballotine_reproduction.multiwinner.plots import MODES, Line, chart
from ballotine_reproduction.multiwinner.sets import Profile, profiles
from ballotine_reproduction.multiwinner.summary import (
    ACCOUNTS,
    METRICS,
    POOL,
    PRINTED,
    Spread,
    judge,
    judged,
    notes,
)
from ballotine_reproduction.table import Cell, Setting, Table

SIGMA = 7.0
EPSILONS = tuple(range(1, 21))
QUICK_EPSILONS = (2, 8, 20)


def table10(setting: Setting) -> Table:
    """Answered queries for each ε, and how good the strictly answered ones are."""
    rows: list[tuple[Cell, ...]] = []
    panels: dict[str, list[Line]] = {}
    steps = QUICK_EPSILONS if setting.quick else EPSILONS
    for profile in profiles(setting):
        held = elections(profile, setting)
        heights: dict[str, list[Spread]] = {mode: [] for mode in MODES}
        with setting.progress.stage(f"ε {profile.title}", len(steps)) as advance:
            for epsilon in steps:
                cells, spreads = _answered(profile, held, epsilon)
                rows.append(cells)
                for mode, spread in spreads.items():
                    heights[mode].append(spread)
                advance(1)
        panels[profile.title] = [
            Line(mode, steps, heights[mode], dash, colour)
            for colour, (mode, dash) in enumerate(MODES.items())
        ]
    remarks = notes(
        setting,
        None,
        f"Noise σ = {SIGMA:g}, all labels, δ = {BUDGET.delta:g}.",
        *ACCOUNTS,
        POOL,
        "ACC, BAC, AUC, mAP: means over labels, on the strictly answered queries alone.",
        PRINTED.format(sets="Pascal VOC, 20 labels"),
    )
    columns = ("set", "ε", "paper", "strict", "fixed", *METRICS, "printed")
    title = "Table 10: Binary voting under several budgets"
    figure = chart(panels, "ε", "answered queries")
    return Table(title, columns, tuple(rows), remarks, {"queries": figure})


def _answered(
    profile: Profile, held: list[LabelElection], epsilon: int
) -> tuple[tuple[Cell, ...], dict[str, Spread]]:
    budget = Budget(float(epsilon), BUDGET.delta)
    counts = [afforded(binary(election), SIGMA, budget) for election in held]
    heads = [e.first_queries(c.strict) for e, c in zip(held, counts, strict=True) if c.strict]
    scores = [judge(head, binary(head), SIGMA) for head in heads]
    metrics = judged(scores) if scores else ("–",) * len(METRICS)
    number = reported.BY_EPSILON.get(epsilon) if profile.stands_for == "Pascal VOC" else None
    cells = (profile.title, epsilon, *count_cells(counts, held[0].queries), *metrics, number)
    spreads = {mode: Spread.of([getattr(c, mode) for c in counts]) for mode in MODES}
    return cells, spreads

"""Table 8: Powerset voting when a teacher names at most its τ most confident labels."""

from __future__ import annotations

from ballotine.privacy.powerset import allowed_subsets
from ballotine_reproduction.multiwinner import reported
from ballotine_reproduction.multiwinner.accounts import afforded, count_cells, powerset
from ballotine_reproduction.multiwinner.affordable import BUDGET
from ballotine_reproduction.multiwinner.elections import LabelElection, elections
from ballotine_reproduction.multiwinner.sets import SCENE, TMC2007, YEAST, Profile, profiles
from ballotine_reproduction.multiwinner.summary import (
    ACCOUNTS,
    JUDGED,
    METRICS,
    POOL,
    PRINTED,
    judge,
    judged,
    notes,
)
from ballotine_reproduction.table import Cell, Setting, Table

STEPS: dict[str, dict[int, tuple[float, tuple[int, ...]]]] = {
    TMC2007.name: {
        2: (5, (1, 2)),
        3: (7, (1, 2, 3)),
        5: (8, (1, 2, 3, 4, 5)),
        10: (5, (1, 2, 3, 5, 10)),
        20: (2, (1, 2, 3, 5, 10, 20)),
        22: (2, (1, 2, 3, 5, 10, 22)),
    },
    YEAST.name: {5: (4, (1, 2, 3, 5)), 14: (2, (1, 2, 4, 6, 14))},
    SCENE.name: {3: (7, (1, 2, 3)), 6: (4, (1, 2, 3, 6))},
}
"""Labels to (σ, τ); the σ of tmc2007 are the paper's for Pascal VOC."""

QUICK_STEPS = {4: (4.0, (1, 4)), 8: (2.0, (1, 2, 8))}


def table8(setting: Setting) -> Table:
    """Answered queries and quality for several τ."""
    rows: list[tuple[Cell, ...]] = []
    for profile in profiles(setting):
        held = elections(profile, setting)
        steps = STEPS.get(profile.name, QUICK_STEPS)
        cases = [(k, sigma, tau) for k, (sigma, taus) in steps.items() for tau in taus]
        with setting.progress.stage(f"τ {profile.title}", len(cases)) as advance:
            for labels, sigma, tau in cases:
                chosen = [election.first_labels(labels) for election in held]
                rows.append(_row(profile, chosen, sigma, tau))
                advance(1)
    columns = ("set", "labels", "τ", "allowed sets", "σ", "paper", "strict", "fixed", *METRICS)
    remarks = notes(
        setting,
        BUDGET,
        *ACCOUNTS,
        POOL,
        "τ does not lower the data-independent cost: one vote still moves two counts.",
        JUDGED,
        PRINTED.format(sets="Pascal VOC (20 labels beside our 20)"),
    )
    title = "Table 8: Powerset voting with at most τ labels per ballot"
    return Table(title, (*columns, "printed"), tuple(rows), remarks)


def _row(profile: Profile, chosen: list[LabelElection], sigma: float, tau: int) -> tuple[Cell, ...]:
    labels, pool = chosen[0].labels, chosen[0].queries
    votes = [powerset(tau)(election) for election in chosen]
    counts = [afforded(each, sigma, BUDGET) for each in votes]
    scores = [judge(e, v, sigma) for e, v in zip(chosen, votes, strict=True)]
    queries = reported.POWERSET_TAU.get((labels, tau)) if profile is TMC2007 else None
    head = (profile.title, labels, tau, allowed_subsets(labels, tau), sigma)
    return (*head, *count_cells(counts, pool), *judged(scores), queries)

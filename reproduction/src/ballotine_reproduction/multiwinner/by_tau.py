"""Table 8: Powerset voting when a teacher names at most its τ most confident labels."""

from __future__ import annotations

from ballotine.privacy.powerset import allowed_subsets
from ballotine_reproduction.experiment import Setting
from ballotine_reproduction.multiwinner import notes, reported
from ballotine_reproduction.multiwinner.accounts import METRICS, MODES, outcome, powerset
from ballotine_reproduction.multiwinner.affordable import BUDGET
from ballotine_reproduction.multiwinner.elections import LabelElection, elections
from ballotine_reproduction.multiwinner.sets import SCENE, TMC2007, YEAST, Profile, profiles
from ballotine_reproduction.table import Row, Table

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
    rows: list[Row] = []
    for profile in profiles(setting):
        held = elections(profile, setting)
        steps = STEPS.get(profile.name, QUICK_STEPS)
        cases = [(k, sigma, tau) for k, (sigma, taus) in steps.items() for tau in taus]
        with setting.progress.stage(f"τ {profile.title}", len(cases)) as advance:
            for labels, sigma, tau in cases:
                chosen = [election.first_labels(labels) for election in held]
                rows.append(_row(profile, chosen, sigma, tau))
                advance(1)
    columns = ("set", "labels", "τ", "allowed sets", "σ", *MODES, *METRICS, "printed")
    remarks = notes.about(
        setting,
        BUDGET,
        *notes.ACCOUNTS,
        notes.POOL,
        "τ does not lower the data-independent cost: one vote still moves two counts.",
        notes.JUDGED,
        notes.printed("Pascal VOC (20 labels beside our 20)"),
    )
    title = "Table 8: Powerset voting with at most τ labels per ballot"
    return Table(title, columns, rows, remarks)


def _row(profile: Profile, chosen: list[LabelElection], sigma: float, tau: int) -> Row:
    labels = chosen[0].labels
    found = outcome(chosen, [powerset(tau)(election) for election in chosen], sigma)
    queries = reported.POWERSET_TAU.get((labels, tau)) if profile is TMC2007 else None
    head = (profile.title, labels, tau, allowed_subsets(labels, tau), sigma)
    return (*head, *found.counted(), *found.judged(), queries)

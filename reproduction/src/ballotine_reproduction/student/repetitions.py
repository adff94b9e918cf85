"""One seed of a comparison on several labels: teachers' votes on public rows, and all rows."""

from __future__ import annotations

from dataclasses import dataclass

from ballotine_reproduction.encoders import public_components
from ballotine_reproduction.experiment import Setting
from ballotine_reproduction.multiwinner.elections import (
    QUICK_SEEDS,
    LabelElection,
    hold_election,
    query_order,
    teachers_of,
)
from ballotine_reproduction.multiwinner.sets import MADE_UP, TMC2007, YEAST, Profile, load
from ballotine_reproduction.pool import Pool

TEST_ROWS = {TMC2007.name: 2_000, YEAST.name: 300, MADE_UP.name: 150}
"""Public rows, the last in the order of asking, that models are evaluated on instead."""


@dataclass(frozen=True, eq=False)
class Repetition:
    """One seed: the teachers' votes on the public rows, and all rows."""

    seed: int
    election: LabelElection
    rows: Pool


def repetitions(
    profile: Profile, setting: Setting, teachers: int | None = None
) -> list[Repetition]:
    """One per seed; every seed evaluates on different rows.

    Args:
        profile: the set.
        setting: how the experiment is carried out.
        teachers: another number of teachers than usual.
    """
    pool = load(profile, setting)
    number = teachers or teachers_of(setting)
    asked = len(pool.X_public) - TEST_ROWS[profile.name]
    found = []
    seeds = setting.seed_range(QUICK_SEEDS)
    with setting.progress.stage(f"{number} teachers", len(seeds)) as advance:
        for seed in seeds:
            election = hold_election(profile, pool, number, seed, setting).first_queries(asked)
            order = query_order(pool, seed)
            rows = pool.held_out(order[:asked], order[asked:])
            # Everybody gets these features; for DP-SGD they are the frozen first layers.
            encoded = rows.encoded(public_components(rows.X_public))
            found.append(Repetition(seed, election, encoded))
            advance(1)
    return found

"""The ensembles that tables and figures vote with: freshly trained, or saved votes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ballotine.data.named.fetch import data_folder
from ballotine.errors import DataError
from ballotine_reproduction.experiment import Setting
from ballotine_reproduction.individualized.ballots import cast_ballots
from ballotine_reproduction.individualized.elections import SegmentVotes
from ballotine_reproduction.individualized.layout import Layout
from ballotine_reproduction.individualized.sets import (
    MNIST,
    QUICK_PUBLIC,
    QUICK_SEEDS,
    TEACHERS,
    SplitSet,
)

SAVED_VOTES = "votes_mnist_250.npz"
SAVED_NOTE = (
    "saved votes: one ensemble of 250 convolutional teachers; seeds change the groups, the order "
    "of the queries and the noise, not the teachers. Upsampling needs teachers that share "
    "records, which saved votes cannot show"
)


@dataclass(frozen=True)
class Source:
    """Ensembles of one kind, one per seed.

    Attributes:
        teachers: what the teachers are, for the table.
        shared: whether records can be taught several times (upsampling).
        ensembles: one per seed, made when it is its turn.
    """

    teachers: str
    shared: bool
    ensembles: Iterator[SegmentVotes]


def fresh(setting: Setting, pool: SplitSet, layout: Layout) -> Source:
    """New teachers for every seed, which also determines the split of the rows."""

    def each() -> Iterator[SegmentVotes]:
        for seed in setting.seed_range(QUICK_SEEDS):
            private, public, _ = pool.split(seed)
            deal = layout.deal(private, TEACHERS, seed)
            ballots = cast_ballots(setting, pool, deal.shares, public, seed)
            yield SegmentVotes.of(ballots, public, deal, pool)

    return Source(f"fresh {pool.teacher}", True, each())


def saved(setting: Setting, layout: Layout) -> Source | None:
    """The saved votes of convolutional teachers on MNIST, if the data folder holds them."""
    folder = data_folder(setting.data)
    if folder is None or not (folder / SAVED_VOTES).is_file():
        return None
    try:
        with np.load(folder / SAVED_VOTES, allow_pickle=False) as archive:
            ballots, truth = archive["ballots"].astype(np.uint8), archive["y"].astype(np.int64)
    except (OSError, ValueError, KeyError):
        raise DataError(f"{SAVED_VOTES} does not hold the arrays ballots and y") from None
    if setting.quick:
        ballots, truth = ballots[:QUICK_PUBLIC], truth[:QUICK_PUBLIC]

    def each() -> Iterator[SegmentVotes]:
        for seed in setting.seed_range(QUICK_SEEDS):
            yield SegmentVotes.saved(ballots, truth, layout, MNIST, seed)

    return Source("saved CNN votes", False, each())


def fresh_and_saved(
    setting: Setting, pool: SplitSet, layout: Layout
) -> tuple[list[Source], tuple[str, ...]]:
    """Saved votes, if there are any, and fresh teachers; and a note on saved votes."""
    found = [fresh(setting, pool, layout)]
    remembered = saved(setting, layout)
    return (found, ()) if remembered is None else ([remembered, *found], (SAVED_NOTE,))

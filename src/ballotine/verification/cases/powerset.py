"""Powerset voting: every allowed set of labels is a class."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from ballotine.oracle import powerset as oracle
from ballotine.oracle.neighbours import Tally
from ballotine.oracle.truth import Truth
from ballotine.privacy import powerset, published
from ballotine.types import FloatArray
from ballotine.verification.accuracy import exact_cases
from ballotine.verification.case import AnyCase, Case, Effort, Points
from ballotine.verification.cases.multilabel import MULTI_WINNER
from ballotine.verification.configurations import random_tally, small_tallies


@dataclass(frozen=True)
class SetVote:
    """The counts of the sets with votes, and the number of allowed sets."""

    tally: Tally
    subsets: int
    sigma: float
    weight: float = 1.0


def truth(vote: SetVote, orders: Points) -> Truth:
    """Return the oracle's exact two-sided cost."""
    return oracle.powerset(vote.tally, vote.subsets, vote.sigma, orders, vote.weight)


def every(effort: Effort) -> Iterator[SetVote]:
    """Yield small tallies among 4 to a million sets, and large ones among up to 2^40."""
    sizes = (8, 2**20) if effort.quick else (4, 8, 211, 2**12, 2**20)
    for tally, subsets in itertools.product(small_tallies(effort, (4,), 8), sizes):
        observed = tuple(count for count in tally if count > 0.0)
        for sigma in (0.7, 3.0):
            yield SetVote(observed, subsets, sigma)
        heavy = tuple(2.5 * count for count in observed)
        yield SetVote(heavy, subsets, 2.0, 2.5)
    for leader in (16.0, 17.0, 18.0):
        yield SetVote((leader, 20.0 - leader), 2**20, 0.35)
    yield SetVote((135.0, 4.0), 2**23, 3.24)  # a tiny cost at a high order, where rounding shows
    draw = effort.draws("powerset")
    for _ in range(effort.number(40)):
        counts = random_tally(draw, int(draw.integers(20, 251)), int(draw.choice((2, 3, 6, 10))))
        subsets = 2 ** int(draw.integers(4, 41))
        sigma = round(float(draw.uniform(1.0, 40.0)), 2)
        yield SetVote(tuple(count for count in counts if count > 0.0), subsets, sigma)


def observed_only(_: Effort) -> Iterator[SetVote]:
    """Yield tallies for an argmax over only the sets with votes."""
    yield SetVote((30.0, 12.0, 1.0), 2**20, 20.0)


def published_cost(vote: SetVote, orders: Points) -> FloatArray:
    """Return the published cost of one argmax."""
    return published.gnmax(orders, vote.sigma, vote.weight)


def tight_cost(vote: SetVote, orders: Points) -> FloatArray:
    """Return the supremum of the cost of one argmax."""
    return powerset.cost(orders, vote.sigma, vote.weight, vote.subsets)


@lru_cache(maxsize=1 << 12)
def exact_cost(vote: SetVote, orders: Points) -> FloatArray:
    """Return the shipped exact cost."""
    return powerset.data_dependent(
        vote.tally, vote.subsets, orders, vote.sigma, vote.weight
    ).ravel()


CASES: tuple[AnyCase, ...] = (
    Case(
        "powerset/published",
        "α/σ² when every allowed set gets noise",
        f"{MULTI_WINNER}, Definition 8 and Section 4.1",
        "holds",
        0.98,
        every,
        published_cost,
        truth,
    ),
    Case(
        "powerset/tight",
        "three-cell supremum when every allowed set gets noise",
        "three cells of a difference of noisy counts; new",
        "holds",
        0.98,
        every,
        tight_cost,
        truth,
    ),
    *exact_cases(
        "powerset/exact",
        "the two-sided divergence over all allowed sets, those without votes included",
        "output law by quadrature with a crowd of equal sets; new",
        every,
        exact_cost,
        truth,
    ),
    Case(
        "powerset/observed-only",
        "α/σ² when only the sets that were voted for take part",
        f"{MULTI_WINNER}, Definition 8 as a histogram of what was cast; it has no finite cost",
        "false",
        1e6,
        observed_only,
        published_cost,
        lambda vote, orders: oracle.restricted(vote.tally, vote.sigma, orders),
    ),
)

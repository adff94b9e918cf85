"""GNMax: one label, Gaussian noise on every count."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import lru_cache

from ballotine.oracle import votes
from ballotine.oracle.truth import Truth
from ballotine.privacy import exact, published, tight
from ballotine.types import FloatArray
from ballotine.verification.accuracy import exact_cases
from ballotine.verification.case import AnyCase, Case, Effort, Points
from ballotine.verification.configurations import Vote, clear_votes, large_votes, small_votes

SCALABLE = "Papernot et al. 2018 (Scalable PATE)"


def truth(vote: Vote, orders: Points) -> Truth:
    """Return the oracle's exact two-sided cost of a tally."""
    return votes.gnmax(vote.tally, vote.sigma, orders, vote.weight, vote.teachers)


def published_cost(vote: Vote, orders: Points) -> FloatArray:
    """Return the published cost, for a weight or for several teachers."""
    return published.gnmax(orders, vote.sigma, vote.weight * vote.teachers)


def theorem6_cost(vote: Vote, orders: Points) -> FloatArray:
    """Return the bound of Theorem 6 for both directions."""
    reach = vote.weight * vote.teachers
    return published.gnmax_data_dependent(vote.tally, orders, vote.sigma, reach).ravel()


@lru_cache(maxsize=1 << 13)
def exact_cost(vote: Vote, orders: Points) -> FloatArray:
    """Return the shipped exact cost."""
    return exact.gnmax(vote.tally, orders, vote.sigma, vote.weight, vote.teachers).ravel()


def every(effort: Effort) -> Iterator[Vote]:
    """Yield small and large tallies of several numbers of classes."""
    return itertools.chain(small_votes(effort), clear_votes(), large_votes(effort, "gnmax"))


def two_classes(effort: Effort) -> Iterator[Vote]:
    """Yield small and large tallies of two classes."""
    large = large_votes(effort, "gnmax two classes", 120, (2,))
    return itertools.chain(small_votes(effort, (2,)), large)


CASES: tuple[AnyCase, ...] = (
    Case(
        "gnmax/published",
        "α/σ² whatever the tally",
        f"{SCALABLE}, Proposition 8",
        "holds",
        0.98,
        every,
        published_cost,
        truth,
    ),
    Case(
        "gnmax/tight",
        "three-cell supremum whatever the tally",
        "three cells of a difference of noisy counts; new",
        "holds",
        0.98,
        every,
        lambda vote, orders: tight.gnmax(orders, vote.sigma),
        truth,
    ),
    Case(
        "gnmax/tight-two-classes",
        "one-bit supremum whatever the tally of two classes",
        "one bit of a shifted Gaussian; new",
        "holds",
        0.999,
        two_classes,
        lambda vote, orders: tight.gnmax(orders, vote.sigma, classes=2),
        truth,
    ),
    Case(
        "gnmax/theorem-6",
        "Theorem 6 at the largest q among the tally and its neighbours",
        f"{SCALABLE}, Theorem 6 with Propositions 7 and 10; both directions and q·e^ε2 < 1 added",
        "holds",
        0.98,
        every,
        theorem6_cost,
        truth,
    ),
    *exact_cases(
        "gnmax/exact",
        "the two-sided divergence itself, over all neighbours",
        "output law by quadrature; new",
        every,
        exact_cost,
        truth,
    ),
)

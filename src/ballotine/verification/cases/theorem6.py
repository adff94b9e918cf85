"""Theorem 6 of Scalable PATE as printed, and as quoted elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ballotine.oracle import votes
from ballotine.oracle.neighbours import Tally
from ballotine.oracle.truth import Truth
from ballotine.privacy import published
from ballotine.types import FloatArray
from ballotine.verification.case import AnyCase, Case, Effort, Points
from ballotine.verification.cases.gnmax import SCALABLE, truth
from ballotine.verification.configurations import Vote
from ballotine.verification.printed import (
    error_bound,
    misprinted_condition,
    printed_condition,
    theorem6,
)


@dataclass(frozen=True)
class FreeOrders:
    """A tally, and the two orders μ1 and μ2 of Theorem 6."""

    tally: Tally
    sigma: float
    mu1: float
    mu2: float


def one_direction(_: Effort) -> Iterator[Vote]:
    """Yield almost unanimous votes, where the neighbour is far less certain than the tally."""
    yield Vote((50.0, 0.0), 7.0)


def forward(vote: FreeOrders, orders: Points) -> Truth:
    """Return the exact cost in the one direction that the theorem covers."""
    return votes.gnmax(vote.tally, vote.sigma, orders, forward_only=True)


def as_printed(vote: FreeOrders, orders: Points) -> FloatArray:
    """Return the bound where every printed condition is met."""
    q = error_bound(vote.tally, vote.sigma)
    if printed_condition(q, vote.mu1, vote.mu2, vote.sigma) < 0.0:
        return np.full(len(orders), np.inf)
    return theorem6(q, vote.mu1, vote.mu2, vote.sigma, orders)


def as_misprinted(vote: FreeOrders, orders: Points) -> FloatArray:
    """Return the bound where only the misprinted condition is met."""
    q = error_bound(vote.tally, vote.sigma)
    entry = (q, vote.mu1, vote.mu2, vote.sigma)
    if misprinted_condition(*entry) < 0.0 or printed_condition(*entry) >= 0.0:
        return np.full(len(orders), np.inf)
    return theorem6(*entry, orders)


def beyond_the_missing_condition(_: Effort) -> Iterator[FreeOrders]:
    """Yield orders with q·e^ε2 above 1."""
    yield FreeOrders((5.0, 2.0), 1.5, 4.0, 11.6)


def beyond_the_quotient(_: Effort) -> Iterator[FreeOrders]:
    """Yield four subsets (two labels) whose q is below the product and above the quotient."""
    yield FreeOrders((5.0, 4.0, 3.0, 3.0), 1.5, 3.0, 1.4)
    yield FreeOrders((8.0, 2.0, 1.0, 1.0), 10.0, 3.0, 27.5)


CASES: tuple[AnyCase, ...] = (
    Case(
        "gnmax/theorem-6-one-direction",
        "Theorem 6 at the q of the tally alone bounds both directions",
        f"{SCALABLE}, Theorem 6; it bounds D(tally‖neighbour) only",
        "false",
        1.55,
        one_direction,
        lambda vote, orders: published.gnmax_data_dependent(
            vote.tally, orders, vote.sigma, two_sided=False
        ).ravel(),
        truth,
    ),
    Case(
        "gnmax/theorem-6-without-condition",
        "Theorem 6 with the printed conditions only",
        f"{SCALABLE}, Theorem 6; it needs q·e^ε2 < 1 too",
        "false",
        500.0,
        beyond_the_missing_condition,
        as_printed,
        forward,
    ),
    Case(
        "gnmax/theorem-b2",
        "Theorem 6 with q at most a product where a quotient belongs",
        "Private Multi-Winner Voting, Theorem B.2; it needs the quotient and q·e^ε2 < 1",
        "false",
        2.0,
        beyond_the_quotient,
        as_misprinted,
        forward,
    ),
)

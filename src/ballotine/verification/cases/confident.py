"""Confident-GNMax: a check, followed by an answer only if it passes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from scipy.special import ndtr

from ballotine.oracle import votes
from ballotine.oracle.neighbours import Tally
from ballotine.oracle.truth import Truth
from ballotine.privacy import exact, published, tight
from ballotine.types import FloatArray
from ballotine.verification.accuracy import exact_cases
from ballotine.verification.case import AnyCase, Case, Effort, Points
from ballotine.verification.cases.gnmax import SCALABLE
from ballotine.verification.configurations import large_votes, small_tallies


@dataclass(frozen=True)
class Confident:
    """One tally and the parameters of Confident-GNMax."""

    tally: Tally
    sigma: float
    threshold: float
    sigma_threshold: float
    weight: float = 1.0
    teachers: int = 1


def truth(query: Confident, orders: Points) -> Truth:
    """Return the oracle's exact two-sided cost of the whole mechanism."""
    return votes.confident_gnmax(
        query.tally,
        query.sigma,
        query.threshold,
        query.sigma_threshold,
        orders,
        query.weight,
        query.teachers,
    )


@lru_cache(maxsize=1 << 13)
def exact_cost(query: Confident, orders: Points) -> FloatArray:
    """Return the shipped exact cost."""
    return exact.confident_gnmax(
        query.tally,
        orders,
        query.sigma,
        query.threshold,
        query.sigma_threshold,
        query.weight,
        query.teachers,
    ).ravel()


def every(effort: Effort) -> Iterator[Confident]:
    """Yield small tallies with several noises, and large ones, each near its own threshold."""
    noises = ((1.0, 1.0), (0.6, 3.0), (4.0, 8.0))
    for tally in small_tallies(effort, (2, 3), 10):
        for sigma, sigma_threshold in noises:
            for share in (0.3, 0.7, 1.1):
                level = round(share * sum(tally), 3)
                yield Confident(tally, sigma, level, sigma_threshold)
    draw = effort.draws("confident levels")
    for vote in large_votes(effort, "confident", 40):
        level = round(float(draw.uniform(0.3, 1.0)) * sum(vote.tally), 1)
        noise = round(vote.sigma * float(draw.uniform(0.5, 4.0)), 2)
        yield Confident(vote.tally, vote.sigma, level, noise)


def in_parts(query: Confident, orders: Points) -> FloatArray:
    """Return the published cost of a check plus that of an answer."""
    check = published.threshold(orders, query.sigma_threshold)
    cost: FloatArray = check + published.gnmax(orders, query.sigma)
    return cost


def tight_in_parts(query: Confident, orders: Points) -> FloatArray:
    """Return the sum of the suprema of the check and of the answer."""
    check = tight.threshold(orders, query.sigma_threshold)
    cost: FloatArray = check + tight.gnmax(orders, query.sigma)
    return cost


def rare_answers(_: Effort) -> Iterator[Confident]:
    """Yield ties that rarely pass the check, and are answered with little noise when they do."""
    yield Confident((3.0, 3.0), 0.5, 83.0, 20.0)
    yield Confident((125.0, 125.0), 2.0, 425.0, 100.0)


def expected_charge(query: Confident, orders: Points) -> FloatArray:
    """Return the cost of the check plus that of the answer times its probability."""
    z = (max(query.tally) - query.threshold) / query.sigma_threshold
    answered = float(ndtr(z))
    check = published.threshold(orders, query.sigma_threshold)
    cost: FloatArray = check + answered * published.gnmax(orders, query.sigma)
    return cost


CASES: tuple[AnyCase, ...] = (
    Case(
        "confident-gnmax/published",
        "α/(2σ1²) for every query plus α/σ2² for an answer",
        f"{SCALABLE}, Section 4",
        "holds",
        0.83,
        every,
        in_parts,
        truth,
    ),
    Case(
        "confident-gnmax/tight",
        "one-bit supremum for the check plus three-cell supremum for an answer",
        "sum of the two suprema; new",
        "holds",
        0.9,
        every,
        tight_in_parts,
        truth,
    ),
    *exact_cases(
        "confident-gnmax/exact",
        "the two-sided divergence of the whole mechanism, abstaining included",
        "law over abstain and classes; new",
        every,
        exact_cost,
        truth,
    ),
    Case(
        "confident-gnmax/expected-charge",
        "α/(2σ1²) plus P(answer) · α/σ2²",
        "expected instead of realised charging; an expectation bounds no divergence",
        "false",
        148.0,
        rare_answers,
        expected_charge,
        truth,
    ),
)

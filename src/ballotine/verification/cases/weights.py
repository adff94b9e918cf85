"""Weighted votes: a teacher's vote counts for more or less than 1."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ballotine.privacy import published, tight
from ballotine.types import FloatArray
from ballotine.verification.accuracy import exact_cases
from ballotine.verification.case import AnyCase, Case, Effort, Points
from ballotine.verification.cases import check
from ballotine.verification.cases.check import CheckedVote
from ballotine.verification.cases.gnmax import exact_cost, published_cost, theorem6_cost, truth
from ballotine.verification.configurations import Vote, small_tallies
from ballotine.verification.printed import error_bound

INDIVIDUALIZED = "Boenisch et al. 2023 (Individualized PATE)"
WEIGHTS = (0.3, 0.7, 2.0, 5.0, 20.0)
QUICK_WEIGHTS = (0.3, 2.0, 20.0)


def every(effort: Effort) -> Iterator[Vote]:
    """Yield one teacher of weight w among others of weight 1, and among others of any weight."""
    for weight in QUICK_WEIGHTS if effort.quick else WEIGHTS:
        for tally in small_tallies(effort, (2, 3), 7):
            for choice in range(len(tally)):
                joined = tuple(
                    count + weight * (number == choice) for number, count in enumerate(tally)
                )
                for sigma in (0.8 * weight, 4.0 * weight, 6.0):
                    yield Vote(joined, round(sigma, 3), weight)
        for leader in (16.0, 17.0, 18.0):
            clear = (leader * weight, (20.0 - leader) * weight)
            yield Vote(clear, 0.35 * weight, weight)
    draw = effort.draws("weights")
    for _ in range(effort.number(80)):
        weight = round(float(10.0 ** draw.uniform(-0.5, 1.3)), 2)
        shares = draw.dirichlet(np.full(int(draw.choice((2, 3, 5, 10))), 0.7)) * 200.0
        counts = np.sort(shares.round(2))[::-1]
        counts[0] += weight
        sigma = round(float(draw.uniform(2.0, 60.0)), 2)
        yield Vote(tuple(float(count) for count in counts), sigma, weight)


def heavy_checks(_: Effort) -> Iterator[CheckedVote]:
    """Yield checks with a teacher of weight 4, to be charged as if it had weight 1."""
    yield CheckedVote(150.0, 200.0, 50.0, 4.0)
    yield CheckedVote(200.0, 200.0, 50.0, 4.0)


def heavy_votes(_: Effort) -> Iterator[Vote]:
    """Yield a consensus that is strong relative to σ/w and weak relative to σ."""
    yield Vote((60.0, 20.0), 20.0, 3.0)
    yield Vote((150.0, 90.0, 10.0), 40.0, 5.0)


def noise_scaled_in_q(vote: Vote, orders: Points) -> FloatArray:
    """Return the bound of Theorem 6 with σ/w everywhere, including in q."""
    claim = published.gnmax_data_dependent(vote.tally, orders, vote.sigma / vote.weight).ravel()
    assumed = error_bound(vote.tally, vote.sigma / vote.weight)
    actual = error_bound(vote.tally, vote.sigma)
    return claim if assumed < actual else np.full(len(orders), np.inf)


CASES: tuple[AnyCase, ...] = (
    Case(
        "weights/published",
        "w²α/σ² whatever the tally",
        f"{INDIVIDUALIZED}, Theorem 1",
        "holds",
        0.95,
        every,
        published_cost,
        truth,
    ),
    Case(
        "weights/tight",
        "three-cell supremum for a vote of weight w",
        "three cells of a difference of noisy counts; new",
        "holds",
        0.95,
        every,
        lambda vote, orders: tight.gnmax(orders, vote.sigma, vote.weight),
        truth,
    ),
    Case(
        "weights/theorem-6",
        "Theorem 6 with q from the weighted tally at σ, and σ/w in ε1 and ε2 only",
        f"{INDIVIDUALIZED}, Lemma 5; both directions and q·e^ε2 < 1 added",
        "holds",
        0.95,
        every,
        theorem6_cost,
        truth,
    ),
    *exact_cases(
        "weights/exact",
        "the two-sided divergence when one teacher of weight w moves",
        "output law by quadrature; new",
        every,
        exact_cost,
        truth,
    ),
    Case(
        "weights/check-unweighted",
        "α/(2σ1²) for the check of a weighted vote",
        "Confident-GNMax with weighted votes and an unweighted check; it costs w²α/(2σ1²)",
        "false",
        10.0,
        heavy_checks,
        lambda case, orders: published.threshold(orders, case.sigma),
        check.truth,
    ),
    Case(
        "weights/noise-scaled-in-q",
        "Theorem 6 with σ/w in q as well",
        f"{INDIVIDUALIZED}, Section 4.3; q must come from the noise that is really added",
        "false",
        100.0,
        heavy_votes,
        noise_scaled_in_q,
        truth,
    ),
)

"""Records that several teachers saw: their votes may move together or independently."""

from __future__ import annotations

from collections.abc import Iterator

from ballotine.oracle import votes
from ballotine.oracle.truth import Truth
from ballotine.privacy import exact, published
from ballotine.types import FloatArray
from ballotine.verification.accuracy import exact_cases
from ballotine.verification.case import AnyCase, Case, Effort, Points
from ballotine.verification.cases import check, confident
from ballotine.verification.cases.check import CheckedVote
from ballotine.verification.cases.confident import Confident
from ballotine.verification.cases.gnmax import exact_cost, published_cost, theorem6_cost, truth
from ballotine.verification.cases.weights import INDIVIDUALIZED
from ballotine.verification.configurations import Vote, large_votes, small_tallies


def every(effort: Effort) -> Iterator[Vote]:
    """Yield small tallies of two to four classes, and large ones of up to five."""
    for teachers in (2, 3):
        for tally in small_tallies(effort, (2, 3, 4), 10 if teachers == 2 else 8):
            if sum(tally) >= teachers:
                for sigma in (1.0, 6.0):
                    yield Vote(tally, sigma, teachers=teachers)
                halves = tuple(0.5 * count for count in tally)
                yield Vote(halves, 1.5, weight=0.5, teachers=teachers)
    for leader in (33.0, 34.0, 35.0):
        yield Vote((leader, 40.0 - leader), 0.7, teachers=2)
    for vote in large_votes(effort, "duplicates", 30, (2, 3, 5)):
        yield Vote(vote.tally, vote.sigma, teachers=2)


def confident_every(effort: Effort) -> Iterator[Confident]:
    """Yield small tallies with a check."""
    for tally in small_tallies(effort, (2, 3), 8):
        if sum(tally) >= 2.0:
            for share in (0.5, 1.0):
                yield Confident(tally, 2.0, share * sum(tally), 3.0, teachers=2)


def checks(effort: Effort) -> Iterator[CheckedVote]:
    """Yield checks where two or three teachers change the largest count by two or three."""
    for one in check.every(effort):
        if one.reach == 1.0:
            for teachers in (2.0, 3.0):
                yield CheckedVote(one.top, one.threshold, one.sigma, teachers)


def apart(_: Effort) -> Iterator[Vote]:
    """Yield a tally where two teachers move from different classes to the third."""
    yield Vote((1.0, 1.0, 4.0), 1.0, teachers=2)


def together(vote: Vote, orders: Points) -> FloatArray:
    """Return the exact cost of one vote with the weight of both."""
    return exact.gnmax(vote.tally, orders, vote.sigma, float(vote.teachers)).ravel()


def together_truth(vote: Vote, orders: Points) -> Truth:
    """Return the exact cost when both votes move independently."""
    return votes.gnmax(vote.tally, vote.sigma, orders, teachers=vote.teachers)


CASES: tuple[AnyCase, ...] = (
    Case(
        "duplicates/published",
        "u²α/σ² whatever the tally",
        f"{INDIVIDUALIZED}, Theorem 1 with Proposition 2",
        "holds",
        0.95,
        every,
        published_cost,
        truth,
    ),
    Case(
        "duplicates/check",
        "u²α/(2σ1²) for the check",
        f"{INDIVIDUALIZED}, Theorem 1 for one count",
        "holds",
        0.95,
        checks,
        lambda case, orders: published.threshold(orders, case.sigma, case.reach),
        check.truth,
    ),
    Case(
        "duplicates/theorem-6",
        "Theorem 6 for u teachers, at the largest q that they can make",
        f"{INDIVIDUALIZED}, Lemma 5; both directions and q·e^ε2 < 1 added",
        "holds",
        0.95,
        every,
        theorem6_cost,
        truth,
    ),
    *exact_cases(
        "duplicates/exact",
        "the two-sided divergence over all ways in which u teachers move",
        "output law by quadrature, split moves enumerated; new",
        every,
        exact_cost,
        truth,
    ),
    Case(
        "duplicates/confident-exact",
        "the two-sided divergence of Confident-GNMax when two teachers move",
        "law over abstain and classes, split moves enumerated; new",
        "holds",
        0.99999,
        confident_every,
        confident.exact_cost,
        confident.truth,
    ),
    Case(
        "duplicates/one-move",
        "the exact cost of one vote of weight u",
        f"{INDIVIDUALIZED}, proof of Theorem 1: moving together is taken for the worst",
        "false",
        1.85,
        apart,
        together,
        together_truth,
    ),
)

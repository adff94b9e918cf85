"""Vanishing votes: only some teachers take part in a query."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ballotine.oracle import votes
from ballotine.oracle.neighbours import Tally
from ballotine.oracle.truth import Truth
from ballotine.privacy import published
from ballotine.types import FloatArray
from ballotine.verification.case import AnyCase, Case, Effort, Points
from ballotine.verification.cases.weights import INDIVIDUALIZED
from ballotine.verification.configurations import large_votes, small_tallies


@dataclass(frozen=True)
class Absence:
    """The votes of the participating teachers, and the number of all teachers."""

    tally: Tally
    teachers: int
    sigma: float

    @property
    def scale(self) -> float:
        """The weight of one vote after rescaling to the number of all teachers."""
        return self.teachers / sum(self.tally)


def every(effort: Effort) -> Iterator[Absence]:
    """Yield small and large tallies with half to all of the teachers."""
    for sigma in (0.35, 0.7):
        yield Absence((17.0, 3.0), 40, sigma)
    for tally in small_tallies(effort, (2, 3), 10):
        present = int(sum(tally))
        for absent in (0, present // 2, present):
            for sigma in (0.7, 3.0, 12.0):
                yield Absence(tally, present + absent, sigma)
    draw = effort.draws("vanishing")
    for vote in large_votes(effort, "vanishing votes", 60, (2, 3, 5)):
        absent = int(draw.integers(0, int(sum(vote.tally))))
        yield Absence(vote.tally, int(sum(vote.tally)) + absent, vote.sigma)


def unscaled_truth(query: Absence, orders: Points) -> Truth:
    """Return the exact cost when participating votes have weight 1."""
    return votes.gnmax(query.tally, query.sigma, orders)


def rescaled_truth(query: Absence, orders: Points) -> Truth:
    """Return the exact cost when participating votes are rescaled."""
    tally = tuple(count * query.scale for count in query.tally)
    return votes.gnmax(tally, query.sigma, orders, query.scale)


def unscaled_cost(query: Absence, orders: Points) -> FloatArray:
    """Return the published cost of a participating vote of weight 1."""
    return published.gnmax(orders, query.sigma)


CASES: tuple[AnyCase, ...] = (
    Case(
        "vanishing/unscaled",
        "α/σ² for each vote that takes part",
        f"{INDIVIDUALIZED}, Proposition 4",
        "holds",
        0.98,
        every,
        unscaled_cost,
        unscaled_truth,
    ),
    Case(
        "vanishing/rescaled",
        "(k/|S|)²α/σ² when votes are rescaled to the sum k",
        f"{INDIVIDUALIZED}, Theorem 1 with the weight k/|S|",
        "holds",
        0.98,
        every,
        lambda query, orders: published.gnmax(orders, query.sigma, query.scale),
        rescaled_truth,
    ),
    Case(
        "vanishing/rescaled-as-unscaled",
        "α/σ² for each vote although votes are rescaled",
        f"{INDIVIDUALIZED}, Proposition 4 with Appendix B's rescaling",
        "false",
        3.96,
        every,
        unscaled_cost,
        rescaled_truth,
    ),
)

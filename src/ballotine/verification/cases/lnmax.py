"""LNMax: one label, Laplace noise on every count."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ballotine.oracle import votes
from ballotine.oracle.neighbours import Tally
from ballotine.oracle.truth import Truth
from ballotine.privacy import published
from ballotine.verification.case import AnyCase, Case, Effort, Points
from ballotine.verification.configurations import large_votes, small_tallies

MOMENTS = "Papernot et al. 2017 (PATE), Theorems 2 and 3"


@dataclass(frozen=True)
class LaplaceVote:
    """One tally under Laplace noise of scale 1/γ."""

    tally: Tally
    gamma: float


def truth(vote: LaplaceVote, orders: Points) -> Truth:
    """Return the oracle's exact two-sided cost of a tally."""
    return votes.lnmax(vote.tally, vote.gamma, orders)


def every(effort: Effort) -> Iterator[LaplaceVote]:
    """Yield small and large tallies with much to little noise."""
    for gamma in (0.1, 1.0) if effort.quick else (0.05, 0.1, 0.3, 1.0, 2.0):
        for tally in small_tallies(effort):
            yield LaplaceVote(tally, gamma)
    for vote in large_votes(effort, "lnmax", 40, (2, 3, 5)):
        yield LaplaceVote(vote.tally, round(2.0 / vote.sigma, 4))


def one_direction(_: Effort) -> Iterator[LaplaceVote]:
    """Yield almost unanimous votes, where the neighbour is far less certain than the tally."""
    yield LaplaceVote((12.0, 0.0), 1.0)
    yield LaplaceVote((50.0, 0.0), 0.2)


CASES: tuple[AnyCase, ...] = (
    Case(
        "lnmax/moments",
        "the smaller of 2γ²l(l+1) and the data-dependent moment, as a Rényi cost",
        f"{MOMENTS}; both directions added",
        "holds",
        0.85,
        every,
        lambda vote, orders: published.lnmax(vote.tally, orders, vote.gamma).ravel(),
        truth,
    ),
    Case(
        "lnmax/pure",
        "the largest cost of any (2γ, 0)-private release, whatever the tally",
        "Kairouz et al. 2015 (randomised response dominates); Mironov 2017, Proposition 5",
        "holds",
        0.85,
        every,
        lambda vote, orders: published.pure(orders, 2.0 * vote.gamma),
        truth,
    ),
    Case(
        "lnmax/one-direction",
        "the data-dependent moment at the q of the tally alone bounds both directions",
        f"{MOMENTS}; Theorem 3 bounds D(tally‖neighbour) only",
        "false",
        1.05,
        one_direction,
        lambda vote, orders: published.lnmax(
            vote.tally, orders, vote.gamma, two_sided=False
        ).ravel(),
        truth,
    ),
)

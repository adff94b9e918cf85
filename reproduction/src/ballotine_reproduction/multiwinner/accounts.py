"""The three accounts side by side, and the search for the noise that answers still survive."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ballotine.metrics import MultiLabelScores
from ballotine.privacy.guarantee import Budget
from ballotine.privacy.multilabel import Norm
from ballotine.voting.multilabel.ballots import UNCLIPPED, Clipping, LabelTallies, SubsetTallies
from ballotine_reproduction.multiwinner.affordable import affordable, repeatable
from ballotine_reproduction.multiwinner.elections import LabelElection
from ballotine_reproduction.multiwinner.summary import counted, judge
from ballotine_reproduction.multiwinner.votes import LabelVotes, SetVotes, Votes

Rule = Callable[[LabelElection], Votes]
"""Makes the votes of a mechanism from the ballots of an election."""

SIGMAS = (0.5, 1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 16, 18, 20, 24, 28, 32)
LOSS = 0.03
"""How far ACC, BAC and mAP may fall below Binary voting without noise."""

FURTHER = 4


def binary(election: LabelElection) -> Votes:
    """Binary voting."""
    return LabelVotes(LabelTallies.from_ballots(election.ballots(), UNCLIPPED))


def clipped(tau: float, norm: Norm = "l2") -> Rule:
    """τ voting."""

    def votes(election: LabelElection) -> Votes:
        return LabelVotes(LabelTallies.from_ballots(election.ballots(), Clipping(tau, norm)))

    return votes


def powerset(tau: int | None = None) -> Rule:
    """Powerset voting, each teacher's most confident τ labels if there is a τ."""

    def votes(election: LabelElection) -> Votes:
        return SetVotes(SubsetTallies.from_ballots(election.ballots(tau), tau))

    return votes


@dataclass(frozen=True)
class Afforded:
    """How many queries of the pool one budget affords.

    Attributes:
        claimed: at the paper's data-independent costs, converted as there.
        corrected: the same with the right constants.
        paper: stopping on the paper's data-dependent costs.
        strict: stopping on true data-independent costs.
        fixed: at exact costs, had the number been fixed beforehand.
    """

    claimed: int
    corrected: int
    paper: int
    strict: int
    fixed: int


def afforded(votes: Votes, sigma: float, budget: Budget) -> Afforded:
    """Count by every account; no count exceeds the pool."""
    pool = votes.queries
    return Afforded(
        min(pool, repeatable(votes.claimed(sigma), budget, "classic")),
        min(pool, repeatable(votes.corrected(sigma), budget, "classic")),
        affordable(lambda rows: votes.paper(sigma, rows), pool, budget, "classic"),
        min(pool, repeatable(votes.strict(sigma), budget)),
        affordable(lambda rows: votes.exact(sigma, rows), pool, budget),
    )


def count_cells(counts: Sequence[Afforded], pool: int) -> tuple[str, str, str]:
    """The cells of a table: paper, strict, fixed."""
    return (
        counted([each.paper for each in counts], pool),
        counted([each.strict for each in counts], pool),
        counted([each.fixed for each in counts], pool),
    )


def largest_noise(
    elections: Sequence[LabelElection], votes: Sequence[Votes], target: MultiLabelScores
) -> float:
    """The largest σ of the grid whose answers keep to the target; the smallest if none does.

    Answers get worse with σ, so the grid is halved, not walked. Where chance ended the halving
    too early, one of the next steps may still do.
    """

    def keeps(place: int) -> bool:
        return _keeps(mean_scores(elections, votes, SIGMAS[place]), target)

    low, high = 0, len(SIGMAS) - 1
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if keeps(middle) else (low, middle - 1)
    further = range(min(low + FURTHER, len(SIGMAS) - 1), low, -1)
    return float(SIGMAS[next((place for place in further if keeps(place)), low)])


def mean_scores(
    elections: Sequence[LabelElection], votes: Sequence[Votes], sigma: float | None
) -> MultiLabelScores:
    """Means over the elections."""
    each = [judge(e, v, sigma) for e, v in zip(elections, votes, strict=True)]
    means = np.mean([(s.acc, s.bac, s.auc, s.map) for s in each], axis=0)
    return MultiLabelScores(*(float(value) for value in means))


def _keeps(reached: MultiLabelScores, target: MultiLabelScores) -> bool:
    return (
        reached.acc >= target.acc - LOSS
        and reached.bac >= target.bac - LOSS
        and reached.map >= target.map - LOSS
    )

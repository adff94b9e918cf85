"""How many queries the three accounts allow, how good the answers are, and which noise to use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ballotine.metrics import MultiLabelScores, score
from ballotine.privacy.guarantee import Budget
from ballotine.privacy.multilabel import Norm
from ballotine.voting.multilabel.ballots import UNCLIPPED, Clipping, LabelTallies, SubsetTallies
from ballotine_reproduction.charts import Line
from ballotine_reproduction.multiwinner.affordable import BUDGET, affordable, repeatable
from ballotine_reproduction.multiwinner.elections import LabelElection
from ballotine_reproduction.multiwinner.votes import LabelVotes, SetVotes, Votes
from ballotine_reproduction.summary import Interval
from ballotine_reproduction.table import Row

Rule = Callable[[LabelElection], Votes]
"""Makes the votes of a mechanism from the ballots of an election."""

SIGMAS = (0.5, 1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 16, 18, 20, 24, 28, 32)
LOSS = 0.03
"""How far ACC, BAC and mAP may fall below Binary voting without noise."""

FURTHER = 4
METRICS = ("ACC", "BAC", "AUC", "mAP")
MODES = {"paper": "dot", "strict": "solid", "fixed": "dash"}
"""Accounts that tables compare, and how their lines are drawn."""


def binary(election: LabelElection) -> Votes:
    """Binary voting."""
    return LabelVotes(LabelTallies.from_ballots(election.ballots(), UNCLIPPED))


def clipped(tau: float, norm: Norm = "l2") -> Rule:
    """τ voting."""

    def votes(election: LabelElection) -> Votes:
        return LabelVotes(LabelTallies.from_ballots(election.ballots(), Clipping(tau, norm)))

    return votes


def powerset(tau: int | None = None) -> Rule:
    """Powerset voting, on each teacher's most confident τ labels if there is a τ."""

    def votes(election: LabelElection) -> Votes:
        return SetVotes(SubsetTallies.from_ballots(election.ballots(tau), tau))

    return votes


BINARY_AND_POWERSET: dict[str, Rule] = {"Binary": binary, "Powerset": powerset()}


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


@dataclass(frozen=True)
class MechanismOutcome:
    """What one mechanism gives at one noise, over all seeds.

    Attributes:
        sigma: the noise; None for none.
        pool: how many queries there are.
        counts: how many of them are answered, by seed; empty if they were not counted.
        scores: how good the answers are, by seed.
    """

    sigma: float | None
    pool: int
    counts: Sequence[Afforded]
    scores: Sequence[MultiLabelScores]

    def queries(self, account: str) -> Interval:
        """Answered queries by one account."""
        return Interval.of([getattr(each, account) for each in self.counts])

    def quality(self, metric: str) -> Interval:
        """One of `METRICS`."""
        return Interval.of([getattr(each, metric.lower()) for each in self.scores])

    def counted(self, *accounts: str) -> Row:
        """A cell with answered queries for each account; the tables' three by default."""
        wanted = accounts or tuple(MODES)
        return tuple(counted([getattr(c, how) for c in self.counts], self.pool) for how in wanted)

    def judged(self) -> Row:
        """A cell for each metric."""
        return judged(self.scores)


def outcome(
    held: Sequence[LabelElection],
    votes: Sequence[Votes],
    sigma: float | None,
    budget: Budget | None = BUDGET,
) -> MechanismOutcome:
    """Answer all queries of these elections.

    Args:
        held: the elections, one per seed.
        votes: the same as one mechanism sees them.
        sigma: its noise; None for none.
        budget: count the queries that it allows; None counts nothing.
    """
    counts = []
    if sigma is not None and budget is not None:
        counts = [afforded(each, sigma, budget) for each in votes]
    scores = [judge(e, v, sigma) for e, v in zip(held, votes, strict=True)]
    return MechanismOutcome(sigma, held[0].queries, counts, scores)


def judge(election: LabelElection, votes: Votes, sigma: float | None) -> MultiLabelScores:
    """How good the answers to an election's queries are; without noise if there is no σ."""
    answers = votes.noiseless() if sigma is None else votes.answers(sigma, election.noise())
    return score(election.truth, answers)


def judged(scores: Sequence[MultiLabelScores]) -> Row:
    """ACC, BAC, AUC and mAP over the repetitions."""
    rows = [(each.acc, each.bac, each.auc, each.map) for each in scores]
    return tuple(Interval.of(column).brief(3) for column in zip(*rows, strict=True))


def counted(values: Sequence[int], pool: int) -> str:
    """Numbers of answered queries; the pool may end before the budget does."""
    text = Interval.of(values).brief()
    ended = sum(value >= pool for value in values)
    if ended == len(values):
        return f"{text} (all)"
    return f"{text} (all in {ended} of {len(values)})" if ended else text


def query_lines(
    mechanism: str,
    steps: Sequence[float],
    found: Sequence[MechanismOutcome],
    colour: int,
    dashes: dict[str, str] = MODES,
) -> list[Line]:
    """Answered queries of one mechanism against something, a line for each account."""
    return [
        Line.of_intervals(
            f"{mechanism}, {account}" if mechanism else account,
            steps,
            [each.queries(account) for each in found],
            dash=dash,
            colour=colour,
        )
        for account, dash in dashes.items()
    ]


def largest_noise(
    elections: Sequence[LabelElection], votes: Sequence[Votes], target: MultiLabelScores
) -> float:
    """The largest σ of the grid whose answers keep to the target; the smallest if none does.

    Answers get worse with σ, so the grid is searched by halving. Where chance ended the search
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

"""An election: tallies in the order in which they are asked, and the plan that counts them.

Methods turn the same teachers into different elections: standard (everybody has the smallest
budget), upsampling, weighting and vanishing. Budgets are given per segment of the layout.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from ballotine.noise import QueryNoise, SeededNoise
from ballotine.privacy.reach import Reach
from ballotine.types import FloatArray, IntArray
from ballotine.voting import ConfidentGNMax, GNMax, Mechanism, Tallies
from ballotine.voting.individual import Plan, Scheme, Upsampling, Vanishing, Weighting
from ballotine.voting.individual.setting import scaled
from ballotine_reproduction.individualized.layout import Allocation, Layout
from ballotine_reproduction.individualized.sets import SplitSet
from ballotine_reproduction.teaching import Ballots

DELTA = 1e-5


@dataclass(frozen=True, eq=False)
class GroupElection:
    """A plan, and the tallies it makes of the queries in the order of asking."""

    plan: Plan
    tallies: Tallies

    @property
    def turns(self) -> IntArray:
        """Every query has the next turn."""
        return np.arange(len(self.tallies))

    def answers(self, seed: int) -> IntArray:
        """A class or ABSTAIN for every query; seeded, since these are experiments."""
        keys = [n.to_bytes(8, "big") for n in range(len(self.tallies))]
        return self.plan.mechanism.release(self.tallies, QueryNoise(SeededNoise(seed), keys))


@dataclass(frozen=True, eq=False)
class SegmentVotes:
    """Ballots of all teachers, in the order of asking, and where each teacher belongs.

    Attributes:
        ballots: class numbers, shape (queries, teachers).
        truth: the class of each query, to evaluate the answers.
        segment: the segment each teacher's records come from.
        layer: the layer that dealt them; 0 is the standard ensemble.
        classes: how many there are.
        mechanism: the aggregation of the standard ensemble.
    """

    ballots: Ballots
    truth: IntArray
    segment: IntArray
    layer: IntArray
    classes: int
    mechanism: ConfidentGNMax

    @classmethod
    def saved(
        cls, ballots: Ballots, truth: IntArray, layout: Layout, mechanism: ConfidentGNMax, seed: int
    ) -> SegmentVotes:
        """Ballots of disjoint teachers, who are assigned to segments at random."""
        teachers = ballots.shape[1]
        segments = np.repeat(np.arange(len(layout.edges)), layout.cuts(teachers))
        chosen = np.random.default_rng([seed, 3]).permutation(segments)
        first = np.zeros(teachers, dtype=np.int64)
        return cls(ballots, truth, chosen, first, int(truth.max()) + 1, mechanism)

    @classmethod
    def of(
        cls, ballots: Ballots, rows: IntArray, deal: Allocation, source: SplitSet
    ) -> SegmentVotes:
        """Ballots on these rows by the teachers of an allocation."""
        truth = source.y[rows]
        return cls(ballots, truth, deal.segment, deal.layer, source.classes, source.mechanism)

    def shuffled(self, seed: int) -> SegmentVotes:
        """The same teachers asked in another order."""
        order = np.random.default_rng([seed, 4]).permutation(len(self.truth))
        return replace(self, ballots=self.ballots[order], truth=self.truth[order])

    def base(self, budgets: FloatArray) -> IntArray:
        """Teachers of the first layer, those with the smallest budgets first."""
        first = np.flatnonzero(self.layer == 0)
        return first[np.argsort(budgets[self.segment[first]], kind="stable")]

    def plan(self, scheme: Scheme, budgets: FloatArray, mechanism: Mechanism) -> Plan:
        """Plan as if every teacher had one record, which gives the groups the same shares."""
        own = budgets[self.segment[self.layer == 0]]
        records = tuple((name_of(e), int((own == e).sum())) for e in np.unique(own))
        return _plan(scheme, records, mechanism, self.classes)

    def elect(self, plan: Plan, members: IntArray) -> GroupElection:
        """Let these teachers vote as planned."""
        votes = self.ballots[:, members].astype(np.int64)
        return GroupElection(plan, plan.tally(votes, self.classes, np.arange(len(votes))))


@lru_cache(maxsize=256)
def _plan(
    scheme: Scheme, records: tuple[tuple[str, int], ...], mechanism: Mechanism, classes: int
) -> Plan:
    """Plans are public and slow to balance; every voting of a cell uses the same one."""
    teachers = sum(number for _, number in records)
    return scheme.plan(dict(records), teachers, mechanism, classes, DELTA)


Method = Callable[[SegmentVotes, FloatArray], GroupElection]
"""Makes an election of an ensemble and a budget for each segment."""


def name_of(epsilon: float) -> str:
    """The name of the group with that budget."""
    return f"{epsilon:.6g}"


def named(budgets: FloatArray) -> dict[str, float]:
    """ε by group."""
    return {name_of(epsilon): float(epsilon) for epsilon in np.unique(budgets)}


def standard(ensemble: SegmentVotes, budgets: FloatArray) -> GroupElection:
    """Everybody has the smallest budget: one budget gives standard PATE."""
    return weighting(ensemble, np.full_like(budgets, budgets.min()))


def without_check(ensemble: SegmentVotes, budgets: FloatArray) -> GroupElection:
    """Standard GNMax: every query is answered."""
    same = np.full_like(budgets, budgets.min())
    plan = ensemble.plan(Weighting(named(same)), same, GNMax(ensemble.mechanism.sigma))
    return ensemble.elect(plan, ensemble.base(same))


def upsampling(ensemble: SegmentVotes, budgets: FloatArray) -> GroupElection:
    """Each record is taught as many times as its budget is a multiple of the smallest one."""
    scheme = Upsampling(named(budgets), rule="proportional")
    plan = ensemble.plan(scheme, budgets, ensemble.mechanism)
    copies = np.array([plan.reach(name_of(e)).teachers for e in budgets])
    return ensemble.elect(plan, np.flatnonzero(ensemble.layer < copies[ensemble.segment]))


def weighting(ensemble: SegmentVotes, budgets: FloatArray) -> GroupElection:
    """Weights proportional to budgets, mean 1 (the paper's Appendix C)."""
    scheme = Weighting(named(budgets), rule="proportional")
    plan = ensemble.plan(scheme, budgets, ensemble.mechanism)
    return ensemble.elect(plan, ensemble.base(budgets))


def balanced_weighting(ensemble: SegmentVotes, budgets: FloatArray) -> GroupElection:
    """Weights with which all budgets last equally long at tight data-independent costs."""
    plan = ensemble.plan(Weighting(named(budgets)), budgets, ensemble.mechanism)
    return ensemble.elect(plan, ensemble.base(budgets))


def weighted(
    ensemble: SegmentVotes, budgets: FloatArray, weights: dict[str, float]
) -> GroupElection:
    """Given weights, one per group."""
    plan = weighting(ensemble, budgets).plan
    groups = tuple(replace(g, reach=Reach(weights[g.name])) for g in plan.groups)
    return ensemble.elect(replace(plan, groups=groups), ensemble.base(budgets))


def vanishing(ensemble: SegmentVotes, budgets: FloatArray) -> GroupElection:
    """Teachers of strict groups vote on some queries only: 1/c⁴ of them at budget ratio c.

    Noise and threshold are scaled down to the number of voters (the paper's Appendix C).
    """
    scheme, mechanism = Vanishing(named(budgets), rule="quartic"), ensemble.mechanism
    plan = ensemble.plan(scheme, budgets, mechanism)
    fitting = scaled(mechanism, plan.voters / plan.teachers)
    return ensemble.elect(replace(plan, mechanism=fitting), ensemble.base(budgets))

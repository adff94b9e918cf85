"""The votes of an election as one mechanism sees them: what it answers, and what that costs.

There are three accounts, all for noise on both counts of a label (the paper's Algorithm 2) or on
every allowed set:

- paper: its claims. Data-independent kα/σ² (Binary), ατ²/σ² (τ voting, which is false), 2ατ²/σ²
  (l1 clipping) and α/σ² (Powerset). Data-dependent: Theorem 6 in its published, one-directional
  form, label by label (or over the sets, with q by Proposition B.1), and never above the
  data-independent claim.
- strict: data-independent and true; what a real run may spend and print.
- exact: the two-sided cost of these votes, true and private (under clipping, a bound on it).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr, logsumexp, ndtri_exp

from ballotine.noise import QueryNoise
from ballotine.privacy import multilabel, powerset, published
from ballotine.types import FloatArray, IntArray
from ballotine.voting.mechanism import Mechanism
from ballotine.voting.multilabel.ballots import LabelTallies, SubsetTallies
from ballotine.voting.multilabel.binary import BinaryVoting
from ballotine.voting.multilabel.clipped import ClippedVoting
from ballotine.voting.multilabel.powerset import PowersetVoting
from ballotine_reproduction.multiwinner.affordable import ORDERS

REASON = "an experiment on public records"
EVERY = slice(None)
_ROOT2 = float(np.sqrt(2.0))


def worst_cost(mechanism: Mechanism, labels: int) -> FloatArray:
    """All that one query may release, whatever the votes, shape (orders,)."""
    costs = [event.cost(ORDERS) for event in mechanism.events(labels)]
    return np.asarray(np.sum(costs, axis=0))


@dataclass(frozen=True, eq=False)
class Votes(ABC):
    """What the experiments ask of a mechanism."""

    tallies: LabelTallies | SubsetTallies

    @property
    def queries(self) -> int:
        """How many were voted on."""
        return len(self.tallies)

    @property
    def counts(self) -> FloatArray:
        """Votes of each query, shape (queries, labels or listed sets)."""
        return self.tallies.unlock(reason=REASON)

    @property
    @abstractmethod
    def labels(self) -> int:
        """How many labels a ballot may name."""

    @abstractmethod
    def mechanism(self, sigma: float) -> Mechanism:
        """The mechanism these votes are cast for."""

    def answers(self, sigma: float, noise: QueryNoise) -> IntArray:
        """Released answers, 0 or 1, shape (queries, labels)."""
        return self.mechanism(sigma).release(self.tallies, noise)

    @abstractmethod
    def noiseless(self) -> IntArray:
        """What would be answered without noise, same shape."""

    @abstractmethod
    def gaps(self) -> FloatArray:
        """How many votes the winners lie ahead, in any shape."""

    @abstractmethod
    def claimed(self, sigma: float) -> FloatArray:
        """The paper's data-independent cost of a query, shape (orders,)."""

    @abstractmethod
    def corrected(self, sigma: float) -> FloatArray:
        """The same with the right constant, shape (orders,)."""

    @abstractmethod
    def paper(self, sigma: float, rows: slice = EVERY) -> FloatArray:
        """The paper's data-dependent cost of each query, shape (queries, orders)."""

    def strict(self, sigma: float) -> FloatArray:
        """The true data-independent cost of a query, shape (orders,)."""
        return worst_cost(self.mechanism(sigma), self.labels)

    @abstractmethod
    def exact(self, sigma: float, rows: slice = EVERY) -> FloatArray:
        """The true data-dependent cost of each query, shape (queries, orders)."""


@dataclass(frozen=True, eq=False)
class LabelVotes(Votes):
    """Binary voting, or τ voting when ballots are clipped."""

    tallies: LabelTallies

    @property
    def labels(self) -> int:
        """How many labels a ballot may name."""
        return self.tallies.classes

    @property
    def teachers(self) -> float:
        """How many vote."""
        return self.tallies.teachers

    def mechanism(self, sigma: float) -> Mechanism:
        """The mechanism these votes are cast for."""
        clipping = self.tallies.clipping
        if clipping.tau is None:
            return BinaryVoting(sigma)
        return ClippedVoting(sigma, clipping.tau, clipping.norm)

    def noiseless(self) -> IntArray:
        """A label with more than half of the votes is present."""
        return (self.counts > self.teachers / 2.0).astype(np.int64)

    def gaps(self) -> FloatArray:
        """Between positive and negative votes, of every label of every query."""
        return np.abs(2.0 * self.counts - self.teachers)

    def claimed(self, sigma: float) -> FloatArray:
        """What the paper charges whatever the votes: kα/σ², ατ²/σ² or 2ατ²/σ²."""
        clipping = self.tallies.clipping
        if clipping.tau is None:
            return np.asarray(self.tallies.classes * published.gnmax(ORDERS, sigma))
        factor = 1.0 if clipping.norm == "l2" else 2.0
        return np.asarray(factor * published.gnmax(ORDERS, sigma, clipping.tau))

    def corrected(self, sigma: float) -> FloatArray:
        """αΔ²/σ²."""
        clipping = self.tallies.clipping
        return multilabel.gaussian(ORDERS, sigma, self.tallies.classes, clipping.tau, clipping.norm)

    def theorem6(self, sigma: float, rows: slice = EVERY) -> FloatArray:
        """As published, in one direction, for every label, shape (queries, labels, orders)."""
        counts, tau = self.counts[rows], self.tallies.clipping.tau
        pairs = np.stack((counts.ravel(), self.teachers - counts.ravel()), axis=1)
        reach = 1.0 if tau is None else min(1.0, tau)
        each = published.gnmax_data_dependent(pairs, ORDERS, sigma, reach, two_sided=False)
        return each.reshape(*counts.shape, ORDERS.size)

    def paper(self, sigma: float, rows: slice = EVERY) -> FloatArray:
        """Theorem 6 for every label, summed; at most what is claimed anyway."""
        total = self.theorem6(sigma, rows).sum(axis=1)
        claim: FloatArray = np.minimum(total, self.claimed(sigma))
        return claim

    def exact(self, sigma: float, rows: slice = EVERY) -> FloatArray:
        """Both directions, over all ballots that one teacher may have cast and may cast."""
        clipping = self.tallies.clipping
        return multilabel.data_dependent(
            self.counts[rows], self.teachers, ORDERS, sigma, clipping.tau, clipping.norm
        )


@dataclass(frozen=True, eq=False)
class SetVotes(Votes):
    """Powerset voting: teachers vote for whole sets of labels."""

    tallies: SubsetTallies

    @property
    def labels(self) -> int:
        """How many labels there are."""
        return self.tallies.labels

    @property
    def allowed(self) -> int:
        """How many sets a teacher may vote for."""
        return powerset.allowed_subsets(self.tallies.labels, self.tallies.most)

    def mechanism(self, sigma: float) -> Mechanism:
        """The mechanism these votes are cast for."""
        return PowersetVoting(sigma, self.tallies.most)

    def noiseless(self) -> IntArray:
        """The most popular set."""
        sets = self.tallies.unlock_sets(reason=REASON)
        best = np.take_along_axis(sets, self.counts.argmax(axis=1)[:, None, None], axis=1)[:, 0]
        return np.unpackbits(best, axis=1, count=self.tallies.labels).astype(np.int64)

    def gaps(self) -> FloatArray:
        """Between the most popular set and the next, of every query."""
        best = np.partition(np.pad(self.counts, ((0, 0), (1, 0))), (-2, -1), axis=1)
        return np.asarray(best[:, -1] - best[:, -2])

    def claimed(self, sigma: float) -> FloatArray:
        """What the paper charges whatever the votes: α/σ²."""
        return published.gnmax(ORDERS, sigma)

    def corrected(self, sigma: float) -> FloatArray:
        """α/σ² is right, if every allowed set has noise."""
        return self.claimed(sigma)

    def paper(self, sigma: float, rows: slice = EVERY) -> FloatArray:
        """Theorem 6 over all allowed sets."""
        log_q = self._log_error(self.counts[rows], sigma)
        # The theorem knows the votes through q alone: two classes with this q cost the same.
        gaps = -_ROOT2 * sigma * ndtri_exp(np.minimum(log_q, np.log(0.5)))
        pairs = np.stack((np.maximum(gaps, 0.0), np.zeros_like(gaps)), axis=1)
        return published.gnmax_data_dependent(pairs, ORDERS, sigma, two_sided=False)

    def exact(self, sigma: float, rows: slice = EVERY) -> FloatArray:
        """Both directions, over all moves of one vote between allowed sets."""
        return powerset.data_dependent(self.counts[rows], self.allowed, ORDERS, sigma)

    def _log_error(self, counts: FloatArray, sigma: float) -> FloatArray:
        """Return ln q: every set but the top one may win, those without votes included."""
        ranked = -np.sort(-counts, axis=1)
        behind = np.pad(ranked[:, 1:], ((0, 0), (0, 1))) - ranked[:, :1]
        voted = (ranked[:, 1:] > 0).astype(np.float64)
        silent = self.allowed - 1.0 - voted.sum(axis=1, keepdims=True)
        tails = log_ndtr(behind / (_ROOT2 * sigma))
        return np.asarray(logsumexp(tails, axis=1, b=np.hstack((voted, silent))))

"""Advice on noise from assumed votes: what each σ would cost, and how often it would err.

Nothing private is read here, and nothing private may be passed in. Votes of the teachers
whose records are to be protected are private even on public queries: a σ chosen by them would
release something about them that no ledger accounts for.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ballotine.errors import ParameterError
from ballotine.ledger import Mode
from ballotine.privacy import conversion, plan
from ballotine.privacy.guarantee import Budget
from ballotine.privacy.orders import DEFAULT_ORDERS
from ballotine.types import ABSTAIN, FloatArray
from ballotine.voting.assumed import PUBLIC, AssumedVotes
from ballotine.voting.confident import ConfidentGNMax
from ballotine.voting.mechanism import Mechanism
from ballotine.voting.planning import other_parameters
from ballotine.voting.publication import fixed_terms, plan_publication
from ballotine.voting.tally import Tallies

ORDERS: FloatArray = 1.0 + np.geomspace(0.02, 1000.0, 45)
"""For exact costs, fewer orders than usual: ε is at most 1 % larger."""
RANGE = (0.03, 0.5)
"""The range of σ to compare, as shares of the number of teachers."""
STEPS = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0)
AS_GOOD = 0.005
"""Shares of wrong answers that differ by less count as equal."""
FINER = 5
MIN_ANSWERED = 1e-6


@dataclass(frozen=True)
class NoiseRow:
    """The expected effect of one σ.

    Attributes:
        sigma: noise on each count.
        threshold: votes that the check requires; None without a check.
        sigma_threshold: noise of the check.
        answered: expected share of queries that are answered.
        wrong: expected share of wrong answers, from noise or from the teachers' own mistakes.
        wrong_error: standard error of that share, if votes were sampled.
        epsilon_strict: ε of all queries, whatever the votes.
        epsilon_exact: expected ε of all queries on the assumed votes.
        epsilon_error: standard error of the latter, if votes were sampled.
        answers_strict: how many answers the budget affords, whatever the votes.
        answers_exact: how many it affords on the assumed votes.
        epsilon_published: the ε that fixed mode states after publishing, at the median of its
            noise; None in strict mode, or if the exact ε already exceeds the budget.
    """

    sigma: float
    threshold: float | None
    sigma_threshold: float | None
    answered: float
    wrong: float
    wrong_error: float
    epsilon_strict: float
    epsilon_exact: float
    epsilon_error: float
    answers_strict: int
    answers_exact: int
    epsilon_published: float | None = None


@dataclass(frozen=True)
class Advice:
    """A comparison of noise levels, and the recommended one; None if none keeps the budget."""

    rows: tuple[NoiseRow, ...]
    recommended: NoiseRow | None


@dataclass(frozen=True)
class NoiseQuestion:
    """Everything that is planned except the noise.

    Attributes:
        votes: the assumed votes.
        queries: how many will be asked; fixed beforehand.
        budget: the ε that should not be exceeded, and δ.
        kind: the class of the mechanism.
        given: its parameters that are not derived from the noise.
    """

    votes: AssumedVotes
    queries: int
    budget: Budget
    kind: type[Mechanism] = ConfidentGNMax
    given: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.queries < 1:
            raise ParameterError(f"a plan needs at least one query, got {self.queries}")
        other_parameters(self.kind, self.given)

    def mechanism(self, sigma: float) -> Mechanism:
        """Return the mechanism with this noise."""
        return self.kind.planned(sigma, self.votes.teachers, **self.given)

    def row(self, sigma: float) -> NoiseRow:
        """Return the expected effect of this noise."""
        votes, mechanism = self.votes, self.mechanism(sigma)
        threshold, sigma_threshold = next(iter(mechanism.checks), (None, None))
        passing, right = mechanism.chances(votes.counts)
        answered = float(votes.mean(passing))
        if answered < MIN_ANSWERED:
            raise ParameterError("almost no query would pass this check: lower its threshold")
        mistaken = passing * (1 - right)
        wrong = float(votes.mean(mistaken)) / answered
        strict, answers_strict = self._strict(mechanism, answered)
        exact, error, answers_exact = self._exact(mechanism, answered)
        return NoiseRow(
            sigma,
            threshold,
            sigma_threshold,
            answered,
            wrong,
            votes.error((mistaken - wrong * passing) / answered),
            strict,
            exact,
            error,
            answers_strict,
            answers_exact,
        )

    def advise(self, mode: Mode, sigmas: Sequence[float] | None = None) -> Advice:
        """Compare noise levels and recommend one.

        In strict mode the recommendation is the smallest noise that keeps the budget. In fixed
        mode it is the cheapest, by the ε expected to be published, among those that keep the
        budget and whose share of wrong answers is within half a percentage point of the lowest:
        below some noise, answers get more expensive and hardly better.

        Args:
            mode: strict or fixed.
            sigmas: values of σ to compare; by default round numbers in proportion to the number
                of teachers.
        """
        if mode is Mode.PAPER:
            raise ParameterError("noise cannot be planned for paper mode: it keeps no budget")
        tried = sorted(set(round_sigmas(self.votes.teachers) if sigmas is None else sigmas))
        rows = [self.row(sigma) for sigma in tried]
        if mode is Mode.FIXED:
            rows = [self._published(row) for row in rows]
        best = self._best(rows, mode)
        if best is not None and sigmas is None and mode is Mode.STRICT:
            best = self._finer(rows, best)
            rows = sorted({*rows, best}, key=lambda row: row.sigma)
        return Advice(tuple(rows), best)

    def _finer(self, rows: list[NoiseRow], best: NoiseRow) -> NoiseRow:
        """Return the best row between the best one and the next smaller noise."""
        low = rows[max(0, rows.index(best) - 1)].sigma
        steps = np.geomspace(low, best.sigma, FINER + 2)[1:-1]
        between = {float(f"{sigma:.3g}") for sigma in steps} - {best.sigma}
        found = self._best([best, *(self.row(sigma) for sigma in sorted(between))], Mode.STRICT)
        return best if found is None else found

    def _best(self, rows: Sequence[NoiseRow], mode: Mode) -> NoiseRow | None:
        if mode is Mode.STRICT:
            kept = [row for row in rows if row.epsilon_strict <= self.budget.epsilon]
            return min(kept, key=lambda row: row.sigma, default=None)
        kept = [row for row in rows if _stated(row) <= self.budget.epsilon]
        fewest = min((row.wrong for row in kept), default=0.0)
        good = [row for row in kept if row.wrong <= fewest + AS_GOOD]
        return min(good, key=_stated, default=None)

    def _published(self, row: NoiseRow) -> NoiseRow:
        """Return the row with the ε that fixed mode, planned as usual, would publish."""
        if row.epsilon_exact > self.budget.epsilon:
            return row
        mechanism, delta = self.mechanism(row.sigma), self.budget.delta
        teachers, classes = self.votes.teachers, self.votes.classes
        publication, _ = plan_publication(mechanism, teachers, classes, self.queries, delta)
        expected = publication.log_release(mechanism, delta).expected(
            self.votes.places(self.queries)
        )
        ceiling = fixed_terms(mechanism, publication, self.queries, delta).loosest.epsilon
        return replace(row, epsilon_published=min(expected, ceiling))

    def _strict(self, mechanism: Mechanism, answered: float) -> tuple[float, int]:
        """Return ε of all queries and the answers that the budget affords, whatever the votes."""
        charges = mechanism.expected(self.votes.classes, answered)
        each = np.sum([times * event.cost(DEFAULT_ORDERS) for event, times in charges], axis=0)
        asked = [(event, self.queries * times) for event, times in charges]
        spent = plan.epsilon_of(asked, self.budget.delta)
        return spent, self._answers(answered, DEFAULT_ORDERS, each)

    def _exact(self, mechanism: Mechanism, answered: float) -> tuple[float, float, int]:
        """Return ε on the assumed votes, its standard error, and the affordable answers."""
        unseen = np.full(len(self.votes.counts), ABSTAIN)
        private = mechanism.costs(Tallies(self.votes.counts), unseen, ORDERS, "exact")
        costs = private.unlock(reason=PUBLIC)
        each = self.votes.mean(costs)
        with warnings.catch_warnings():
            # At the edge of the grid ε is slightly too large, which is good enough here.
            warnings.simplefilter("ignore", conversion.OrderGridWarning)
            spent, order = conversion.epsilon(ORDERS, self.queries * each, self.budget.delta)
        best = int(np.argmin(np.abs(ORDERS - order)))
        error = self.queries * self.votes.error(costs[:, best])
        return spent, error, self._answers(answered, ORDERS, each)

    def _answers(self, answered: float, orders: FloatArray, each: FloatArray) -> int:
        """Return how many answers the budget affords if each query costs this much."""
        allowed = conversion.allowance(orders, self.budget.epsilon, self.budget.delta)
        return math.floor(answered * max(0, math.floor(float(np.max(allowed / each)))))


def round_sigmas(teachers: int) -> list[float]:
    """Return round numbers from 3 to 50 % of the number of teachers."""
    low, high = (share * teachers for share in RANGE)
    tens = 10.0 ** np.arange(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [float(f"{s:g}") for s in np.outer(tens, STEPS).ravel() if low <= s <= high]


def _stated(row: NoiseRow) -> float:
    """Return the ε to expect in fixed mode; infinite if none was computed."""
    return math.inf if row.epsilon_published is None else row.epsilon_published

"""Confident-GNMax: answer only where the teachers seem to agree (Papernot et al. 2018, Alg. 1)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import ndtr

from ballotine.agreement import chance_right
from ballotine.ledger import Events
from ballotine.noise import QueryNoise, positive
from ballotine.oracle.bits import log_bit
from ballotine.oracle.gaussian import argmax_law
from ballotine.oracle.neighbours import Tally
from ballotine.privacy import envelope, exact, published
from ballotine.privacy.events import Event, GaussianCheck
from ballotine.privacy.plan import Charges
from ballotine.privacy.reach import ONE_VOTE, Reach
from ballotine.types import ABSTAIN, FloatArray, IntArray
from ballotine.voting.gnmax import NOISE, PRICING, argmax_event, noisy_argmax
from ballotine.voting.mechanism import AuditDefault, Bounds, Mechanism, require_threshold
from ballotine.voting.parameters import parameter
from ballotine.voting.tally import Tallies

CHECK_RATIO = 3.75
"""σ of the check over σ of the answer, as in Scalable PATE's experiments (150 and 40)."""
THRESHOLD_SHARE = 0.8
"""Share of the teachers that the check's threshold asks for, as there (200 of 250)."""


@dataclass(frozen=True)
class ConfidentGNMax(Mechanism):
    """Check max(counts) + N(0, σ1²) ≥ T; if it holds, answer as GNMax, else abstain.

    The check is paid for by every query, the answer by answered ones only: whether a
    query was answered is itself public.

    Attributes:
        sigma: standard deviation of the noise on each class's count, in votes.
        threshold: votes the noisy top count must reach.
        sigma_threshold: standard deviation of the noise of the check.
    """

    sigma: float = field(metadata=NOISE)
    threshold: float = field(
        metadata=parameter("Votes that the noisy top count must reach.", votes=1)
    )
    sigma_threshold: float = field(
        metadata=parameter("Noise of that check, in votes.", above=0, votes=1)
    )
    name: ClassVar[str] = "confident-gnmax"
    analyses: ClassVar[frozenset[Bounds]] = frozenset({"published", "tight", "exact"})
    individual: ClassVar[bool] = True
    publishable: ClassVar[bool] = True
    planned_by: ClassVar[str] = "sigma"
    audit: ClassVar[AuditDefault | None] = AuditDefault(
        {"sigma": 2.0, "threshold": 2.0, "sigma_threshold": 1.0}, teachers=2
    )

    def __post_init__(self) -> None:
        positive(self.sigma)
        positive(self.sigma_threshold)
        require_threshold(self.threshold)

    @property
    def checks(self) -> tuple[tuple[float, float], ...]:
        """Of the largest count."""
        return ((self.threshold, self.sigma_threshold),)

    def events(self, classes: int, reach: Reach = ONE_VOTE) -> Events:
        """A check and, at worst, a noisy argmax."""
        return (
            GaussianCheck(self.sigma_threshold, reach.votes),
            argmax_event(self.sigma, classes, reach),
        )

    def realised(self, answers: IntArray, classes: int, reach: Reach = ONE_VOTE) -> Counter[Event]:
        """A check for every query, an argmax for each that was answered."""
        check, argmax = self.events(classes, reach)
        answered = int(np.count_nonzero(answers != ABSTAIN))
        return Counter({check: len(answers)}) + Counter({argmax: answered})

    def release(self, tallies: Tallies, noise: QueryNoise) -> IntArray:
        """Noise is drawn for every query alike, answered or not."""
        counts = tallies.unlock(reason="releasing a checked noisy argmax")
        check = counts.max(axis=1) + noise.gaussian(self.sigma_threshold, 1)[:, 0]
        winners = noisy_argmax(counts, self.sigma, noise)
        return np.where(check >= self.threshold, winners, np.int64(ABSTAIN))

    def log_law(self, tally: Tally) -> FloatArray:
        """The check fails, or it passes and a class wins."""
        fails, passes = log_bit((max(tally) - self.threshold) / self.sigma_threshold)
        return np.concatenate(([fails], passes + argmax_law(tally, self.sigma)))

    @classmethod
    def planned(cls, noise: float, teachers: int, **given: Any) -> Self:
        """With the check of Scalable PATE's experiments, in proportion, unless it is given."""
        check = {
            "threshold": THRESHOLD_SHARE * teachers,
            "sigma_threshold": CHECK_RATIO * noise,
        }
        return cls(noise, **check | given)

    def expected(self, classes: int, answered: float) -> Charges:
        """A check for every query, an argmax for those that are answered."""
        check, argmax = self.events(classes)
        return [(check, 1.0), (argmax, answered)]

    def chances(self, counts: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The check passes by the largest count; who wins does not depend on it."""
        passing = ndtr((counts.max(axis=1) - self.threshold) / self.sigma_threshold)
        return passing, chance_right(counts, self.sigma)

    def envelope(self, teachers: int, classes: int, order: float) -> FloatArray:
        """Of the exact cost, by top count and runner-up."""
        check = (self.threshold, self.sigma_threshold)
        return envelope.confident_gnmax(
            teachers, classes, order, self.sigma, *check, runner_up=True
        )

    def _published(
        self, tallies: Tallies, answers: IntArray, orders: FloatArray, reach: Reach
    ) -> FloatArray:
        """Theorem 6 on answered queries plus a check on all."""
        counts = tallies.unlock(reason=PRICING)
        check = published.threshold(orders, self.sigma_threshold, reach.votes)
        costs = np.tile(check, (len(counts), 1))
        answered = answers != ABSTAIN
        if answered.any():
            costs[answered] += published.gnmax_data_dependent(
                counts[answered], orders, self.sigma, reach.votes
            )
        return costs

    def _exact(self, tallies: Tallies, orders: FloatArray, reach: Reach) -> FloatArray:
        """Of the whole law: abstain, or a class."""
        counts = tallies.unlock(reason=PRICING)
        check = (self.threshold, self.sigma_threshold)
        return exact.confident_gnmax(
            counts, orders, self.sigma, *check, reach.weight, reach.teachers
        )

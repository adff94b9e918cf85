"""Confident-GNMax: answer only where the teachers seem to agree (Papernot et al. 2018, Alg. 1)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import ndtr

from ballotine.agreement import chance_right
from ballotine.ledger import Events
from ballotine.noise import QueryNoise, check_noise_scale
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
"""The check's threshold as a share of the teachers, as in those experiments (200 of 250)."""


@dataclass(frozen=True)
class ConfidentGNMax(Mechanism):
    """Check max(counts) + N(0, σ1²) ≥ T; if it holds, answer as GNMax, else abstain.

    Every query pays for the check, and only answered ones for the answer: whether a query was
    answered is itself public.

    Attributes:
        sigma: standard deviation of the noise on each class's count, in votes.
        threshold: votes that the noisy top count must reach.
        sigma_threshold: standard deviation of the noise on the check.
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
        check_noise_scale(self.sigma)
        check_noise_scale(self.sigma_threshold)
        require_threshold(self.threshold)

    @property
    def checks(self) -> tuple[tuple[float, float], ...]:
        """The check of the largest count."""
        return ((self.threshold, self.sigma_threshold),)

    def events(self, classes: int, reach: Reach = ONE_VOTE) -> Events:
        """Return a check and, at worst, a noisy argmax."""
        return (
            GaussianCheck(self.sigma_threshold, reach.votes),
            argmax_event(self.sigma, classes, reach),
        )

    def realised(self, answers: IntArray, classes: int, reach: Reach = ONE_VOTE) -> Counter[Event]:
        """Return a check for every query and an argmax for each answered one."""
        check, argmax = self.events(classes, reach)
        answered = int(np.count_nonzero(answers != ABSTAIN))
        return Counter({check: len(answers)}) + Counter({argmax: answered})

    def release(self, tallies: Tallies, noise: QueryNoise) -> IntArray:
        """Check every query and answer where it passes; noise is drawn for all of them."""
        counts = tallies.unlock(reason="releasing a checked noisy argmax")
        check = counts.max(axis=1) + noise.gaussian(self.sigma_threshold, 1)[:, 0]
        winners = noisy_argmax(counts, self.sigma, noise)
        return np.where(check >= self.threshold, winners, np.int64(ABSTAIN))

    def log_law(self, tally: Tally) -> FloatArray:
        """Return the law: the check fails, or it passes and a class wins."""
        fails, passes = log_bit((max(tally) - self.threshold) / self.sigma_threshold)
        return np.concatenate(([fails], passes + argmax_law(tally, self.sigma)))

    @classmethod
    def planned(cls, noise: float, teachers: int, **given: Any) -> Self:
        """Use the check of Scalable PATE's experiments, scaled in proportion, unless given."""
        check = {
            "threshold": THRESHOLD_SHARE * teachers,
            "sigma_threshold": CHECK_RATIO * noise,
        }
        return cls(noise, **check | given)

    def expected(self, classes: int, answered: float) -> Charges:
        """Return a check for every query and an argmax for the answered share."""
        check, argmax = self.events(classes)
        return [(check, 1.0), (argmax, answered)]

    def chances(self, counts: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the chances; whether the check passes does not affect who wins."""
        passing = ndtr((counts.max(axis=1) - self.threshold) / self.sigma_threshold)
        return passing, chance_right(counts, self.sigma)

    def envelope(self, teachers: int, classes: int, order: float) -> FloatArray:
        """Return an upper bound on the exact cost, by top count and runner-up."""
        check = (self.threshold, self.sigma_threshold)
        return envelope.confident_gnmax(
            teachers, classes, order, self.sigma, *check, runner_up=True
        )

    def _published(
        self, tallies: Tallies, answers: IntArray, orders: FloatArray, reach: Reach
    ) -> FloatArray:
        """Return the cost by Theorem 6 on answered queries, plus a check on all queries."""
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
        """Return the cost of the whole law: abstain, or a class."""
        counts = tallies.unlock(reason=PRICING)
        check = (self.threshold, self.sigma_threshold)
        return exact.confident_gnmax(
            counts, orders, self.sigma, *check, reach.weight, reach.teachers
        )

"""Confident-GNMax: answer only where the teachers seem to agree (Papernot et al. 2018, Alg. 1)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ballotine.ledger import Events
from ballotine.noise import QueryNoise, positive
from ballotine.privacy import exact, published
from ballotine.privacy.events import Event, GaussianCheck
from ballotine.privacy.reach import ONE_VOTE, Reach
from ballotine.types import ABSTAIN, FloatArray, IntArray
from ballotine.voting.gnmax import PRICING, argmax_event, noisy_argmax
from ballotine.voting.mechanism import (
    Bounds,
    Mechanism,
    require_threshold,
)
from ballotine.voting.tally import Tallies


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

    sigma: float
    threshold: float
    sigma_threshold: float
    name: ClassVar[str] = "confident-gnmax"

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

    def _data_dependent(
        self,
        tallies: Tallies,
        answers: IntArray,
        orders: FloatArray,
        bounds: Bounds,
        reach: Reach,
    ) -> FloatArray:
        """Published: Theorem 6 on answered queries plus a check on all; exact: the whole law."""
        counts = tallies.unlock(reason=PRICING)
        if bounds == "exact":
            return exact.confident_gnmax(
                counts,
                orders,
                self.sigma,
                self.threshold,
                self.sigma_threshold,
                reach.weight,
                reach.teachers,
            )
        check = published.threshold(orders, self.sigma_threshold, reach.votes)
        costs = np.tile(check, (len(counts), 1))
        answered = answers != ABSTAIN
        if answered.any():
            costs[answered] += published.gnmax_data_dependent(
                counts[answered], orders, self.sigma, reach.votes
            )
        return costs

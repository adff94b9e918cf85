"""Confident-GNMax: answer only where the teachers seem to agree (Papernot et al. 2018, Alg. 1)."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ballotine.errors import ParameterError
from ballotine.noise import QueryNoise, positive
from ballotine.privacy.events import Event, GaussianArgmax, GaussianCheck
from ballotine.privacy.ledger import Events
from ballotine.types import ABSTAIN, IntArray
from ballotine.voting.gnmax import noisy_argmax
from ballotine.voting.mechanism import Mechanism
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
        if not math.isfinite(self.threshold):
            raise ParameterError(f"the threshold must be finite, got {self.threshold}")

    def events(self, classes: int) -> Events:
        """A check and, at worst, a noisy argmax."""
        return (GaussianCheck(self.sigma_threshold), GaussianArgmax(self.sigma, classes))

    def realised(self, answers: IntArray, classes: int) -> Counter[Event]:
        """A check for every query, an argmax for each that was answered."""
        check, argmax = self.events(classes)
        answered = int(np.count_nonzero(answers != ABSTAIN))
        return Counter({check: len(answers)}) + Counter({argmax: answered})

    def release(self, tallies: Tallies, noise: QueryNoise) -> IntArray:
        """Noise is drawn for every query alike, answered or not."""
        counts = tallies.unlock(reason="releasing a checked noisy argmax")
        check = counts.max(axis=1) + noise.gaussian(self.sigma_threshold, 1)[:, 0]
        winners = noisy_argmax(counts, self.sigma, noise)
        return np.where(check >= self.threshold, winners, np.int64(ABSTAIN))

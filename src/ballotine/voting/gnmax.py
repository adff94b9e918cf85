"""GNMax: the class whose noisy count is largest (Papernot et al. 2018, Section 4.1)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ballotine.noise import QueryNoise, positive
from ballotine.privacy.events import Event, GaussianArgmax
from ballotine.privacy.ledger import Events
from ballotine.types import FloatArray, IntArray
from ballotine.voting.mechanism import Mechanism
from ballotine.voting.tally import Tallies


@dataclass(frozen=True)
class GNMax(Mechanism):
    """Answer every query with argmax(counts + N(0, σ²)).

    Attributes:
        sigma: standard deviation of the noise on each class's count, in votes.
    """

    sigma: float
    name: ClassVar[str] = "gnmax"

    def __post_init__(self) -> None:
        positive(self.sigma)

    def events(self, classes: int) -> Events:
        """One noisy argmax."""
        return (GaussianArgmax(self.sigma, classes),)

    def realised(self, answers: IntArray, classes: int) -> Counter[Event]:
        """Every query was answered."""
        return Counter({GaussianArgmax(self.sigma, classes): len(answers)})

    def release(self, tallies: Tallies, noise: QueryNoise) -> IntArray:
        """Independent noise on every class, then the largest."""
        counts = tallies.unlock(reason="releasing a noisy argmax")
        return noisy_argmax(counts, self.sigma, noise)


def noisy_argmax(counts: FloatArray, sigma: float, noise: QueryNoise) -> IntArray:
    """The winner of each row after independent Gaussian noise on every class."""
    noisy = counts + noise.gaussian(sigma, counts.shape[1])
    winners: IntArray = np.argmax(noisy, axis=1).astype(np.int64)
    return winners

"""GNMax: the class whose noisy count is largest (Papernot et al. 2018, Section 4.1)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ballotine.ledger import Events
from ballotine.noise import QueryNoise, positive
from ballotine.privacy import exact, published
from ballotine.privacy.events import Event, GaussianArgmax, SharedGaussianArgmax
from ballotine.privacy.reach import ONE_VOTE, Reach
from ballotine.types import FloatArray, IntArray
from ballotine.voting.mechanism import Bounds, Mechanism
from ballotine.voting.tally import Tallies

PRICING = "pricing a noisy argmax for the data holder"


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

    def events(self, classes: int, reach: Reach = ONE_VOTE) -> Events:
        """One noisy argmax."""
        return (argmax_event(self.sigma, classes, reach),)

    def realised(self, answers: IntArray, classes: int, reach: Reach = ONE_VOTE) -> Counter[Event]:
        """Every query was answered."""
        return Counter({argmax_event(self.sigma, classes, reach): len(answers)})

    def release(self, tallies: Tallies, noise: QueryNoise) -> IntArray:
        """Independent noise on every class, then the largest."""
        counts = tallies.unlock(reason="releasing a noisy argmax")
        return noisy_argmax(counts, self.sigma, noise)

    def _data_dependent(
        self,
        tallies: Tallies,
        answers: IntArray,  # noqa: ARG002
        orders: FloatArray,
        bounds: Bounds,
        reach: Reach,
    ) -> FloatArray:
        """Theorem 6 over all neighbours, or the exact two-sided cost."""
        counts = tallies.unlock(reason=PRICING)
        if bounds == "published":
            return published.gnmax_data_dependent(counts, orders, self.sigma, reach.votes)
        return exact.gnmax(counts, orders, self.sigma, reach.weight, reach.teachers)


def argmax_event(sigma: float, classes: int, reach: Reach) -> Event:
    """What one noisy argmax releases, given how far a record reaches."""
    if reach.teachers == 1:
        return GaussianArgmax(sigma, classes, reach.weight)
    return SharedGaussianArgmax(sigma, classes, reach.teachers, reach.weight)


def noisy_argmax(counts: FloatArray, sigma: float, noise: QueryNoise) -> IntArray:
    """The winner of each row after independent Gaussian noise on every class."""
    noisy = counts + noise.gaussian(sigma, counts.shape[1])
    winners: IntArray = np.argmax(noisy, axis=1).astype(np.int64)
    return winners

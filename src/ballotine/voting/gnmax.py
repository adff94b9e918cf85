"""GNMax: the class whose noisy count is largest (Papernot et al. 2018, Section 4.1)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from ballotine.agreement import chance_right
from ballotine.ledger import Events
from ballotine.noise import QueryNoise, check_noise_scale
from ballotine.oracle.gaussian import argmax_law
from ballotine.oracle.neighbours import Tally
from ballotine.privacy import envelope, exact, published
from ballotine.privacy.events import Event, GaussianArgmax, SharedGaussianArgmax
from ballotine.privacy.reach import ONE_VOTE, Reach
from ballotine.types import FloatArray, IntArray
from ballotine.voting.mechanism import AuditDefault, Bounds, Mechanism
from ballotine.voting.parameters import parameter
from ballotine.voting.tally import Tallies

PRICING = "pricing a noisy argmax for the data holder"
NOISE = parameter("Noise on each count, in votes.", above=0, votes=1, symbol="σ")


@dataclass(frozen=True)
class GNMax(Mechanism):
    """Answer every query with argmax(counts + N(0, σ²)).

    Attributes:
        sigma: standard deviation of the noise on each class's count, in votes.
    """

    sigma: float = field(metadata=NOISE)
    name: ClassVar[str] = "gnmax"
    analyses: ClassVar[frozenset[Bounds]] = frozenset({"published", "tight", "exact"})
    individual: ClassVar[bool] = True
    publishable: ClassVar[bool] = True
    planned_by: ClassVar[str] = "sigma"
    audit: ClassVar[AuditDefault | None] = AuditDefault({"sigma": 2.0})

    def __post_init__(self) -> None:
        check_noise_scale(self.sigma)

    def events(self, classes: int, reach: Reach = ONE_VOTE) -> Events:
        """Return one noisy argmax."""
        return (argmax_event(self.sigma, classes, reach),)

    def realised(self, answers: IntArray, classes: int, reach: Reach = ONE_VOTE) -> Counter[Event]:
        """Return an argmax for every query: all are answered."""
        return Counter({argmax_event(self.sigma, classes, reach): len(answers)})

    def release(self, tallies: Tallies, noise: QueryNoise) -> IntArray:
        """Add independent noise to every class and return the largest."""
        counts = tallies.unlock(reason="releasing a noisy argmax")
        return noisy_argmax(counts, self.sigma, noise)

    def log_law(self, tally: Tally) -> FloatArray:
        """Return the law; the mechanism never abstains."""
        return np.concatenate(([-np.inf], argmax_law(tally, self.sigma)))

    def chances(self, counts: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the chances; every query is answered."""
        return np.ones(len(counts)), chance_right(counts, self.sigma)

    def envelope(self, teachers: int, classes: int, order: float) -> FloatArray:
        """Return an upper bound on the exact cost, by top count and runner-up."""
        return envelope.gnmax(teachers, classes, order, self.sigma, runner_up=True)

    def _published(
        self, tallies: Tallies, answers: IntArray, orders: FloatArray, reach: Reach
    ) -> FloatArray:
        """Return the cost by Theorem 6 over all neighbours."""
        del answers
        counts = tallies.unlock(reason=PRICING)
        return published.gnmax_data_dependent(counts, orders, self.sigma, reach.votes)

    def _exact(self, tallies: Tallies, orders: FloatArray, reach: Reach) -> FloatArray:
        counts = tallies.unlock(reason=PRICING)
        return exact.gnmax(counts, orders, self.sigma, reach.weight, reach.teachers)


def argmax_event(sigma: float, classes: int, reach: Reach) -> Event:
    """Return the event of one noisy argmax for records of this reach."""
    if reach.teachers == 1:
        return GaussianArgmax(sigma, classes, reach.weight)
    return SharedGaussianArgmax(sigma, classes, reach.teachers, reach.weight)


def noisy_argmax(counts: FloatArray, sigma: float, noise: QueryNoise) -> IntArray:
    """Return the winner of each row after independent Gaussian noise on every class."""
    noisy = counts + noise.gaussian(sigma, counts.shape[1])
    winners: IntArray = np.argmax(noisy, axis=1).astype(np.int64)
    return winners

"""LNMax: the class whose count with Laplace noise is largest (Papernot et al. 2017)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from ballotine.ledger import Events
from ballotine.noise import QueryNoise, check_noise_scale
from ballotine.oracle.laplace import argmax_law
from ballotine.oracle.neighbours import Tally
from ballotine.privacy import published
from ballotine.privacy.events import Event, LaplaceArgmax
from ballotine.privacy.reach import ONE_VOTE, Reach
from ballotine.types import FloatArray, IntArray
from ballotine.voting.mechanism import AuditDefault, Bounds, Mechanism, refuse_reach
from ballotine.voting.parameters import parameter
from ballotine.voting.tally import Tallies


@dataclass(frozen=True)
class LNMax(Mechanism):
    """Answer every query with argmax(counts + Laplace(1/γ)).

    Attributes:
        gamma: inverse scale of the noise: a larger γ means less noise and a higher cost.
    """

    gamma: float = field(
        metadata=parameter("Inverse scale of the noise, per vote.", above=0, votes=-1, symbol="γ")
    )
    name: ClassVar[str] = "lnmax"
    analyses: ClassVar[frozenset[Bounds]] = frozenset({"published", "tight"})
    # It is charged as the worst mechanism of its kind, which it approaches with few answers.
    audit: ClassVar[AuditDefault | None] = AuditDefault({"gamma": 1.0}, queries=3)

    def __post_init__(self) -> None:
        check_noise_scale(self.gamma)

    def events(self, classes: int, reach: Reach = ONE_VOTE) -> Events:  # noqa: ARG002
        """Return one noisy argmax, whose cost does not depend on the number of classes."""
        refuse_reach(self, reach)
        return (LaplaceArgmax(self.gamma),)

    def realised(self, answers: IntArray, classes: int, reach: Reach = ONE_VOTE) -> Counter[Event]:
        """Return an argmax for every query: all are answered."""
        (argmax,) = self.events(classes, reach)
        return Counter({argmax: len(answers)})

    def release(self, tallies: Tallies, noise: QueryNoise) -> IntArray:
        """Add independent noise to every class and return the largest."""
        counts = tallies.unlock(reason="releasing a noisy argmax")
        noisy = counts + noise.laplace(1.0 / self.gamma, tallies.classes)
        winners: IntArray = np.argmax(noisy, axis=1).astype(np.int64)
        return winners

    def log_law(self, tally: Tally) -> FloatArray:
        """Return the law; the mechanism never abstains."""
        return np.concatenate(([-np.inf], argmax_law(tally, self.gamma)))

    def _published(
        self, tallies: Tallies, answers: IntArray, orders: FloatArray, reach: Reach
    ) -> FloatArray:
        """Return the cost by equations 10 and 11 of TTAC over all neighbours."""
        del answers
        refuse_reach(self, reach)
        counts = tallies.unlock(reason="pricing a noisy argmax for the data holder")
        return published.lnmax(counts, orders, self.gamma)

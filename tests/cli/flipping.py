"""A mechanism that Ballotine does not know: permute-and-flip, in one file of its own.

McKenna and Sheldon 2020 (arXiv:2010.12603) in the form of Ding et al. 2021 (arXiv:2105.07260): the
largest count after exponential noise of scale 1/r. One vote moves no count by more than one, so an
answer is (2r, 0)-private, and the largest cost of such a release is that of `LaplaceArgmax`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from ballotine.noise import QueryNoise, check_noise_scale
from ballotine.privacy.events import Event, LaplaceArgmax
from ballotine.privacy.reach import ONE_VOTE, Reach
from ballotine.types import FloatArray, IntArray
from ballotine.voting import Mechanism, Tallies
from ballotine.voting.mechanism import AuditDefault, refuse_reach
from ballotine.voting.parameters import parameter


@dataclass(frozen=True)
class PermuteAndFlip(Mechanism):
    """Answer every query with argmax(counts + Exponential(1/rate))."""

    rate: float = field(
        metadata=parameter(
            "Inverse scale of exponential noise.", above=0, votes=-1, option="flip-rate"
        )
    )
    name: ClassVar[str] = "permute-and-flip"
    planned_by: ClassVar[str] = "rate"
    audit: ClassVar[AuditDefault | None] = AuditDefault({"rate": 1.0}, queries=3)

    def __post_init__(self) -> None:
        check_noise_scale(self.rate)

    def events(self, classes: int, reach: Reach = ONE_VOTE) -> tuple[Event, ...]:
        refuse_reach(self, reach)
        return (LaplaceArgmax(self.rate),)

    def realised(self, answers: IntArray, classes: int, reach: Reach = ONE_VOTE) -> Counter[Event]:
        (event,) = self.events(classes, reach)
        return Counter({event: len(answers)})

    def release(self, tallies: Tallies, noise: QueryNoise) -> IntArray:
        counts = tallies.unlock(reason="releasing a noisy argmax")
        noisy = counts + noise.exponential(tallies.classes) / self.rate
        winners: IntArray = np.argmax(noisy, axis=1).astype(np.int64)
        return winners

    def log_law(self, tally: tuple[float, ...]) -> FloatArray:
        """Class i wins with probability ∫ q_i Π_{j≠i} (1 − q_j u) du over (0, 1)."""
        counts = np.array(tally)
        q = np.exp(self.rate * (counts - counts.max()))
        nodes, weights = np.polynomial.legendre.leggauss(len(q))  # exact for this polynomial
        lost = 1.0 - np.outer(q, (nodes + 1.0) / 2.0)
        others = np.array([np.delete(lost, i, axis=0).prod(axis=0) for i in range(len(q))])
        won = self.rate * (counts - counts.max()) + np.log(others @ weights / 2.0)
        return np.concatenate(([-np.inf], won))

    @classmethod
    def planned(cls, noise: float, teachers: int, **given: Any) -> Self:
        return cls(rate=1.0 / noise, **given)

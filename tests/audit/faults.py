"""What the audits of this folder share: quick repeatable noise, and mechanisms with a fault."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ballotine.noise import QueryNoise
from ballotine.privacy.events import Event, GaussianArgmax, LabelBits
from ballotine.privacy.reach import ONE_VOTE, Reach
from ballotine.types import IntArray
from ballotine.voting import GNMax, Mechanism, Tallies


class Stream:
    """One long stream of words: as repeatable as a seed, as quick as secure noise."""

    seeded = False

    def __init__(self, seed: int) -> None:
        self._draw = np.random.default_rng(seed)

    def words(self, purpose: str, key: bytes, count: int) -> bytes:
        return self._draw.bytes(8 * count)


@dataclass(frozen=True)
class QuietGNMax(GNMax):
    """Claims σ and draws 0.8 σ."""

    def release(self, tallies: Tallies, noise: QueryNoise) -> IntArray:
        return GNMax(0.8 * self.sigma).release(tallies, noise)


@dataclass(frozen=True)
class CheapGNMax(GNMax):
    """Draws σ and is charged as if it were 1.25 σ."""

    def events(self, classes: int, reach: Reach = ONE_VOTE) -> tuple[Event, ...]:
        return (GaussianArgmax(1.25 * self.sigma, classes),)


@dataclass(frozen=True)
class MirroredGNMax(GNMax):
    """Every second query gets the noise of the one before, with the other sign."""

    def release(self, tallies: Tallies, noise: QueryNoise) -> IntArray:
        drawn = noise.gaussian(self.sigma, tallies.classes)
        drawn[1::2] = -drawn[::2]
        noisy = tallies.unlock(reason="test") + drawn
        winners: IntArray = np.argmax(noisy, axis=1).astype(np.int64)
        return winners


@dataclass(frozen=True)
class OddGNMax(GNMax):
    """Answers with a class that does not exist."""

    def release(self, tallies: Tallies, noise: QueryNoise) -> IntArray:
        return super().release(tallies, noise) + tallies.classes


@dataclass(frozen=True)
class PlainVote(Mechanism):
    """GNMax, but nobody knows its law."""

    sigma: float
    name: ClassVar[str] = "plain"

    def events(self, classes: int, reach: Reach = ONE_VOTE) -> tuple[Event, ...]:
        return (GaussianArgmax(self.sigma, classes),)

    def realised(self, answers: IntArray, classes: int, reach: Reach = ONE_VOTE) -> Counter[Event]:
        return Counter({GaussianArgmax(self.sigma, classes): len(answers)})

    def release(self, tallies: Tallies, noise: QueryNoise) -> IntArray:
        return GNMax(self.sigma).release(tallies, noise)


@dataclass(frozen=True)
class Labels(Mechanism):
    """Every label is a noisy bit of its own, with noise on both of its counts; no law is known."""

    sigma: float
    teachers: int
    share: float = 1.0
    name: ClassVar[str] = "labels"
    multilabel: ClassVar[bool] = True

    def events(self, classes: int, reach: Reach = ONE_VOTE) -> tuple[Event, ...]:
        return (LabelBits(self.sigma, classes),)

    def realised(self, answers: IntArray, classes: int, reach: Reach = ONE_VOTE) -> Counter[Event]:
        return Counter({LabelBits(self.sigma, classes): len(answers)})

    def tally(self, ballots: IntArray, classes: int) -> Tallies:
        return Tallies(ballots.sum(axis=1).astype(np.float64))

    def release(self, tallies: Tallies, noise: QueryNoise) -> IntArray:
        margin = 2.0 * tallies.unlock(reason="test") - self.teachers
        drawn = noise.gaussian(math.sqrt(2.0) * self.share * self.sigma, tallies.classes)
        return (margin + drawn > 0).astype(np.int64)

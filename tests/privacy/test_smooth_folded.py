"""The folded statement of a published ε, by brute force: E_P[(1 − e^(ε̂−L))₊] ≤ δ, both ways.

Two classes and few teachers: every tally, every neighbour, every answer, and quadrature over the
noise of the release. Costs and laws are computed here independently of the code under test.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pytest
from mpmath import mp
from scipy.special import ndtr
from scipy.stats import kstest

from ballotine.errors import ParameterError
from ballotine.noise import SeededNoise
from ballotine.privacy import envelope, smooth

Array = npt.NDArray[np.float64]
Tally = tuple[int, ...]
"""Votes for the first of two classes, on each query."""

GRID = 3001
WIDTH = 9.0


@dataclass(frozen=True)
class Small:
    """A few teachers, two classes, and a release of the logarithm."""

    teachers: int
    queries: int
    noise: float
    order: float
    delta: float
    sigma: float
    rate: float
    offset: float = 0.0

    def chance(self, votes: int) -> float:
        """The probability that the first class wins with this number of votes."""
        return float(ndtr((2 * votes - self.teachers) / (self.noise * math.sqrt(2.0))))

    def answers(self, tally: Tally) -> Array:
        """The probability of every vector of answers."""
        law = np.ones(1)
        for votes in tally:
            p = self.chance(votes)
            law = np.concatenate([law * p, law * (1.0 - p)])
        return law

    def cost(self, votes: int) -> float:
        """The exact two-sided cost of one query: the worst of at most two neighbours."""
        near = [v for v in (votes - 1, votes + 1) if 0 <= v <= self.teachers]
        pairs = [(self.chance(votes), self.chance(v)) for v in near]
        return max(d for p, q in pairs for d in (self.divergence(p, q), self.divergence(q, p)))

    def divergence(self, p: float, q: float) -> float:
        moment = p**self.order * q ** (1.0 - self.order)
        moment += (1.0 - p) ** self.order * (1.0 - q) ** (1.0 - self.order)
        return math.log(moment) / (self.order - 1.0)

    def way(self) -> smooth.LogRelease:
        """The release under test, with the default failure."""
        tops = range(self.teachers + 1)
        exact = [self.cost(t) if 2 * t >= self.teachers else math.nan for t in tops]
        return smooth.LogRelease(
            g=envelope.shape(np.array(exact), self.rate, self.offset),
            offset=self.offset,
            order=self.order,
            delta=self.delta,
            sigma=self.sigma,
        )

    def neighbours(self) -> Iterator[tuple[Tally, Tally]]:
        """One teacher may change its vote on every query, or on some."""
        every = range(self.teachers + 1)
        for tally in itertools.product(every, repeat=self.queries):
            for moves in itertools.product((-1, 0, 1), repeat=self.queries):
                other = tuple(v + m for v, m in zip(tally, moves, strict=True))
                if all(v in every for v in other):
                    yield tally, other


class Statement:
    """What a release says about pairs of tallies, by quadrature over its noise."""

    def __init__(
        self, small: Small, shrunk: float = 1.0, way: smooth.LogRelease | None = None
    ) -> None:
        self.small, self.way, self.shrunk = small, way or small.way(), shrunk

    def location(self, tally: Tally) -> float:
        """The logarithm that is released, without its noise."""
        tops = [max(v, self.small.teachers - v) for v in tally]
        total = sum(self.way.g[t] + self.way.offset for t in tops)
        return math.log(total) + self.way.rate * self.way.margin

    def epsilon(self, released: Array) -> Array:
        """ε̂ as a function of the released logarithm."""
        queries, way = self.small.queries, self.way
        low, high = float(np.nanmin(way.g)), float(np.nanmax(way.g))
        costs = np.clip(np.exp(released) - queries * way.offset, queries * low, queries * high)
        added = way.epsilon(100.0, way.cost) - 100.0  # what the conversion adds to any cost
        return self.shrunk * np.maximum(costs + added, 0.0)

    def delta(self, here: Tally, there: Tally) -> float:
        """E_P[(1 − e^(ε̂−L))₊], P from ``here`` and L against ``there``."""
        scale = self.way.rate * self.way.sigma
        centre, other = self.location(here), self.location(there)
        at = np.linspace(centre - WIDTH * scale, centre + WIDTH * scale, GRID)
        mass = np.exp(-0.5 * ((at - centre) / scale) ** 2)
        against = np.exp(-0.5 * ((at - other) / scale) ** 2 + self.epsilon(at))
        p, q = self.small.answers(here), self.small.answers(there)
        excess = np.maximum(p[:, None] * mass - q[:, None] * against, 0.0).sum()
        return float(excess * (at[1] - at[0]) / (scale * math.sqrt(2.0 * math.pi)))

    def worst(self) -> float:
        return max(self.delta(*pair) for pair in self.small.neighbours())


CASES = [
    Small(teachers=5, queries=1, noise=0.5, order=2.0, delta=0.05, sigma=5.0, rate=0.2),
    Small(teachers=5, queries=2, noise=0.5, order=2.0, delta=0.05, sigma=5.0, rate=0.2),
    Small(teachers=6, queries=2, noise=0.8, order=3.0, delta=0.01, sigma=2.0, rate=1.0),
    Small(4, 2, noise=1.5, order=5.0, delta=1e-3, sigma=3.0, rate=0.3, offset=0.05),
    Small(3, 3, noise=0.7, order=4.0, delta=0.02, sigma=1.0, rate=0.5, offset=-0.01),
    Small(6, 1, noise=1.2, order=12.0, delta=1e-5, sigma=5.0, rate=2.0),
]


@pytest.mark.parametrize("small", CASES)
def test_the_folded_statement_holds_for_every_pair_in_both_directions(small: Small) -> None:
    assert Statement(small).worst() <= small.delta


def test_an_epsilon_five_per_cent_too_small_is_caught() -> None:
    small = CASES[0]
    assert 0.8 * small.delta < Statement(small).worst(), "the case is a sharp one"
    assert Statement(small, shrunk=0.95).worst() > small.delta


def test_a_margin_of_95_per_cent_spends_far_more_than_delta() -> None:
    """What version 0.1 printed as (ε, δ): true only with the confidence stated beside it."""
    small = CASES[-1]
    beside = replace(small.way(), failure=0.05, folded=False)
    assert Statement(small, way=beside).worst() > 100 * small.delta


@pytest.mark.parametrize("delta", [1e-2, 1e-5, 1e-12])
def test_the_margin_fails_as_often_as_delta_pays_for_and_no_more(delta: float) -> None:
    way = smooth.LogRelease(g=[1.0, 2.0], order=3.0, delta=delta, sigma=7.0)
    with mp.workdps(40):
        missed = mp.ncdf(-mp.mpf(way.margin) / 7)
        assert float(missed) == pytest.approx(delta / 10, rel=1e-9)
        assert mp.ncdf(-mp.mpf(0.95 * way.margin) / 7) > mp.mpf(delta) / 9
        rest = mp.mpf(delta) * 9 / 10
        expected = 1 + mp.mpf(3) / 98 + mp.log(mp.mpf(2) / 3) - mp.log(3 * rest) / 2
    assert way.epsilon(1.0, way.cost) == pytest.approx(float(expected), rel=1e-12)


def test_releases_are_drawn_from_the_law_that_was_integrated() -> None:
    """A range of costs so wide that no draw ends at either end of it."""
    g = np.exp(0.5 * np.arange(-40.0, 41.0))
    way = smooth.LogRelease(g=g, order=3.0, delta=0.05, sigma=3.0)
    drawn = [way.release([40, 40], SeededNoise(seed)) for seed in range(600)]
    scale = 0.5 * way.sigma
    centre = math.log(2.0) + 0.5 * way.margin
    places = (np.log([one.cost for one in drawn]) - centre) / scale
    assert kstest(places, "norm").pvalue > 1e-3
    for one in drawn[:50]:
        assert one.epsilon == way.epsilon(one.cost, way.cost)
        assert (one.failure, one.folded) == (0.1 * 0.05, True)


def test_a_failure_that_delta_cannot_cover_is_refused() -> None:
    for failure in (0.0, -1e-9, 1e-5, 0.3, math.nan):
        with pytest.raises(ParameterError, match="failure"):
            smooth.LogRelease(g=[1.0, 2.0], order=3.0, delta=1e-5, sigma=1.0, failure=failure)
    with pytest.raises(ParameterError, match="failure"):
        smooth.LogRelease(g=[1.0, 2.0], order=3.0, delta=1e-5, sigma=1.0, failure=0.6, folded=False)

"""Released answers occur as often as the laws say, with secure and with seeded noise.

Secure noise differs from run to run, so the level is chosen such that all tests here and in
`test_label_laws.py` together fail by chance less than once in 100,000 runs: some 60 p-values of
secure noise, each compared with 10⁻⁸, and χ² used only where every cell is common (its tail is
then right within a factor of ten). The same tests notice noise that is 10 % too large or too
small: with seeded noise, so that this does not depend on luck either.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from ballotine.noise import NoiseSource, QueryNoise
from ballotine.oracle.laplace import argmax_law
from ballotine.privacy import exact
from ballotine.types import IntArray
from ballotine.voting import (
    ConfidentGNMax,
    GNMax,
    InteractiveGNMax,
    LNMax,
    Mechanism,
    Tallies,
)
from tests.voting.law_oracle import (
    LEVEL,
    SEEDED,
    TIMES,
    both_sources,
    chance,
    keys,
    winner_law,
    wrong_noise,
)


def draw(mechanism: Mechanism, counts: list[float], origin: NoiseSource) -> IntArray:
    """Answers to one tally, over and over."""
    tallies = Tallies(np.tile(counts, (TIMES, 1)))
    return mechanism.release(tallies, QueryNoise(origin, keys(TIMES)))


HISTOGRAMS = [
    [10.0, 8.0, 2.0],
    [5.0, 5.0],
    [9.0, 3.0],
    [15.0, 3.0, 3.0, 3.0],
    [2.5, 1.2, 7.3, 6.6, 0.1],
    [7.0, 7.0, 7.0],
    [0.0, 0.0, 0.0, 12.0],
    [16.0, 6.0, 6.0],
    [4.0, 5.0, 6.0, 7.0, 8.0, 9.0],
    [1.0] * 10,
]
SHARP = [16.0, 6.0, 6.0]


def seen_of(answers: IntArray, classes: int) -> np.ndarray:
    """How often: abstained, class 0, class 1, …"""
    return np.bincount(answers + 1, minlength=classes + 1)


@both_sources
@pytest.mark.parametrize("counts", HISTOGRAMS, ids=str)
def test_gnmax(counts: list[float], origin: NoiseSource) -> None:
    law = np.exp(exact.gnmax_law(np.array([counts]), 4.0))[0]
    assert law == pytest.approx(winner_law(counts, 4.0), rel=1e-6)
    seen = seen_of(draw(GNMax(4.0), counts, origin), len(counts))
    assert seen[0] == 0
    assert chance(seen[1:], law) > LEVEL


@wrong_noise
def test_gnmax_with_other_noise_is_noticed(factor: float) -> None:
    law = np.exp(exact.gnmax_law(np.array([SHARP]), 4.0))[0]
    assert chance(seen_of(draw(GNMax(4.0 * factor), SHARP, SEEDED), 3)[1:], law) < LEVEL


def confident_law(counts: list[float]) -> np.ndarray:
    passed = stats.norm.cdf((max(counts) - 8.0) / 3.0)
    return np.append(1 - passed, passed * winner_law(counts, 4.0))


@both_sources
@pytest.mark.parametrize("counts", [[10.0, 8.0, 2.0], [6.0, 3.0, 1.0], SHARP], ids=str)
def test_confident_gnmax(counts: list[float], origin: NoiseSource) -> None:
    seen = seen_of(draw(ConfidentGNMax(4.0, 8.0, 3.0), counts, origin), 3)
    assert chance(seen, confident_law(counts)) > LEVEL


@wrong_noise
def test_confident_gnmax_with_other_noise_is_noticed(factor: float) -> None:
    for mechanism, counts in (
        (ConfidentGNMax(4.0 * factor, 8.0, 3.0), SHARP),
        (ConfidentGNMax(4.0, 8.0, 3.0 * factor), [4.0, 3.0, 1.0]),
    ):
        seen = seen_of(draw(mechanism, counts, SEEDED), 3)
        assert chance(seen, confident_law(counts)) < LEVEL


@both_sources
@pytest.mark.parametrize("counts", [[10.0, 8.0, 2.0], [5.0, 5.0], [9.0, 3.0]], ids=str)
def test_lnmax(counts: list[float], origin: NoiseSource) -> None:
    law = np.exp(argmax_law(tuple(counts), 0.3))
    assert chance(seen_of(draw(LNMax(0.3), counts, origin), len(counts))[1:], law) > LEVEL


@wrong_noise
def test_lnmax_with_other_noise_is_noticed(factor: float) -> None:
    law = np.exp(argmax_law((9.0, 3.0), 0.3))
    seen = seen_of(draw(LNMax(0.3 / factor), [9.0, 3.0], SEEDED), 2)
    assert chance(seen[1:], law) < LEVEL


OPINIONS = [[0.55, 0.35, 0.1], [0.2, 0.7, 0.1], [0.4, 0.3, 0.3]]


def draw_interactive(
    mechanism: InteractiveGNMax, opinions: list[float], origin: NoiseSource
) -> np.ndarray:
    tallies = Tallies(np.tile([10.0, 8.0, 2.0], (TIMES, 1)))
    asked = mechanism.with_student(tallies, np.tile(opinions, (TIMES, 1)), 20)
    answers, confirmed = mechanism.ask(asked, QueryNoise(origin, keys(TIMES)))
    assert not np.any(confirmed & (answers != np.argmax(opinions)))
    from_teachers = seen_of(answers[~confirmed], 3)
    return np.append(from_teachers, np.count_nonzero(confirmed))


def interactive_law(opinions: list[float]) -> np.ndarray:
    """Abstained, each class from the teachers, confirmed."""
    surprise = max(n - 20 * p for n, p in zip([10.0, 8.0, 2.0], opinions, strict=True))
    passed = float(stats.norm.cdf((surprise - 5.0) / 3.0))
    confirms = max(opinions) > 0.5
    others = [(1 - passed) * (not confirms), *passed * winner_law([10.0, 8.0, 2.0], 4.0)]
    return np.array([*others, (1 - passed) * confirms])


@both_sources
@pytest.mark.parametrize("opinions", OPINIONS, ids=str)
def test_interactive_gnmax(opinions: list[float], origin: NoiseSource) -> None:
    seen = draw_interactive(InteractiveGNMax(4.0, 5.0, 3.0, 0.5), opinions, origin)
    law = interactive_law(opinions)
    assert np.all(seen[law == 0] == 0)
    assert chance(seen[law > 0], law[law > 0]) > LEVEL


@wrong_noise
def test_interactive_gnmax_with_other_noise_is_noticed(factor: float) -> None:
    # There the teachers are 4 votes below the threshold.
    seen = draw_interactive(InteractiveGNMax(4.0, 5.0, 3.0 * factor, 0.5), OPINIONS[0], SEEDED)
    law = interactive_law(OPINIONS[0])
    assert chance(seen[law > 0], law[law > 0]) < LEVEL

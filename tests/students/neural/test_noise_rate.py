"""The share of wrong answers from public numbers, on votes that were drawn in another way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

from ballotine.agreement import chance_right
from ballotine.errors import DataError, ParameterError
from ballotine.noise import QueryNoise, SeededNoise
from ballotine.students.neural import estimate_noise_rate, noise_rate_of_peers
from ballotine.types import IntArray
from ballotine.voting import ConfidentGNMax, GNMax, Tallies

TEACHERS, CLASSES, QUERIES = 250, 10, 4000


def election(ease: float, seed: int = 0) -> tuple[IntArray, IntArray, float, float]:
    """Ballots and truth: a query's difficulty is a Gaussian logit, its wrong votes Dirichlet."""
    draw = np.random.default_rng(seed)
    truth = draw.integers(0, CLASSES, QUERIES)
    right = expit(draw.normal(ease, 1.8, QUERIES))
    shares = draw.dirichlet(np.full(CLASSES - 1, 0.25), QUERIES) * (1 - right)[:, None]
    counts = np.stack(
        [draw.multinomial(TEACHERS, [own, *rest]) for own, rest in zip(right, shares, strict=True)]
    )
    # The first count belongs to the true class, the others to those that follow it.
    places = (truth[:, None] + np.arange(CLASSES)) % CLASSES
    ballots = np.empty((QUERIES, TEACHERS), dtype=np.int64)
    for row in range(QUERIES):
        ballots[row] = np.repeat(places[row], counts[row])
    plurality = float(np.mean(counts.argmax(axis=1) == 0))
    return ballots, truth, plurality, float(np.mean(counts[:, 0] / TEACHERS))


def noise() -> QueryNoise:
    return QueryNoise(SeededNoise(3), [str(query).encode() for query in range(QUERIES)])


@pytest.mark.parametrize(("sigma", "threshold", "check"), [(40, 150, 60), (85, 150, 100)])
@pytest.mark.parametrize("ease", [1.0, 2.0])
def test_against_a_mechanism_with_a_check(
    ease: float, sigma: float, threshold: float, check: float
) -> None:
    ballots, truth, plurality, _ = election(ease)
    mechanism = ConfidentGNMax(sigma, threshold, check)
    answers = mechanism.release(Tallies.of(ballots, CLASSES), noise())
    answered = answers >= 0
    rate = float(np.mean(answers[answered] != truth[answered]))
    found = estimate_noise_rate(
        teachers=TEACHERS,
        classes=CLASSES,
        sigma=sigma,
        threshold=threshold,
        sigma_threshold=check,
        asked=QUERIES,
        answered=int(answered.sum()),
        plurality_accuracy=round(plurality, 2),
    )
    assert found == pytest.approx(rate, abs=0.05)


@pytest.mark.parametrize("sigma", [20, 60, 100])
def test_against_a_mechanism_without_a_check(sigma: float) -> None:
    ballots, truth, plurality, teacher = election(1.5)
    answers = GNMax(sigma).release(Tallies.of(ballots, CLASSES), noise())
    found = estimate_noise_rate(
        teachers=TEACHERS,
        classes=CLASSES,
        sigma=sigma,
        teacher_accuracy=teacher,
        plurality_accuracy=plurality,
    )
    assert found == pytest.approx(float(np.mean(answers != truth)), abs=0.04)


def test_the_chance_of_the_first_class_by_drawing_noise() -> None:
    counts = np.array([[120.0, 100.0, 30.0], [50.0, 100.0, 100.0], [80.0, 80.0, 90.0]])
    draws = np.random.default_rng(0).normal(0, 40, (200_000, 1, 3)) + counts
    np.testing.assert_allclose(
        chance_right(counts, 40.0), np.mean(draws.argmax(axis=2) == 0, axis=0), atol=0.005
    )


def test_more_noise_makes_more_wrong_answers() -> None:
    public: dict[str, Any] = {"teachers": 250, "classes": 10, "teacher_accuracy": 0.75}
    rates = [estimate_noise_rate(sigma=sigma, **public) for sigma in (1, 20, 50, 100, 1e6)]
    assert rates == sorted(rates)
    assert rates[0] == pytest.approx(0.1, abs=0.01)  # what the plurality is assumed to miss
    assert rates[-1] == pytest.approx(0.9, abs=0.001)  # nothing but noise


def one_coin(draw: np.random.Generator, truth: IntArray, accuracy: float, classes: int) -> IntArray:
    shift = np.where(draw.random(len(truth)) < accuracy, 0, draw.integers(1, classes, len(truth)))
    return (truth + shift) % classes


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 999), st.integers(2, 12), st.floats(0.05, 0.4))
def test_three_that_err_independently(seed: int, classes: int, wrong: float) -> None:
    draw = np.random.default_rng(seed)
    truth = draw.integers(0, classes, 60_000)
    answers, first, second = (
        one_coin(draw, truth, accuracy, classes) for accuracy in (1 - wrong, 0.85, 0.75)
    )
    found = noise_rate_of_peers(answers, first, second, classes)
    assert found == pytest.approx(np.mean(answers != truth), abs=0.03)


def test_agreement_by_chance_tells_nothing() -> None:
    answers = np.zeros(100, dtype=np.int64)
    with pytest.raises(DataError, match="by chance"):
        noise_rate_of_peers(answers, answers + 1, answers, 3)
    with pytest.raises(DataError, match="same rows"):
        noise_rate_of_peers(answers, answers[:3], answers, 3)
    with pytest.raises(ParameterError, match="two classes"):
        noise_rate_of_peers(answers, answers, answers, 1)
    assert noise_rate_of_peers(answers, answers, answers, 3) == 0.0


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"threshold": 100.0, "sigma_threshold": 50.0, "asked": 10},
        {"threshold": 100.0, "sigma_threshold": 50.0, "asked": 10, "answered": 0},
        {"threshold": 100.0, "sigma_threshold": 50.0, "asked": 10, "answered": 11},
        {"threshold": 100.0, "sigma_threshold": -1.0, "asked": 10, "answered": 5},
        {"teacher_accuracy": 1.0},
        {"teacher_accuracy": 0.7, "plurality_accuracy": 1.0},
        {"teacher_accuracy": 0.7, "sigma": 0.0},
        {"teacher_accuracy": 0.7, "teachers": 0},
        {"teacher_accuracy": 0.7, "classes": 1},
    ],
)
def test_numbers_have_a_domain(given: dict[str, Any]) -> None:
    public: dict[str, Any] = {"teachers": 250, "classes": 10, "sigma": 40.0}
    with pytest.raises(ParameterError):
        estimate_noise_rate(**{**public, **given})

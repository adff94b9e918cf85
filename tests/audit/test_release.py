"""Audits of anything: scores of whole releases, and a real pipeline with a canary."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from ballotine import Budget, GNMax, PateClassifier
from ballotine.audit import AuditResult, audit_release
from ballotine.errors import DataError, ParameterError
from ballotine.noise import QueryNoise
from ballotine.oracle.epsilon import gaussian_epsilon
from ballotine.privacy.events import GaussianArgmax
from ballotine.privacy.plan import epsilon_of
from ballotine.types import IntArray
from ballotine.voting import Mechanism, Tallies

DELTA = 1e-3


def test_a_noisy_number_is_audited_through_its_score() -> None:
    draw = np.random.default_rng(1)
    truth = gaussian_epsilon(DELTA, 1.0)
    found = audit_release(
        lambda canary: draw.normal(loc=float(canary)), trials=20_000, delta=DELTA, claimed=truth
    )
    assert 0.4 * truth < found.lower < truth
    assert not found.exceeded
    assert found.composed is None
    assert found.pair == "with a canary against without"


def test_a_release_without_noise_is_caught() -> None:
    found = audit_release(float, trials=1_000, delta=DELTA, claimed=2.0)
    # 500 trials of 500 on one side, none on the other: all that such counts can show.
    high = 1 - 0.005 ** (1 / 500)
    assert found.lower == pytest.approx(math.log((1 - high - DELTA) / high))
    assert found.exceeded


def test_what_says_nothing_shows_nothing() -> None:
    found = audit_release(lambda _: 0.0, trials=100)
    assert found.lower == 0.0
    assert found.claimed is None
    assert "nothing is claimed" in found.verdict


def test_scores_must_be_numbers() -> None:
    with pytest.raises(DataError, match="not a number"):
        audit_release(lambda _: math.nan, trials=20)
    with pytest.raises(ParameterError, match="at least 20 trials"):
        audit_release(lambda _: 0.0, trials=5)


def test_progress_is_told_of_every_trial() -> None:
    steps: list[int] = []

    class Counting:
        def stage(
            self, name: str, total: int | None
        ) -> AbstractContextManager[Callable[[int], None]]:
            assert total == 60
            return nullcontext(steps.append)

    audit_release(lambda _: 0.0, trials=30, progress=Counting())
    assert sum(steps) == 60


# A canary: a record far from all others, whose label a nearest neighbour repeats.
PRIVATE = np.array([[9.0], [0.0], [0.1], [0.2], [0.3], [0.4]])
CLASSES = np.array([0, 0, 0, 0, 0, 0])
PUBLIC = np.array([[9.0 + step / 100] for step in range(4)])


def run_pipeline(canary: bool, mechanism: Mechanism, seed: int) -> tuple[float, float]:
    """Fit, vote, answer through the ledger: how many answers name the canary's class, and ε."""
    labels = CLASSES.copy()
    labels[0] = int(canary)
    pate = PateClassifier(
        teacher=KNeighborsClassifier(1),
        n_teachers=2,
        mechanism=mechanism,
        budget=Budget(60.0, DELTA),
        classes=[0, 1],
        random_state=seed,
    ).fit(PRIVATE, labels)
    answers = pate.label(PUBLIC)
    return float(np.count_nonzero(answers.labels == 1)), pate.guarantee_.epsilon


def audit_pipeline(mechanism: Mechanism, trials: int) -> AuditResult:
    seeds = itertools.count(1)
    _, promised = run_pipeline(False, mechanism, 0)
    return audit_release(
        lambda canary: run_pipeline(canary, mechanism, next(seeds))[0],
        trials=trials,
        delta=DELTA,
        claimed=promised,
    )


def test_a_canary_in_a_whole_pipeline_never_shows_more_than_is_promised() -> None:
    found = audit_pipeline(GNMax(1.0), trials=160)
    assert found.claimed == pytest.approx(epsilon_of([(GaussianArgmax(1.0, 2), 4)], DELTA))
    assert found.claimed is not None
    assert 0.8 < found.lower < found.claimed


def test_a_pipeline_whose_noise_is_far_too_small_is_caught() -> None:
    @dataclass(frozen=True)
    class Mute(GNMax):
        def release(self, tallies: Tallies, noise: QueryNoise) -> IntArray:
            return GNMax(0.05 * self.sigma).release(tallies, noise)

    assert audit_pipeline(Mute(6.0), trials=80).exceeded

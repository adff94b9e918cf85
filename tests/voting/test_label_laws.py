"""Labels and sets of labels occur as often as the laws say: see `test_laws.py`."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from scipy import stats

from ballotine.noise import NoiseSource, QueryNoise
from ballotine.privacy import powerset
from ballotine.privacy.multilabel import Variant
from ballotine.types import ABSTAIN, IntArray
from ballotine.voting import (
    BinaryVoting,
    ClippedVoting,
    Dependencies,
    LabelTallies,
    Mechanism,
    PowersetVoting,
    SubsetTallies,
    Tallies,
)
from tests.voting.law_oracle import (
    COMMON,
    LEVEL,
    SEEDED,
    TIMES,
    both_sources,
    chance,
    chance_of_bits,
    keys,
    winner_law,
    wrong_noise,
)


def draw_labels(
    mechanism: Mechanism, ballots: IntArray, origin: NoiseSource, times: int = TIMES
) -> IntArray:
    """Answers to the same ballots of shape (teachers, labels), over and over."""
    tallies = repeated(mechanism.tally(ballots[np.newaxis], ballots.shape[1]), times)
    return mechanism.release(tallies, QueryNoise(origin, keys(times)))


def repeated(tallies: Tallies, times: int) -> Tallies:
    reason = "a test repeats a made-up tally"
    counts = np.tile(tallies.unlock(reason=reason), (times, 1))
    if isinstance(tallies, LabelTallies):
        return LabelTallies(counts, tallies.teachers, tallies.clipping)
    assert isinstance(tallies, SubsetTallies)
    sets = np.tile(tallies.unlock_sets(reason=reason), (times, 1, 1))
    return SubsetTallies(counts, sets, tallies.teachers, tallies.labels, tallies.most)


VARIANTS: list[Variant] = ["both", "one-against-complement", "one-against-half"]
# How often each of six labels is named by twelve teachers: two labels are named together.
NAMED = (np.arange(12)[:, None] < np.array([2, 4, 6, 9, 10, 10])).astype(np.int64)
CLIPPED = [(None, "l2"), (1.3, "l2"), (2.2, "l1")]


def counts_by_hand(tau: float | None, norm: str) -> np.ndarray:
    counts = np.zeros(6)
    for ballot in NAMED:
        length = math.sqrt(ballot.sum()) if norm == "l2" else float(ballot.sum())
        counts += ballot * (1.0 if tau is None or length <= tau else tau / length)
    return counts


def label_law(tau: float | None, norm: str, variant: str) -> tuple[np.ndarray, np.ndarray]:
    """P(passes the check) and P(present), for each label, in closed form."""
    counts = counts_by_hand(tau, norm)
    larger = np.maximum(counts, 12 - counts)
    spread = {"both": 5 * math.sqrt(2), "one-against-complement": 5.0, "one-against-half": 10.0}
    return (
        stats.norm.cdf((larger - 9.0) / 2.5),
        stats.norm.cdf((2 * counts - 12) / spread[variant]),
    )


def voting(sigma: float, tau: float | None, norm: Any, **options: Any) -> Mechanism:
    if tau is None:
        return BinaryVoting(sigma, **options)
    return ClippedVoting(sigma, tau, norm, **options)


def chance_of_labels(answers: IntArray, passes: np.ndarray, present: np.ndarray) -> float:
    """The smaller of the p-values of abstentions and of bits."""
    answered = answers != ABSTAIN
    times = answered.sum(axis=0)
    asked = np.full(len(passes), len(answers))
    return min(
        chance_of_bits(times, asked, passes),
        chance_of_bits((answers == 1).sum(axis=0), times, present),
    )


@both_sources
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(("tau", "norm"), CLIPPED)
def test_labels(tau: float | None, norm: str, variant: Variant, origin: NoiseSource) -> None:
    options = {"threshold": 9.0, "sigma_threshold": 2.5, "variant": variant}
    answers = draw_labels(voting(5.0, tau, norm, **options), NAMED, origin)
    assert chance_of_labels(answers, *label_law(tau, norm, variant)) > LEVEL
    # Labels have noise of their own: knowing one says nothing about another.
    answered = (answers != ABSTAIN).astype(float)
    correlation = np.corrcoef(answered.T) - np.eye(6)
    assert np.abs(correlation).max() < 6.5 / math.sqrt(TIMES)


@both_sources
@pytest.mark.parametrize("variant", VARIANTS)
def test_labels_without_a_check(variant: Variant, origin: NoiseSource) -> None:
    answers = draw_labels(BinaryVoting(5.0, variant=variant), NAMED, origin)
    assert not np.any(answers == ABSTAIN)
    _, present = label_law(None, "l2", variant)
    assert chance_of_bits(answers.sum(axis=0), np.full(6, TIMES), present) > LEVEL


@wrong_noise
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(("tau", "norm"), CLIPPED)
def test_labels_with_other_noise_are_noticed(
    tau: float | None, norm: str, variant: Variant, factor: float
) -> None:
    law = label_law(tau, norm, variant)
    for sigma, spread in ((5.0 * factor, 2.5), (5.0, 2.5 * factor)):
        options = {"threshold": 9.0, "sigma_threshold": spread, "variant": variant}
        answers = draw_labels(voting(sigma, tau, norm, **options), NAMED, SEEDED)
        assert chance_of_labels(answers, *law) < LEVEL


@both_sources
@pytest.mark.parametrize("first", ["roots", "leaves"])
def test_labels_that_depend_on_each_other(first: Any, origin: NoiseSource) -> None:
    """Labels 0 → 1 → 2, against the sum over what each would have said if asked."""
    forest = Dependencies((None, 0, 1, None, None, None), first)
    answers = draw_labels(BinaryVoting(5.0, dependencies=forest), NAMED, origin)[:, :3]
    p = label_law(None, "l2", "both")[1][:3]
    if first == "roots":
        law = {
            (0, 0, 0): 1 - p[0],
            (1, 0, 0): p[0] * (1 - p[1]),
            (1, 1, 0): p[0] * p[1] * (1 - p[2]),
            (1, 1, 1): p[0] * p[1] * p[2],
        }
    else:
        law = {
            (1, 1, 1): p[2],
            (1, 1, 0): (1 - p[2]) * p[1],
            (1, 0, 0): (1 - p[2]) * (1 - p[1]) * p[0],
            (0, 0, 0): (1 - p[2]) * (1 - p[1]) * (1 - p[0]),
        }
    seen = Counter(map(tuple, answers.tolist()))
    assert set(seen) <= set(law)
    assert chance(np.array([seen[one] for one in law]), np.array(list(law.values()))) > LEVEL


def ballots_of(sets: dict[tuple[int, ...], int], labels: int) -> IntArray:
    rows = [np.isin(np.arange(labels), one) for one, votes in sets.items() for _ in range(votes)]
    return np.array(rows, dtype=np.int64)


def seen_sets(answers: IntArray) -> Counter[tuple[int, ...]]:
    return Counter(tuple(np.flatnonzero(one).tolist()) for one in answers)


SMALL = {(0, 1): 5, (): 3, (1, 2, 3): 1}


def small_law() -> tuple[list[tuple[int, ...]], np.ndarray]:
    """All sixteen sets of four labels, by plain quadrature."""
    every = [tuple(i for i in range(4) if code >> i & 1) for code in range(16)]
    return every, winner_law([float(SMALL.get(one, 0)) for one in every], 2.0)


@both_sources
def test_powerset_with_every_set_a_cell(origin: NoiseSource) -> None:
    every, law = small_law()
    seen = seen_sets(draw_labels(PowersetVoting(2.0), ballots_of(SMALL, 4), origin))
    assert chance(np.array([seen[one] for one in every]), law) > LEVEL


@wrong_noise
def test_powerset_with_other_noise_is_noticed(factor: float) -> None:
    every, law = small_law()
    seen = seen_sets(draw_labels(PowersetVoting(2.0 * factor), ballots_of(SMALL, 4), SEEDED))
    assert chance(np.array([seen[one] for one in every]), law) < LEVEL


CAST = {(0, 1): 9, (3,): 7, (): 6, (2, 5): 2}


@both_sources
@pytest.mark.parametrize(
    ("labels", "most", "sigma", "times"),
    [(12, 2, 3.0, TIMES), (40, None, 1.3, TIMES), (300, None, 0.45, 5000), (60, 3, 2.2, TIMES)],
)
def test_powerset_of_many_sets(
    labels: int, most: int | None, sigma: float, times: int, origin: NoiseSource
) -> None:
    """Observed sets and the crowd of all others, as `powerset.law` has it."""
    answers = draw_labels(PowersetVoting(sigma, most), ballots_of(CAST, labels), origin, times)
    allowed = powerset.allowed_subsets(labels, most)
    law = np.exp(powerset.law([list(map(float, CAST.values()))], allowed, sigma))[0]
    found = [tuple(np.flatnonzero(one).tolist()) for one in answers]
    seen, others = Counter(found), np.array([one not in CAST for one in found])
    assert min(law[0], law[-1]) * times > 5 * COMMON
    assert chance(np.array([*(seen[one] for one in CAST), others.sum()]), law) > LEVEL
    # Any set without votes is as likely as any other: so is the number of labels in it, ...
    limit = labels if most is None else most
    sizes = [
        math.comb(labels, size) - sum(len(one) == size for one in CAST) for size in range(limit + 1)
    ]
    crowd = answers[others]
    shares = np.array([size / sum(sizes) for size in sizes])
    assert chance(np.bincount(crowd.sum(axis=1), minlength=limit + 1), shares) > LEVEL
    # ... and every label that nobody named is in as many of them.
    alike = crowd[:, 6:].sum(axis=0)
    parts = np.array_split(alike, 3)
    assert chance(np.array([part.sum() for part in parts]), [len(part) for part in parts]) > LEVEL


@both_sources
def test_powerset_unobserved_sets_are_uniform_one_by_one(origin: NoiseSource) -> None:
    """79 sets of at most two of twelve labels, four of them observed."""
    seen = seen_sets(draw_labels(PowersetVoting(9.0, 2), ballots_of(CAST, 12), origin))
    others = [one for one in seen if one not in CAST]
    assert len(others) == 79 - 4
    assert chance(np.array([seen[one] for one in others]), np.ones(75)) > LEVEL

"""Interactive-GNMax: who answers, what it costs, and what one vote can do to its check."""

from __future__ import annotations

import dataclasses

import hypothesis.extra.numpy as arrays
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ballotine.errors import DataError, ParameterError
from ballotine.noise import QueryNoise, SecureNoise, SeededNoise
from ballotine.privacy.events import GaussianCheck, SharedGaussianArgmax
from ballotine.privacy.reach import Reach
from ballotine.types import ABSTAIN
from ballotine.voting import InteractiveGNMax, StudentTallies, Tallies
from tests.voting.test_mechanisms import QUERIES, TEACHERS, MechanismContract, keys

NOBODY = 1e-9  # noise too small to change anything here


class TestInteractiveGNMax(MechanismContract):
    mechanism = InteractiveGNMax(4.0, threshold=3.0, sigma_threshold=3.0, confidence=0.5)
    listed = False
    priced = ()
    changes = {"confidence": 0.75}  # noqa: RUF012

    def tallies(self, rows: slice = slice(None)) -> Tallies:
        opinions = np.random.default_rng(8).dirichlet([0.5] * self.classes, QUERIES)
        plain = super().tallies(rows)
        return self.mechanism.with_student(plain, opinions[rows], TEACHERS)  # type: ignore[attr-defined]


def ask(counts: list[float], opinions: list[float]) -> tuple[int, bool]:
    mechanism = InteractiveGNMax(NOBODY, threshold=10.0, sigma_threshold=NOBODY, confidence=0.6)
    tallies = mechanism.with_student(Tallies(np.array([counts])), [opinions], sum(counts))
    answers, confirmed = mechanism.ask(tallies, QueryNoise(SecureNoise(), keys(1)))
    return int(answers[0]), bool(confirmed[0])


def test_who_answers() -> None:
    # The teachers contradict the student; they agree with it; they do not, and it is unsure.
    assert ask([40.0, 10.0], [0.3, 0.7]) == (0, False)
    assert ask([20.0, 30.0], [0.3, 0.7]) == (1, True)
    assert ask([24.0, 26.0], [0.5, 0.5]) == (ABSTAIN, False)
    # Confirmed is the student's label, even where the teachers have another one.
    assert ask([26.0, 24.0], [0.35, 0.65]) == (1, True)


def test_a_confirmed_label_costs_its_check_only() -> None:
    mechanism = InteractiveGNMax(4.0, 3.0, 2.0, 0.6)
    check, argmax = mechanism.events(3)
    answers, confirmed = np.array([0, 2, ABSTAIN, 1]), np.array([True, False, False, True])
    assert mechanism.realised_with_student(answers, confirmed, 3) == {check: 4, argmax: 1}
    # From the answers alone nobody can tell: every answer may be the teachers'.
    assert mechanism.realised(answers, 3) == {check: 4, argmax: 3}


def test_weighted_and_shared_records_cost_more() -> None:
    mechanism = InteractiveGNMax(4.0, 3.0, 2.0, 0.6)
    assert mechanism.events(3, Reach(weight=1.5, teachers=2)) == (
        GaussianCheck(2.0, 3.0),
        SharedGaussianArgmax(4.0, 3, 2, 1.5),
    )


@settings(deadline=None, max_examples=100)
@given(
    arrays.arrays(np.int64, 4, elements=st.integers(0, 9)),
    arrays.arrays(np.float64, 4, elements=st.floats(0.01, 1.0)),
    st.permutations(range(4)),
)
def test_one_moved_vote_moves_the_check_by_at_most_one(
    counts: np.ndarray, opinions: np.ndarray, order: list[int]
) -> None:
    loser, gainer = order[:2]
    teachers = counts.sum()
    moved = counts.copy()
    moved[loser] -= 1
    moved[gainer] += 1
    expected = teachers * opinions / opinions.sum()
    assert abs(np.max(counts - expected) - np.max(moved - expected)) <= 1 + 1e-9


def test_the_student_must_have_an_opinion() -> None:
    mechanism = InteractiveGNMax(4.0, 3.0, 2.0, 0.6)
    plain = Tallies(np.array([[5.0, 4.0, 1.0]]))
    with pytest.raises(DataError, match="with_student"):
        mechanism.release(plain, QueryNoise(SeededNoise(0), keys(1)))
    for opinions, teachers in [
        ([[0.5, 0.5]], 10),
        ([[0.5, 0.25, 0.5]], 10),
        ([[1.5, -0.5, 0.0]], 10),
        ([[np.nan, 0.5, 0.5]], 10),
        ([[0.5, 0.25, 0.25]], 0),
    ]:
        with pytest.raises(DataError):
            mechanism.with_student(plain, opinions, teachers)
    assert "private" in repr(StudentTallies(plain, [[0.5, 0.25, 0.25]], 10))


@pytest.mark.parametrize(
    "bad",
    [
        {"sigma": 0.0},
        {"sigma_threshold": -1.0},
        {"threshold": np.nan},
        {"confidence": 1.5},
        {"confidence": np.nan},
    ],
)
def test_bad_parameters(bad: dict[str, float]) -> None:
    with pytest.raises(ParameterError):
        dataclasses.replace(InteractiveGNMax(4.0, 3.0, 2.0, 0.6), **bad)

"""The model of votes has the two requested accuracies."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ballotine.agreement import agreement
from ballotine.errors import ParameterError


@settings(max_examples=25, deadline=None)
@given(st.floats(0.6, 0.9), st.floats(0.02, 0.09), st.integers(2, 20))
def test_accuracies_of_one_teacher_and_of_the_plurality(
    teacher: float, better: float, classes: int
) -> None:
    plurality = min(teacher + better, 0.97)
    votes, weights = agreement(teacher, plurality, classes)
    np.testing.assert_allclose(votes.sum(axis=1), 1.0)
    assert weights.sum() == pytest.approx(1.0)
    assert weights @ votes[:, 0] == pytest.approx(teacher, abs=0.005)
    won = votes[:, 0] > votes[:, 1:].max(axis=1)
    assert weights @ won == pytest.approx(plurality, abs=0.02)


@pytest.mark.parametrize(
    "given", [(1.0, 0.9, 10), (0.0, 0.9, 10), (0.8, 0.5, 10), (0.8, 1.0, 10), (0.8, 0.9, 1)]
)
def test_numbers_have_a_domain(given: tuple[float, float, int]) -> None:
    with pytest.raises(ParameterError):
        agreement(*given)

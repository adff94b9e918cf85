"""Tallies count right and keep quiet."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from ballotine.errors import DataError
from ballotine.voting import Tallies


def test_counts_ballots() -> None:
    ballots = np.array([[0, 0, 2, 1], [2, 2, 2, 2]])
    counts = Tallies.of(ballots, 3).unlock(reason="a test looks at made-up ballots")
    assert counts.tolist() == [[2, 1, 1], [0, 0, 4]]


@pytest.mark.parametrize("ballots", [[[0, 3]], [[-1, 0]]])
def test_ballots_outside_the_classes_are_refused(ballots: list[list[int]]) -> None:
    with pytest.raises(DataError, match="class numbers"):
        Tallies.of(np.array(ballots), 3)


@pytest.mark.parametrize(
    "counts", [np.zeros(3), np.zeros((2, 1)), np.array([[np.nan, 1.0]]), np.array([[-1.0, 2.0]])]
)
def test_impossible_tallies_are_refused(counts: np.ndarray) -> None:
    with pytest.raises(DataError):
        Tallies(counts)


def test_a_tally_does_not_talk() -> None:
    tallies = Tallies(np.array([[41.0, 7.0, 2.0]]))
    for text in (repr(tallies), str(tallies), f"{tallies}", f"{tallies:>40}", f"{[tallies]}"):
        assert "41" not in text
        assert "private" in text
    with pytest.raises(TypeError, match="private"):
        np.asarray(tallies)
    with pytest.raises(TypeError, match="private"):
        pickle.dumps(tallies)
    with pytest.raises(DataError, match="reason"):
        tallies.unlock(reason=" ")

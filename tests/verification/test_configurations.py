"""Configurations: all small ones, some large ones, the same for the same seed."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ballotine.verification import Effort
from ballotine.verification.configurations import (
    close_race,
    large_votes,
    random_tally,
    small_tallies,
    tallies,
)
from ballotine.verification.elections import format_cast, small_casts

FULL, QUICK = Effort(quick=False, seed=5), Effort(quick=True, seed=5)


@pytest.mark.parametrize(("votes", "classes"), [(1, 2), (5, 3), (12, 4), (7, 2)])
def test_every_sorted_tally_once(votes: int, classes: int) -> None:
    found = list(tallies(votes, classes))
    every = itertools.product(range(votes + 1), repeat=classes)
    truth = {tuple(sorted(map(float, t), reverse=True)) for t in every if sum(t) == votes}
    assert len(found) == len(set(found))
    assert set(found) == truth


def test_small_means_up_to_twelve_votes_and_four_classes() -> None:
    full = set(small_tallies(FULL))
    assert (3.0, 3.0, 3.0, 3.0) in full
    assert (12.0, 0.0) in full
    assert max(sum(tally) for tally in full) == 12.0
    assert set(small_tallies(QUICK)) < full


@given(st.integers(0, 2**32), st.integers(2, 300), st.sampled_from([2, 3, 10]))
@settings(max_examples=50, deadline=None)
def test_random_tallies_are_tallies(seed: int, votes: int, classes: int) -> None:
    draw = np.random.default_rng(seed)
    for make in (random_tally, close_race):
        tally = make(draw, votes, classes)
        assert len(tally) == classes
        assert sum(tally) == votes
        assert list(tally) == sorted(tally, reverse=True)
        assert min(tally) >= 0.0


def test_the_seed_decides() -> None:
    first, again = (list(large_votes(FULL, "x")) for _ in range(2))
    assert first == again
    assert first != list(large_votes(FULL, "y"))
    assert first != list(large_votes(Effort(quick=False, seed=6), "x"))
    assert len(list(large_votes(QUICK, "x"))) < len(first)


def test_every_small_poll_once_for_all_names_of_labels() -> None:
    casts = small_casts(False)
    assert len(set(casts)) == len(casts)
    one = [cast for labels, cast in casts if labels == 1]
    # One label: n teachers, of whom 0 … n name it.
    assert len(one) == sum(n + 1 for n in range(1, 9))
    two = [cast for labels, cast in casts if labels == 2]
    assert (((0,), 1), ((1,), 1)) in two
    assert (((0,), 2),) in two
    assert (((1,), 2),) not in two
    # Burnside: multisets of n of four ballots, two of which swap.
    swapped = sum(
        sum(1 for a in range(n + 1) for b in range(n + 1 - a) if (n - a - b) % 2 == 0)
        for n in range(1, 5)
    )
    assert len(two) == (4 + 10 + 20 + 35 + swapped) // 2


def test_ballots_are_shown_with_their_numbers() -> None:
    assert format_cast((((0, 1), 3), ((), 2))) == "3×{0, 1} + 2×{}"

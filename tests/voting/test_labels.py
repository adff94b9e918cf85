"""Ballots of several labels: cast from probabilities, clipped, counted, and kept private."""

from __future__ import annotations

import copy
import pickle
from collections import Counter

import hypothesis.extra.numpy as arrays
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ballotine.errors import DataError, ParameterError
from ballotine.voting import (
    BinaryVoting,
    ClippedVoting,
    Clipping,
    LabelTallies,
    PowersetVoting,
    SubsetTallies,
    Tallies,
    cast_labels,
)

REASON = "a test looks at made-up ballots"
SHAPES = st.tuples(st.integers(1, 4), st.integers(1, 6), st.integers(1, 11))
BALLOTS = SHAPES.flatmap(lambda shape: arrays.arrays(np.uint8, shape, elements=st.integers(0, 1)))


def test_a_label_is_named_above_its_threshold() -> None:
    probabilities = np.array([[0.5, 0.51, 0.2], [0.9, np.nan, -1.0]])
    assert cast_labels(probabilities).tolist() == [[0, 1, 0], [1, 0, 0]]
    assert cast_labels(probabilities, [0.4, 0.6, 0.1]).tolist() == [[1, 0, 1], [1, 0, 0]]
    assert cast_labels(probabilities, 0.0).tolist() == [[1, 1, 1], [1, 0, 0]]
    assert cast_labels(probabilities).dtype == np.uint8
    assert cast_labels(np.zeros((5, 4, 3, 2))).shape == (5, 4, 3, 2)


def test_the_most_probable_labels_are_kept() -> None:
    probabilities = np.array([0.6, 0.9, 0.7, 0.9, 0.4])
    assert cast_labels(probabilities, most=2).tolist() == [0, 1, 0, 1, 0]
    assert cast_labels(probabilities, most=3).tolist() == [0, 1, 1, 1, 0]
    # The first of equals; and a label below its threshold does not move up.
    assert cast_labels(probabilities, most=1).tolist() == [0, 1, 0, 0, 0]
    assert cast_labels(probabilities, [0.5, 0.95, 0.5, 0.95, 0.5], most=3).tolist() == [
        0,
        0,
        1,
        0,
        0,
    ]
    assert cast_labels(probabilities, most=9).tolist() == [1, 1, 1, 1, 0]


@pytest.mark.parametrize(
    ("probabilities", "thresholds", "most"),
    [
        ([[0.1, 1.2]], 0.5, None),
        ([[0.1, -0.5]], 0.5, None),
        ([[0.1, np.inf]], 0.5, None),
        (0.3, 0.5, None),
        ([[0.1, 0.2]], [0.5, 0.5, 0.5], None),
        ([[0.1, 0.2]], 1.5, None),
        ([[0.1, 0.2]], np.nan, None),
        ([[0.1, 0.2]], 0.5, 0),
        ([[0.1, 0.2]], 0.5, 1.5),
    ],
)
def test_probabilities_that_cannot_be_cast(
    probabilities: object, thresholds: object, most: object
) -> None:
    with pytest.raises((DataError, ParameterError)):
        cast_labels(probabilities, thresholds, most)  # type: ignore[arg-type]


def clipped_by_hand(ballot: np.ndarray, clipping: Clipping) -> np.ndarray:
    length = np.linalg.norm(ballot, 2 if clipping.norm == "l2" else 1)
    if clipping.tau is None or length <= clipping.tau:
        return ballot.astype(float)
    return ballot * clipping.tau / length


@settings(deadline=None, max_examples=60)
@given(BALLOTS, st.sampled_from([None, 0.4, 1.0, 1.8, 5.0]), st.sampled_from(["l2", "l1"]))
def test_labels_are_counted_ballot_by_ballot(ballots: np.ndarray, tau: float, norm: str) -> None:
    clipping = Clipping(tau, norm)  # type: ignore[arg-type]
    expected = [sum(clipped_by_hand(one, clipping) for one in query) for query in ballots]
    for kind in (np.uint8, np.int64, bool):
        tallies = LabelTallies.from_ballots(ballots.astype(kind), clipping)
        assert tallies.unlock(reason=REASON) == pytest.approx(np.array(expected), rel=1e-12)
        assert tallies.teachers == ballots.shape[1]
        assert tallies.classes == ballots.shape[2]
        assert tallies.clipping == clipping


def test_many_queries_are_counted_in_parts() -> None:
    ballots = (np.random.default_rng(0).random((1000, 7, 5)) < 0.5).astype(np.uint8)
    tallies = LabelTallies.from_ballots(ballots, Clipping())
    assert np.array_equal(tallies.unlock(reason=REASON), ballots.sum(axis=1))
    assert len(LabelTallies.from_ballots(ballots[:0], Clipping())) == 0


@settings(deadline=None, max_examples=60)
@given(BALLOTS, st.sampled_from([None, 1, 2, 20]))
def test_sets_are_counted_like_a_dictionary_would(ballots: np.ndarray, most: int | None) -> None:
    tallies = SubsetTallies.from_ballots(ballots, most)
    counts, sets = tallies.unlock(reason=REASON), tallies.unlock_sets(reason=REASON)
    labels = ballots.shape[2]
    for query, (row, listed) in zip(ballots, zip(counts, sets, strict=True), strict=True):
        expected: Counter[tuple[int, ...]] = Counter(
            tuple(np.flatnonzero(one)[:most].tolist()) for one in query
        )
        found = {
            tuple(np.flatnonzero(np.unpackbits(one, count=labels)).tolist()): votes
            for one, votes in zip(listed, row, strict=True)
            if votes
        }
        assert found == expected
        assert np.count_nonzero(row) == len(expected)


def test_sets_of_hundreds_of_labels_differ_in_any_one() -> None:
    labels = 300
    ballots = np.zeros((1, labels + 1, labels), dtype=np.uint8)
    ballots[0, np.arange(labels), np.arange(labels)] = 1
    counts = SubsetTallies.from_ballots(ballots).unlock(reason=REASON)
    assert counts.tolist() == [[1.0] * (labels + 1)]


def test_the_shape_of_a_subset_tally_says_nothing_about_the_votes() -> None:
    same = np.zeros((1, 5, 4), dtype=np.uint8)
    different = np.eye(5, 4, dtype=np.uint8)[np.newaxis]
    for ballots in (same, different):
        assert SubsetTallies.from_ballots(ballots).unlock(reason=REASON).shape == (1, 5)
    # No more sets than there are.
    assert SubsetTallies.from_ballots(same[:, :, :1]).unlock(reason=REASON).shape == (1, 2)


@pytest.mark.parametrize(
    "ballots",
    [
        np.zeros((2, 3), dtype=np.uint8),
        np.zeros((2, 0, 3), dtype=np.uint8),
        np.full((1, 2, 3), 2),
        np.full((1, 2, 3), -1),
        np.full((1, 2, 3), 0.5),
    ],
)
def test_what_is_not_a_ballot_is_refused(ballots: np.ndarray) -> None:
    for mechanism in (BinaryVoting(4.0), ClippedVoting(4.0, 1.5), PowersetVoting(4.0)):
        with pytest.raises(DataError, match="ballots"):
            mechanism.tally(ballots, 3)
    with pytest.raises(DataError, match="each of 4 labels"):
        BinaryVoting(4.0).tally(np.zeros((1, 2, 3), dtype=np.int64), 4)
    with pytest.raises(DataError, match="each of 4 labels"):
        PowersetVoting(4.0).tally(np.zeros((1, 2, 3), dtype=np.int64), 4)


@pytest.mark.parametrize(
    ("counts", "teachers", "clipping"),
    [
        ([[3.0, -1.0]], 5, Clipping()),
        ([[3.0, 6.0]], 5, Clipping()),
        ([[3.0, 4.5]], 5, Clipping(0.8)),
        ([[np.nan, 1.0]], 5, Clipping()),
        ([3.0, 1.0], 5, Clipping()),
        ([[0.0]], 0, Clipping()),
    ],
)
def test_impossible_label_tallies_are_refused(
    counts: list[list[float]], teachers: int, clipping: Clipping
) -> None:
    with pytest.raises(DataError):
        LabelTallies(counts, teachers, clipping)


@pytest.mark.parametrize(("tau", "norm"), [(0.0, "l2"), (-1.0, "l1"), (np.nan, "l2"), (1.0, "l3")])
def test_impossible_clippings_are_refused(tau: float, norm: str) -> None:
    with pytest.raises(ParameterError):
        Clipping(tau, norm)  # type: ignore[arg-type]


BALLOT = np.array([[[1, 0, 1], [1, 1, 0], [1, 0, 1]]])


@pytest.mark.parametrize(
    "tallies",
    [LabelTallies.from_ballots(BALLOT, Clipping(1.2345)), SubsetTallies.from_ballots(BALLOT)],
)
def test_tallies_of_labels_do_not_talk(tallies: Tallies) -> None:
    for text in (repr(tallies), str(tallies), f"{tallies}", f"{[tallies]}"):
        assert text.strip("[]") == f"<{type(tallies).__name__} of 1 queries: private>"
    for attempt in (np.asarray, pickle.dumps, list, float, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="private"):
            attempt(tallies)
    with pytest.raises(DataError, match="reason"):
        tallies.unlock(reason=" ")
    if isinstance(tallies, SubsetTallies):
        with pytest.raises(DataError, match="reason"):
            tallies.unlock_sets(reason="")


def test_tallies_of_another_rule_are_refused() -> None:
    """Ballots that were clipped less than is charged for would protect less than is promised."""
    binary, clipped = BinaryVoting(4.0), ClippedVoting(4.0, 1.2)
    powerset, limited = PowersetVoting(4.0), PowersetVoting(4.0, 1)
    every = [one.tally(BALLOT, 3) for one in (binary, clipped, powerset, limited)]
    every.append(Tallies(np.array([[1.0, 2.0, 3.0]])))
    for number, mechanism in enumerate((binary, clipped, powerset, limited)):
        for other, tallies in enumerate(every):
            if other != number:
                with pytest.raises(DataError, match="its own tally"):
                    mechanism.release(tallies, None)  # type: ignore[arg-type]

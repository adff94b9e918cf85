"""Labels that imply each other: who is asked, and what follows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ballotine.errors import DataError, ParameterError
from ballotine.privacy.events import LabelBits
from ballotine.voting import (
    BinaryVoting,
    ClippedVoting,
    Dependencies,
)
from tests.voting.test_mechanisms import release

ORDERS = np.array([1.5, 2.0, 4.0, 8.0, 32.0])
FOREST = Dependencies((None, 0, 0, 1, None))
LEAVES = Dependencies((None, 0, 0, 1, None), "leaves")


def test_roots_first_asks_below_present_labels() -> None:
    # 0 → 1 → 3, 0 → 2, and 4 by itself.
    raw = np.array([[1, 1, 0, 1, 0], [0, 1, 1, 1, 1], [-1, 1, 0, 1, 1], [1, 0, 1, 1, -1]])
    answers = FOREST.infer(raw)
    assert answers.tolist() == [
        [1, 1, 0, 1, 0],
        [0, 0, 0, 0, 1],
        [-1, -1, -1, -1, 1],
        [1, 0, 1, 0, -1],
    ]
    assert FOREST.asked(answers).tolist() == [
        [True, True, True, True, True],
        [True, False, False, False, True],
        [True, False, False, False, True],
        [True, True, True, False, True],
    ]


def test_leaves_first_asks_above_absent_labels() -> None:
    raw = np.array([[0, 0, 0, 1, 0], [0, 0, 1, 0, 1], [0, 0, 0, 0, 1], [-1, 1, -1, -1, -1]])
    answers = LEAVES.infer(raw)
    assert answers.tolist() == [
        [1, 1, 0, 1, 0],
        [1, 0, 1, 0, 1],
        [0, 0, 0, 0, 1],
        [1, 1, -1, -1, -1],
    ]
    assert LEAVES.asked(answers).tolist() == [
        [False, False, True, True, True],
        [False, True, True, True, True],
        [True, True, True, True, True],
        [False, True, True, True, True],
    ]


@st.composite
def forests(draw: st.DrawFn) -> Dependencies:
    labels = draw(st.integers(1, 7))
    names = draw(st.permutations(range(labels)))
    parents: list[int | None] = [None] * labels
    for place in range(1, labels):
        above = draw(st.none() | st.integers(0, place - 1))
        parents[names[place]] = None if above is None else names[above]
    return Dependencies(tuple(parents), draw(st.sampled_from(["roots", "leaves"])))


@settings(deadline=None, max_examples=100)
@given(forests(), st.data())
def test_answers_respect_the_forest_and_show_who_was_asked(
    forest: Dependencies, data: st.DataObject
) -> None:
    raw = data.draw(
        st.lists(st.sampled_from([-1, 0, 1]), min_size=forest.labels, max_size=forest.labels)
    )
    answers = forest.infer(np.array([raw]))
    asked = forest.asked(answers)[0]
    assert asked.any()
    for label, parent in enumerate(forest.parents):
        if parent is not None and answers[0, label] == 1:
            assert answers[0, parent] == 1
        # What was asked is the answer; what was not follows from the others.
        if asked[label]:
            assert answers[0, label] == raw[label]
    # Whatever the labels that were not asked would have said, the answers are the same.
    other = np.array([raw])
    other[0, ~asked] = data.draw(st.sampled_from([-1, 0, 1]))
    assert np.array_equal(forest.infer(other), answers)


@pytest.mark.parametrize(
    ("parents", "first"),
    [
        ((1, 0), "roots"),
        ((0,), "roots"),
        ((None, 2, 3, 1), "leaves"),
        ((None, 2), "roots"),
        ((None, -1), "roots"),
        ((None, True), "roots"),
        ((None, 0.0), "roots"),
        ((None, 0), "middle"),
    ],
)
def test_what_is_not_a_forest_is_refused(parents: Any, first: Any) -> None:
    with pytest.raises(ParameterError):
        Dependencies(parents, first)


def test_dependencies_are_for_so_many_labels() -> None:
    mechanism = BinaryVoting(4.0, dependencies=FOREST)
    with pytest.raises(DataError, match="5 labels, not for 4"):
        mechanism.events(4)
    with pytest.raises(DataError, match="5 labels, not for 4"):
        mechanism.realised(np.zeros((1, 4), dtype=np.int64), 4)
    with pytest.raises(DataError, match="5 labels, not for 4"):
        release(mechanism, np.zeros((1, 3, 4), dtype=np.int64))


def test_asking_in_turn_costs_no_more_than_asking_at_once() -> None:
    """Clipped ballots cannot move all levels of a forest by as much as each by itself."""
    chain = Dependencies(tuple([None] * 7 + list(range(14))))
    mechanism = ClippedVoting(9.0, 1.8, dependencies=chain)
    (together,) = mechanism.events(21)
    assert together == LabelBits(9.0, 21, 1.8)
    levels = 3 * LabelBits(9.0, 7, 1.8).cost(ORDERS)
    assert np.all(together.cost(ORDERS) < 0.5 * levels)
    everything = mechanism.realised(np.ones((1, 21), dtype=np.int64), 21)
    assert everything == {together: 1}

"""Neighbours differ in one teacher; laws are laws; scouts only choose."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ballotine.audit import worst_pair
from ballotine.audit.attack import _groupings, anticipated, scores_of_laws
from ballotine.audit.mechanism import EASY_ORDERS
from ballotine.audit.pairs import MAX_CANDIDATES, _moves, _partitions, candidates
from ballotine.errors import ParameterError
from ballotine.privacy import exact
from ballotine.voting import ConfidentGNMax, GNMax, LNMax
from tests.audit.faults import Labels, PlainVote, QuietGNMax

NUMBERS = st.integers(1, 8)
CLASSES = st.integers(2, 4)


def counts(ballots: np.ndarray, classes: int) -> np.ndarray:
    return np.bincount(ballots, minlength=classes)


@settings(max_examples=30, deadline=None)
@given(NUMBERS, CLASSES)
def test_single_label_candidates_move_one_vote(teachers: int, classes: int) -> None:
    pairs = candidates(PlainVote(2.0), teachers, classes)
    assert 0 < len(pairs) <= MAX_CANDIDATES
    for pair in pairs:
        move = counts(pair.after, classes) - counts(pair.before, classes)
        assert sorted(move[move != 0]) == [-1, 1]
        assert counts(pair.before, classes).sum() == teachers


@settings(max_examples=30, deadline=None)
@given(NUMBERS, CLASSES)
def test_label_candidates_change_one_ballot(teachers: int, labels: int) -> None:
    for pair in candidates(Labels(2.0, teachers), teachers, labels):
        changed = np.any(pair.before != pair.after, axis=1)
        assert changed.sum() == 1
        assert pair.before.shape == (teachers, labels)
        assert {0, 1} >= set(np.unique((pair.before, pair.after)))


@settings(max_examples=30, deadline=None)
@given(NUMBERS, CLASSES)
def test_every_tally_and_every_move_is_tried(teachers: int, classes: int) -> None:
    """Against enumeration; classes that are alike may be exchanged."""
    votes = itertools.product(range(teachers + 1), repeat=classes)
    tallies = {tuple(sorted(one, reverse=True)) for one in votes if sum(one) == teachers}
    assert set(_partitions(teachers, classes, teachers)) == tallies
    expected = set()
    for tally in tallies:
        for i, j in itertools.permutations(range(classes), 2):
            if tally[i]:
                after = [tally[c] - (c == i) + (c == j) for c in range(classes)]
                expected.add((tally, tuple(sorted(after))))
    found = {(before, tuple(sorted(after))) for before, after in _moves(teachers, classes)}
    assert found == expected


def test_many_teachers_are_led_by_two_classes() -> None:
    for before, after in _moves(300, 5):
        assert sum(before) == sum(after) == 300
        assert before[2:] == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    "mechanism", [GNMax(2.0), QuietGNMax(2.0), LNMax(0.5), ConfidentGNMax(2.0, 3.0, 1.5)]
)
def test_laws_add_to_one(mechanism: GNMax) -> None:
    for tally in ((3.0, 1.0), (2.0, 2.0, 0.0), (7.0, 1.0, 1.0, 0.0)):
        law = mechanism.log_law(tally)
        assert law is not None
        assert law.shape == (len(tally) + 1,)
        assert np.exp(law).sum() == pytest.approx(1.0, abs=1e-12)


def test_laws_agree_with_the_pricing_code() -> None:
    law = GNMax(2.0).log_law((5.0, 2.0, 1.0))
    assert law is not None
    assert law[1:] == pytest.approx(exact.gnmax_law([5.0, 2.0, 1.0], 2.0)[0], abs=1e-12)
    assert PlainVote(2.0).log_law((1.0, 1.0)) is None


@pytest.mark.parametrize("sigma", [0.3, 0.5, 1.0, 3.0])
def test_the_worst_pair_is_the_best_rated_of_all(sigma: float) -> None:
    """The short list by divergence must not leave out what would show most."""

    def rate(laws: tuple[np.ndarray, np.ndarray]) -> float:
        return anticipated(laws, 200_000, 20, 1e-5, 0.005)

    mechanism = GNMax(sigma)
    pair = worst_pair(mechanism, 6, 3, (*EASY_ORDERS, 8.0), rate)
    assert pair is not None
    assert pair.laws is not None
    every = [
        rate((mechanism.log_law(before), mechanism.log_law(after)))  # type: ignore[arg-type]
        for before, after in _moves(6, 3)
    ]
    assert rate(pair.laws) == pytest.approx(max(every), rel=0.02)
    assert counts(pair.before, 3).sum() == counts(pair.after, 3).sum() == 6
    assert np.abs(counts(pair.before, 3) - counts(pair.after, 3)).sum() == 2


def test_nobody_to_ask() -> None:
    with pytest.raises(ParameterError, match="at least one teacher"):
        candidates(PlainVote(2.0), 0, 2)
    with pytest.raises(ParameterError, match="two classes"):
        worst_pair(GNMax(2.0), 3, 1, (2.0,), lambda _: 0.0)


def test_scores_of_impossible_outcomes() -> None:
    first = np.log(np.array([0.5, 0.5, 1e-300, 1.0]))
    second = np.log(np.array([0.25, 0.75, 1.0, 1.0]))
    first[3] = second[3] = -np.inf
    assert scores_of_laws((first, second)) == pytest.approx([np.log(2), np.log(2 / 3), -40, 0])
    second[0] = -np.inf
    assert scores_of_laws((first, second))[0] == 40


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.tuples(st.floats(-5, 5), st.integers(0, 50)), min_size=2, max_size=15),
)
def test_cells_keep_the_order_of_scores(outcomes: list[tuple[float, int]]) -> None:
    scores = np.array([score for score, _ in outcomes])
    masses = np.array([mass for _, mass in outcomes], dtype=np.float64)
    found = _groupings(scores, masses)
    assert [int(cells.max()) + 1 for cells in found] == list(range(2, min(6, len(scores)) + 1))
    for cells in found:
        order = np.argsort(-scores, kind="stable")
        assert np.all(np.diff(cells[order]) >= 0)
        assert set(np.unique(cells)) == set(range(int(cells.max()) + 1))

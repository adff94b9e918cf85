"""Multi-label metrics, compared with scikit-learn and with counting by hand."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as oracle

from ballotine import metrics
from ballotine.errors import DataError
from ballotine.types import ABSTAIN, BoolArray, FloatArray, IntArray

Drawn = tuple[IntArray, IntArray, FloatArray, BoolArray]
examples = settings(max_examples=60, deadline=None)


@st.composite
def drawn(draw: st.DrawFn) -> Drawn:
    """Truth, answers, scores with ties, and what is known."""
    rows, labels = draw(st.integers(1, 25)), draw(st.integers(1, 4))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    share = draw(st.sampled_from([0.0, 0.1, 0.5, 1.0]))
    truth = (generator.random((rows, labels)) < share).astype(np.int64)
    answers = generator.integers(0, 2, (rows, labels))
    scores = generator.integers(0, draw(st.sampled_from([2, 5, 1000])), (rows, labels)) / 7.0
    known = generator.random((rows, labels)) < draw(st.sampled_from([0.3, 0.9, 1.0]))
    return truth, answers, scores, known


def mean_over_labels(
    truth: IntArray,
    given: IntArray | FloatArray,
    known: BoolArray,
    metric: Callable[[IntArray, IntArray | FloatArray], float],
    least_positives: int,
    least_negatives: int,
) -> float:
    """The metric by scikit-learn, label by label."""
    values = []
    for label in range(truth.shape[1]):
        rows = known[:, label]
        y, values_given = truth[rows, label], given[rows, label]
        enough = y.sum() >= least_positives and (1 - y).sum() >= least_negatives
        if y.size and enough:
            values.append(metric(y, values_given))
    return float(np.mean(values)) if values else math.nan


def same(ours: float, theirs: float) -> bool:
    return (math.isnan(ours) and math.isnan(theirs)) or ours == pytest.approx(theirs, abs=1e-12)


@examples
@given(drawn())
def test_all_metrics_agree_with_scikit_learn(case: Drawn) -> None:
    truth, answers, scores, known = case
    ours = metrics.score(truth, answers, scores, known)
    expected = {
        "acc": mean_over_labels(truth, answers, known, oracle.accuracy_score, 0, 0),
        "bac": mean_over_labels(truth, answers, known, oracle.balanced_accuracy_score, 1, 1),
        "auc": mean_over_labels(truth, scores, known, oracle.roc_auc_score, 1, 1),
        "map": mean_over_labels(truth, scores, known, oracle.average_precision_score, 1, 0),
    }
    for name, value in expected.items():
        assert same(getattr(ours, name), value), name


@examples
@given(drawn())
def test_bits_as_scores_make_auc_the_balanced_accuracy(case: Drawn) -> None:
    truth, answers, _, known = case
    ours = metrics.score(truth, answers, known=known)
    assert same(ours.auc, ours.bac)


@examples
@given(drawn())
def test_an_abstained_label_counts_like_an_unknown_one(case: Drawn) -> None:
    truth, answers, scores, known = case
    abstained = np.where(known, answers, ABSTAIN)
    with_mask = metrics.score(truth, answers, scores, known)
    with_abstention = metrics.score(truth, abstained, scores)
    for name in ("acc", "bac", "auc", "map"):
        assert same(getattr(with_mask, name), getattr(with_abstention, name))


@examples
@given(drawn())
def test_what_is_unknown_makes_no_difference(case: Drawn) -> None:
    truth, answers, scores, known = case
    other = metrics.score(
        np.where(known, truth, -7), np.where(known, answers, 1), np.where(known, scores, 9.0), known
    )
    assert repr(other) == repr(metrics.score(truth, answers, scores, known))


@pytest.mark.parametrize("answers", list(product((0, 1), repeat=4)))
def test_counting_by_hand(answers: tuple[int, ...]) -> None:
    """One label, two positive and two negative rows: every metric is a count over pairs."""
    truth = np.array([[1], [1], [0], [0]])
    right = [answer == true for answer, true in zip(answers, (1, 1, 0, 0), strict=True)]
    ours = metrics.score(truth, np.array(answers)[:, None])
    assert ours.acc == sum(right) / 4
    assert ours.bac == (sum(right[:2]) / 2 + sum(right[2:]) / 2) / 2
    pairs = [(p > n) + (p == n) / 2 for p in answers[:2] for n in answers[2:]]
    assert ours.auc == pytest.approx(sum(pairs) / 4)
    named, found = sum(answers), sum(answers[:2])
    precision = found / named if named else 0.0
    expected = precision * found / 2 + (2 / 4) * (2 - found) / 2
    assert ours.map == pytest.approx(expected)


def test_a_label_without_both_classes_is_left_out_of_the_mean() -> None:
    truth = np.array([[1, 0], [0, 0]])
    ours = metrics.score(truth, np.array([[1, 0], [0, 1]]))
    assert (ours.acc, ours.bac, ours.auc, ours.map) == (0.75, 1.0, 1.0, 1.0)


def test_nothing_to_judge_is_not_a_number() -> None:
    truth = np.array([[1, 0]])
    ours = metrics.score(truth, np.full((1, 2), ABSTAIN))
    assert all(math.isnan(value) for value in (ours.acc, ours.bac, ours.auc, ours.map))


def test_impossible_shapes_and_labels_are_refused() -> None:
    truth, answers = np.array([[0, 1]]), np.array([[0, 1]])
    with pytest.raises(DataError, match="shape"):
        metrics.accuracy(truth, answers[:, :1])
    with pytest.raises(DataError, match="shape"):
        metrics.accuracy(truth[0], answers[0])
    with pytest.raises(DataError, match="mask"):
        metrics.accuracy(truth, answers, np.array([[True]]))
    with pytest.raises(DataError, match="0 or 1"):
        metrics.balanced_accuracy(np.array([[-1, 1]]), answers)

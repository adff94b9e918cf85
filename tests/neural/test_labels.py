"""Several labels: missing ones are masked, thresholds come from the model's own records."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import balanced_accuracy_score

from ballotine.data.partition import random_partition
from ballotine.neural import MISSING, TorchClassifier
from ballotine.neural.targets import own_thresholds
from ballotine.neural.training import loss_of
from ballotine.teachers import LocalEngine, TeacherStore, Trainer, fit_labels, train_labels
from ballotine.teachers.multilabel import centred
from ballotine.types import IntArray
from ballotine.voting import cast_labels
from tests.neural.images import SHAPE, bars

X, CLASSES = bars(80, 0)
FRESH, TRUTH = bars(40, 1)
Y = np.column_stack([CLASSES == 0, CLASSES >= 1]).astype(float)

cells = st.tuples(st.floats(-20, 20), st.sampled_from([MISSING, 0, 1]))


@given(st.lists(st.lists(cells, min_size=3, max_size=3), min_size=1, max_size=6))
@settings(deadline=None, max_examples=40)
def test_the_loss_is_the_mean_over_known_labels(rows: list[list[tuple[float, int]]]) -> None:
    logits = torch.tensor([[logit for logit, _ in row] for row in rows], dtype=torch.float64)
    codes = torch.tensor([[code for _, code in row] for row in rows])
    known = [pair for row in rows for pair in row if pair[1] != MISSING]
    terms = [math.log1p(math.exp(-logit if code == 1 else logit)) for logit, code in known]
    wanted = sum(terms) / len(terms) if terms else 0.0
    assert float(loss_of(logits, codes)) == pytest.approx(wanted, rel=1e-4, abs=1e-6)


def test_a_missing_label_gives_no_gradient() -> None:
    logits = torch.zeros((2, 2), requires_grad=True)
    loss_of(logits, torch.tensor([[1, MISSING], [MISSING, 0]])).backward()  # type: ignore[no-untyped-call]
    assert logits.grad is not None
    assert (logits.grad != 0).tolist() == [[True, False], [False, True]]


def model(**more: object) -> TorchClassifier:
    return TorchClassifier("small-cnn", SHAPE, epochs=12, batch=16, random_state=0, **more)


def test_labels_are_learnt_with_gaps_marked_either_way() -> None:
    gaps = np.random.default_rng(2).random(Y.shape) < 0.3
    as_nan, as_minus = np.where(gaps, np.nan, Y), np.where(gaps, -1, Y).astype(int)
    found = [model().fit(X, labels).predict_proba(FRESH) for labels in (as_nan, as_minus)]
    assert np.array_equal(found[0], found[1])
    assert found[0].shape == (40, 2)
    truth = np.column_stack([TRUTH == 0, TRUTH >= 1])
    assert np.mean((found[0] > 0.5) == truth) > 0.9


def test_predictions_follow_the_thresholds() -> None:
    high = model(thresholds=0.9).fit(X, Y)
    chances = high.predict_proba(FRESH)
    assert np.array_equal(high.predict(FRESH), (chances > 0.9).astype(int))
    own = model(thresholds="own").fit(X, Y)
    assert np.array_equal(own.thresholds_, own_thresholds(own.predict_proba(X), Y.astype(int)))


def test_a_rare_label_is_found_with_a_threshold_of_its_own() -> None:
    rare = (np.arange(80) % 8 == 0).astype(int)
    blurred = np.column_stack([rare + np.random.default_rng(0).normal(0, 0.6, 80), np.ones(80)])
    labels = np.column_stack([rare, 1 - rare])
    fitted = [
        TorchClassifier(
            "linear", epochs=30, learning_rate=0.05, thresholds=way, random_state=0
        ).fit(blurred, labels)
        for way in (0.5, "own")
    ]
    plain, own = (balanced_accuracy_score(rare, one.predict(blurred)[:, 0]) for one in fitted)
    assert own > plain


columns = st.lists(
    st.tuples(st.floats(0.01, 0.99), st.sampled_from([MISSING, 0, 1])), min_size=1, max_size=12
)


@given(columns)
@settings(deadline=None, max_examples=150)
def test_no_threshold_is_better_on_the_records(column: list[tuple[float, int]]) -> None:
    """Against every threshold that decides differently."""
    chances, codes = (np.array(part) for part in zip(*column, strict=True))
    found = float(own_thresholds(chances[:, None], codes[:, None])[0])
    known = codes != MISSING
    if len(set(codes[known].tolist())) < 2:
        assert found == 0.5
        return
    edges = np.concatenate(([0.0], np.sort(chances[known]), [1.0]))
    middles = (edges[1:] + edges[:-1]) / 2

    def score(cut: float) -> float:
        called = chances[known] > cut
        truth = codes[known] == 1
        return float(np.mean(called[truth]) + np.mean(~called[~truth]))

    assert 0 < found < 1
    assert score(found) >= max(score(cut) for cut in middles) - 1e-9


def test_a_column_is_one_class_per_record() -> None:
    with pytest.warns(match="column-vector"):
        found = model().fit(X, CLASSES[:, None])
    assert found.predict(FRESH).shape == (40,)


def with_gaps(labels: IntArray, seed: int) -> IntArray:
    gaps = np.random.default_rng(seed).random(labels.shape) < 0.3
    return np.where(gaps, -1, labels).astype(np.int64)


def test_a_teacher_is_one_network_even_where_labels_are_missing() -> None:
    """Its labels are those of the network alone, taught the same with the gaps marked."""
    labels = with_gaps(np.column_stack([Y, np.ones(80)]).astype(np.int64), 3)
    found = fit_labels(model(), X, labels, 5)
    assert isinstance(found.together, TorchClassifier)
    alone = model().set_params(random_state=5).fit(X, labels[:, :2])
    chances = found.probabilities(FRESH)
    assert np.array_equal(chances[:, :2], alone.predict_proba(FRESH))
    assert np.all(chances[:, 2] == 1.0)  # no record without it: nothing to learn


def test_what_a_missing_label_would_have_been_changes_nothing() -> None:
    labels = with_gaps(Y.astype(np.int64), 4)
    other = np.where(labels < 0, -7, labels)
    first, second = (fit_labels(model(), X, y, 5).probabilities(FRESH) for y in (labels, other))
    assert np.array_equal(first, second)


def test_ballots_follow_each_teachers_own_thresholds(tmp_path: Path) -> None:
    labels = with_gaps(Y.astype(np.int64), 5)
    store = TeacherStore(tmp_path)
    own = TorchClassifier("linear", epochs=3, thresholds="own")
    trainer = Trainer(own, 2, b"secret", engine=LocalEngine(1), store=store)
    partition = random_partition(len(X), 3, b"secret")
    ensemble = train_labels(trainer, X, labels, partition, partial(cast_labels, thresholds=0.5))
    ballots = ensemble.ballots(FRESH)
    assert ensemble.problems == {}
    limits = []
    for column, teacher in enumerate(ensemble.teachers):
        network = teacher.model.together
        assert np.array_equal(ballots[:, column], network.predict(FRESH))
        limits.append(network.thresholds_)
    assert len(np.unique(limits)) > 2


@given(st.floats(0, 1), st.floats(1e-6, 1 - 1e-6))
@settings(deadline=None, max_examples=100)
def test_stretched_probabilities_keep_their_side_and_their_range(
    chance: float, threshold: float
) -> None:
    found = float(centred(np.array([chance]), np.array([threshold]))[0])
    assert 0.0 <= found <= 1.0
    if abs(chance - threshold) > 1e-9:
        assert (found > 0.5) == (chance > threshold)
    assert float(centred(np.array([threshold]), np.array([threshold]))[0]) == 0.5

"""Pools of rows, and what cannot be learnt from."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from ballotine.errors import DataError, ParameterError
from ballotine.students import fit_student
from ballotine.students.neural import (
    VAT,
    CoTeaching,
    FixMatch,
    MixMatch,
    NeuralStudent,
    PatePlusPlus,
    SemiSupervisedGAN,
    Supervised,
)
from ballotine.students.neural.pools import Pools, draw
from tests.students.neural.digits import METHODS, SHAPE, digits, student

DATA = digits()


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 40), st.integers(1, 40), st.integers(2, 15), st.integers(0, 99))
def test_an_epoch_takes_all_of_the_larger_pool_and_repeats_the_smaller(
    answered: int, others: int, size: int, seed: int
) -> None:
    inputs = torch.arange(answered + others, dtype=torch.float32)[:, None]
    pools = Pools(
        inputs,
        torch.arange(answered),
        torch.arange(answered) * 10,
        torch.arange(answered, answered + others),
    )
    batches = list(draw(pools, size, torch.Generator().manual_seed(seed)))
    length = max(answered, others)
    places = Counter(int(place) for batch in batches for place in batch.places)
    rows = Counter(int(row) for batch in batches for row in batch.unlabelled.flatten())
    assert sum(places.values()) == sum(rows.values()) == length
    assert set(places) == set(range(answered))
    assert set(rows) == set(range(answered, answered + others))
    for counts in (places, rows):
        assert max(counts.values()) - min(counts.values()) <= 1
    for batch in batches:
        assert torch.equal(batch.codes, batch.places * 10)
        assert torch.equal(batch.labelled.flatten(), batch.places.float())
        assert len(batch.labelled) == len(batch.unlabelled) <= size + 1
        assert len(batch.places) > 1 or length == 1
    alone = list(draw(pools, size, torch.Generator().manual_seed(seed), unlabelled=False))
    assert sum(len(batch.places) for batch in alone) == answered
    assert all(len(batch.unlabelled) == 0 for batch in alone)


def test_forgotten_answers_join_the_rows_without_one() -> None:
    pools = Pools(
        torch.rand(6, 2), torch.tensor([0, 2, 4]), torch.tensor([5, 6, 7]), torch.tensor([1, 3, 5])
    )
    found = pools.without(np.array([1]))
    assert found.labelled.tolist() == [0, 4]
    assert found.codes.tolist() == [5, 7]
    assert sorted(found.unlabelled.tolist()) == [1, 2, 3, 5]


@pytest.mark.parametrize("kind", METHODS)
def test_without_other_rows_the_answered_ones_serve(kind: type[NeuralStudent]) -> None:
    alone, empty, twice = (
        student(kind, epochs=1).fit(DATA.X[:60], DATA.answers[:60], others)
        for others in (None, np.zeros((0, 64)), DATA.X[:60])
    )
    chances = alone.predict_proba(DATA.fresh)
    assert np.array_equal(chances, empty.predict_proba(DATA.fresh))
    if kind is not PatePlusPlus:  # it gets rows of forgotten answers twice then
        assert np.allclose(chances, twice.predict_proba(DATA.fresh), atol=1e-5)


@pytest.mark.parametrize("kind", METHODS)
def test_one_class_is_not_enough(kind: type[NeuralStudent]) -> None:
    with pytest.raises(DataError, match="at least two classes"):
        student(kind).fit(DATA.X, np.full(len(DATA.X), 3), DATA.others)
    with pytest.raises(DataError, match="at least two"):
        fit_student(student(kind), DATA.X, np.full(len(DATA.X), 3))
    with pytest.raises(DataError, match="no row has an answer"):
        student(kind).fit(DATA.X, np.full(len(DATA.X), -1), DATA.others)


@pytest.mark.parametrize("kind", METHODS)
def test_a_class_that_was_never_answered_is_never_predicted(kind: type[NeuralStudent]) -> None:
    answers = np.where(DATA.answers == 4, -1, DATA.answers)
    model = student(kind, epochs=2).fit(DATA.X, answers)
    assert model.classes_.tolist() == [0, 1, 2, 3, 5, 6, 7, 8, 9]
    assert 4 not in model.predict(DATA.fresh)


@pytest.mark.parametrize("kind", METHODS)
def test_two_answers_are_few_but_enough(kind: type[NeuralStudent]) -> None:
    model = student(kind, epochs=2).fit(DATA.X[:2], [0, 1], DATA.others[:30])
    assert set(model.predict(DATA.fresh)) <= {0, 1}


@pytest.mark.parametrize("kind", [Supervised, SemiSupervisedGAN])
def test_one_channel_against_three(kind: type[NeuralStudent]) -> None:
    grey = student(kind, network="small-cnn", shape=SHAPE)
    with pytest.raises(DataError, match=r"192 features, answered ones 64.*channels"):
        grey.fit(DATA.X, DATA.answers, np.zeros((5, 192)))
    with pytest.raises(ParameterError, match="seem to have 3 channel"):
        grey.fit(np.zeros((len(DATA.X), 192)), DATA.answers)
    colour = student(kind, network="small-cnn", shape=(3, 8, 8))
    with pytest.raises(ParameterError, match="seem to have 1 channel"):
        colour.fit(DATA.X, DATA.answers)
    with pytest.raises(ParameterError, match="needs images"):
        student(kind, network="small-cnn").fit(DATA.X, DATA.answers)


def test_numbers_that_are_none() -> None:
    broken = np.full_like(DATA.others, np.nan)
    with pytest.raises(ValueError, match="X_unlabelled contains NaN"):
        student(VAT).fit(DATA.X, DATA.answers, broken)
    with pytest.raises(ValueError, match="X contains NaN"):
        student(VAT).fit(broken[: len(DATA.X)], DATA.answers)
    with pytest.raises(ValueError, match="y contains NaN"):
        student(VAT).fit(DATA.X, np.full(len(DATA.X), np.nan))


@pytest.mark.parametrize(
    "wrong",
    [
        {"epochs": 0},
        {"batch": 1},
        {"learning_rate": 0.0},
        {"decay": "soon"},
        {"ema": 1.0},
        {"label_smoothing": 1.0},
        {"network": "none"},
        {"network": lambda shape, outputs: nn.Linear(shape[0], outputs + 1)},
        {"augment": "magic"},
        {"augment": "rotate-shift"},
    ],
)
def test_parameters_have_a_domain(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        student(Supervised, **wrong).fit(DATA.X, DATA.answers)
    with pytest.raises(ParameterError, match="ramp"):
        student(CoTeaching, ramp=0).fit(DATA.X, DATA.answers)
    with pytest.raises(ParameterError, match="share"):
        student(PatePlusPlus, removed_share=1.0).fit(DATA.X, DATA.answers)


TRUTH = np.stack([(DATA.truth % 2), (DATA.truth > 4), np.zeros(160), np.ones(160)], 1).astype(int)
FRESH = np.stack([(DATA.fresh_truth % 2), (DATA.fresh_truth > 4)], 1).astype(int)


@pytest.mark.parametrize("kind", [Supervised, MixMatch, VAT, FixMatch])
def test_several_labels_some_without_an_answer(kind: type[NeuralStudent]) -> None:
    hidden = np.random.default_rng(0).random(TRUTH.shape) < 0.3
    answers = np.where(hidden, -1, TRUTH)
    answers[:, 2] = -1  # never answered: taken to be absent
    answers[:5] = -1  # rows without any answer
    model = student(kind, epochs=40).fit(DATA.X, answers, DATA.others[:250])
    predicted, chances = model.predict(DATA.fresh), model.predict_proba(DATA.fresh)
    assert predicted.shape == chances.shape == (len(FRESH), 4)
    assert np.mean(predicted[:, :2] == FRESH) > 0.75  # by chance: 0.5
    assert np.all(predicted[:, 2] == 0)
    assert np.all(predicted[:, 3] == 1)  # answered one way throughout
    assert not np.allclose(chances[:, :2].sum(axis=1), 1)


def test_several_labels_that_cannot_be_learnt() -> None:
    with pytest.raises(DataError, match="one class per row"):
        student(SemiSupervisedGAN).fit(DATA.X, TRUTH)
    with pytest.raises(DataError, match="both present and absent"):
        student(MixMatch).fit(DATA.X, TRUTH[:, 2:])
    with pytest.raises(DataError, match="0 or 1"):
        student(MixMatch).fit(DATA.X, TRUTH + 1)

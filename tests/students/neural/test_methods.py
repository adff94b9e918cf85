"""Every neural student: it learns, is repeatable, and is kept as numbers."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import nn

from ballotine.models import load_model, save_model
from ballotine.neural import RotateShift
from ballotine.students import Student, fit_student, is_semi_supervised
from ballotine.students.neural import (
    VAT,
    FixMatch,
    MixMatch,
    NeuralStudent,
    PatePlus,
    PatePlusPlus,
    SemiSupervisedGAN,
    Supervised,
)
from tests.students.neural.digits import METHODS, ON_ANSWERS, SHAPE, digits, student

DATA = digits()


@pytest.mark.parametrize("kind", METHODS)
def test_it_learns_from_few_answers_and_survives_in_a_file(
    kind: type[NeuralStudent], tmp_path: Path
) -> None:
    model = student(kind, epochs=60 if kind in ON_ANSWERS else 20)
    model.fit(DATA.X, DATA.answers, DATA.others[:400])
    assert model.score(DATA.fresh, DATA.fresh_truth) > 0.6  # by chance: 0.1
    chances = model.predict_proba(DATA.fresh[:20])
    assert chances.shape == (20, 10)
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    lengths = {len(numbers) for numbers in model.history_.values()}
    assert lengths == {model.epochs * (2 if kind is PatePlusPlus else 1)}
    save_model(tmp_path / "student.skops", model)
    found = load_model(tmp_path / "student.skops")
    assert np.array_equal(found.predict_proba(DATA.fresh[:20]), chances)
    assert all(isinstance(value, np.ndarray) for value in found.state_.values())


@pytest.mark.parametrize("kind", METHODS)
def test_the_same_seed_gives_the_same_student(kind: type[NeuralStudent]) -> None:
    before = torch.get_rng_state()
    one, again, other = (
        student(kind, epochs=2, random_state=seed).fit(DATA.X, DATA.answers, DATA.others[:100])
        for seed in (3, 3, 4)
    )
    assert torch.equal(torch.get_rng_state(), before)
    assert all(np.array_equal(one.state_[name], again.state_[name]) for name in one.state_)
    assert one.history_ == again.history_
    assert any(not np.array_equal(one.state_[name], other.state_[name]) for name in one.state_)


@pytest.mark.parametrize("kind", METHODS)
def test_parameters_are_scikit_learns(kind: type[NeuralStudent]) -> None:
    model = kind("linear", None, epochs=3, ema=0.5)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert {"network", "shape", "epochs", "ema", "on_epoch"} <= set(model.get_params())
    assert copy.set_params(batch=7).batch == 7
    assert "epochs=3" in repr(model)
    assert set(inspect.signature(kind).parameters) == set(model.get_params())
    assert is_semi_supervised(model)


@pytest.mark.parametrize("kind", [SemiSupervisedGAN, PatePlus, VAT, MixMatch, FixMatch])
@pytest.mark.parametrize("network", ["small-cnn", "individualized-cnn"])
def test_images(kind: type[NeuralStudent], network: str) -> None:
    few, new = DATA.answers < 3, DATA.fresh_truth < 3
    # Mixed rows are learnt slowly.
    pace = {"epochs": 25, "learning_rate": 0.005} if kind is MixMatch else {"epochs": 15}
    model = student(kind, network=network, shape=SHAPE, **pace)
    model.fit(DATA.X[few], DATA.answers[few], DATA.others[:250])
    assert model.score(DATA.fresh[new], DATA.fresh_truth[new]) > 0.7  # by chance: 0.33


def test_answers_left_out_and_rows_apart_are_the_same() -> None:
    together = np.concatenate([DATA.X, DATA.others])
    marked = np.concatenate([DATA.answers, np.full(len(DATA.others), -1)])
    one = student(VAT, epochs=2).fit(together, marked)
    other = student(VAT, epochs=2).fit(DATA.X, DATA.answers, DATA.others)
    assert np.array_equal(one.predict_proba(DATA.fresh), other.predict_proba(DATA.fresh))


def test_rows_without_an_answer_matter() -> None:
    one, other = (
        student(SemiSupervisedGAN, epochs=2).fit(DATA.X, DATA.answers, rows)
        for rows in (DATA.others[:200], DATA.others[200:400])
    )
    assert not np.array_equal(one.predict_proba(DATA.fresh), other.predict_proba(DATA.fresh))


def test_through_the_road_of_students(tmp_path: Path) -> None:
    rows = np.concatenate([DATA.X, DATA.others])
    labels = np.concatenate([DATA.answers, np.full(len(DATA.others), -1)])
    named = [f"digit {number}" for number in range(10)] + ["never"]
    chain = make_pipeline(StandardScaler(), student(VAT, epochs=5))
    model = fit_student(chain, rows, labels, seed=4)
    assert model[-1].random_state == 4
    released = Student(model, named)
    released.save(tmp_path / "student.skops")
    found = Student.load(tmp_path / "student.skops")
    predicted = found.predict(DATA.fresh)
    assert np.mean(predicted == np.array(named)[DATA.fresh_truth]) > 0.5
    assert np.all(found.predict_proba(DATA.fresh)[:, 10] == 0)


def test_classes_keep_their_names() -> None:
    names = np.array([f"n{number}" for number in range(10)])
    model = student(Supervised).fit(DATA.X, names[DATA.answers])
    assert np.mean(model.predict(DATA.fresh) == names[DATA.fresh_truth]) > 0.6


def own_network(shape: tuple[int, ...], outputs: int) -> nn.Module:
    """A module that is no chain, and whose last dense layer is not registered last."""

    class Own(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Linear(shape[0], 40)
            self.head = nn.Linear(40, outputs)
            self.activation = nn.ReLU()

        def forward(self, rows: torch.Tensor) -> torch.Tensor:
            found: torch.Tensor = self.head(self.activation(self.body(rows)))
            return found

    return Own()


def test_a_network_of_ones_own_plays_against_a_generator() -> None:
    model = student(SemiSupervisedGAN, network=own_network, ema=0.9)
    assert model.fit(DATA.X, DATA.answers, DATA.others).score(DATA.fresh, DATA.fresh_truth) > 0.6


@pytest.mark.parametrize("augment", [RotateShift(5, 0.02), "auto", None])
def test_augmentation(augment: Any) -> None:
    few, new = DATA.answers < 3, DATA.fresh_truth < 3
    model = student(Supervised, network="small-cnn", shape=SHAPE, augment=augment, epochs=120)
    model.fit(DATA.X[few], DATA.answers[few])
    assert model.score(DATA.fresh[new], DATA.fresh_truth[new]) > 0.7


def test_peers_average_their_probabilities() -> None:
    model = student(PatePlus, epochs=2).fit(DATA.X, DATA.answers, DATA.others[:100])
    rows = torch.from_numpy(DATA.fresh[:9].astype(np.float32))
    with torch.no_grad():
        parts = [torch.softmax(net(rows).double(), 1).numpy() for net in model.networks()]
    assert len(parts) == 2
    assert not np.allclose(parts[0], parts[1])
    np.testing.assert_allclose(model.predict_proba(DATA.fresh[:9]), (parts[0] + parts[1]) / 2)

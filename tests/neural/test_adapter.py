"""A network as a classifier: repeatable, kept as numbers, and clear about bad input."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone
from torch import nn

from ballotine.errors import DataError, DivergedError, ParameterError
from ballotine.models import load_model, save_model
from ballotine.neural import RotateShift, TorchClassifier
from ballotine.teachers.train import ONE_CLASS, TeacherShare, train_teacher
from tests.neural.images import SHAPE, bars

X, Y = bars(60, 0)
FRESH, TRUTH = bars(40, 1)


def classifier(**more: Any) -> TorchClassifier:
    given = {"network": "individualized-cnn", "shape": SHAPE, "epochs": 4, "random_state": 3}
    return TorchClassifier(**{**given, **more})


def viewing_factory(shape: tuple[int, ...], outputs: int) -> nn.Module:
    """A module of somebody's own, which counts on the usual order of memory."""

    class Own(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.convolution = nn.Conv2d(shape[0], 4, 3, padding=1)
            self.dense = nn.Linear(4 * shape[1] * shape[2], outputs)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            dense: torch.Tensor = self.dense(self.convolution(x).relu().view(len(x), -1))
            return dense

    return Own()


def test_it_learns_images() -> None:
    model = classifier(augment=RotateShift(5, 0.02)).fit(X, Y)
    assert model.score(FRESH, TRUTH) > 0.9
    assert model.predict_proba(FRESH).shape == (40, 3)
    np.testing.assert_allclose(model.predict_proba(FRESH).sum(axis=1), 1.0)


def test_classes_keep_their_names() -> None:
    names = np.array(["left", "middle", "right"])
    model = classifier().fit(X, names[Y])
    assert np.mean(model.predict(FRESH) == names[TRUTH]) > 0.9


def test_a_factory_of_ones_own_is_a_network() -> None:
    model = classifier(network=viewing_factory, learning_rate=0.01).fit(X, Y)
    assert model.score(FRESH, TRUTH) > 0.9
    copy = pickle.loads(pickle.dumps(model))
    assert np.array_equal(copy.predict_proba(FRESH), model.predict_proba(FRESH))


def test_the_same_seed_gives_the_same_weights_and_leaves_the_rest_alone() -> None:
    torch.manual_seed(0)
    before = torch.get_rng_state()
    first, again = (classifier(augment="rotate-shift").fit(X, Y).state_ for _ in range(2))
    assert torch.equal(torch.get_rng_state(), before)
    assert all(np.array_equal(first[name], again[name]) for name in first)
    other = classifier(augment="rotate-shift", random_state=4).fit(X, Y).state_
    assert any(not np.array_equal(first[name], other[name]) for name in first)


@pytest.mark.parametrize("labels", [Y, np.eye(3, dtype=int)[Y]], ids=["classes", "labels"])
def test_a_file_holds_numbers_and_gives_the_same_predictions(
    tmp_path: Path, labels: np.ndarray[Any, Any]
) -> None:
    model = classifier(augment=RotateShift()).fit(X, labels)
    save_model(tmp_path / "m.skops", model)
    found = load_model(tmp_path / "m.skops")
    assert isinstance(found, TorchClassifier)
    assert np.array_equal(found.predict_proba(FRESH), model.predict_proba(FRESH))
    assert np.array_equal(found.predict(FRESH), model.predict(FRESH))
    assert all(isinstance(value, np.ndarray) for value in found.state_.values())


def test_a_clone_knows_nothing_yet() -> None:
    copy = clone(classifier().fit(X, Y))
    assert not hasattr(copy, "state_")
    assert copy.get_params() == classifier().get_params()


def test_its_text_does_not_tell_where_a_factory_lies_in_memory() -> None:
    text = repr(classifier(network=viewing_factory))
    assert "viewing_factory" in text
    assert "0x" not in text


def test_one_class_only(tmp_path: Path) -> None:
    model = classifier().fit(X, np.full(60, 7))
    assert np.all(model.predict(FRESH) == 7)
    assert np.array_equal(model.predict_proba(FRESH), np.ones((40, 1)))
    save_model(tmp_path / "m.skops", model)
    assert np.all(load_model(tmp_path / "m.skops").predict(FRESH) == 7)
    with pytest.raises(ParameterError, match="one class"):
        model.module()


@pytest.mark.parametrize("rows", [1, 2, 5, 33])
@pytest.mark.parametrize("network", ["individualized-cnn", "resnet10", "small-cnn"])
def test_a_share_smaller_than_a_batch(network: str, rows: int) -> None:
    """Batch norm cannot learn from one record; 33 leave one behind a batch of 32."""
    labels = np.column_stack([np.arange(rows) % 2, np.ones(rows, dtype=int)])
    chances = classifier(network=network, epochs=1).fit(X[:rows], labels).predict_proba(FRESH[:3])
    assert chances.shape == (3, 2)
    assert np.all(np.isfinite(chances))


def test_batches_of_one_record() -> None:
    chances = classifier(batch=1, epochs=1).fit(X[:6], Y[:6]).predict_proba(FRESH)
    assert np.all(np.isfinite(chances))


def test_a_loss_that_is_no_number_makes_a_constant_teacher() -> None:
    wild = classifier(optimiser="sgd", learning_rate=1e30, network="small-cnn", epochs=3)
    with pytest.raises(DivergedError, match="smaller learning rate"):
        wild.fit(X, Y)
    teacher = train_teacher(ONE_CLASS, wild, X, Y, TeacherShare(4, np.arange(len(Y)), 0))
    assert np.all(teacher.model.predict(FRESH) == 0)
    assert teacher.problem is not None
    assert teacher.problem.startswith("DivergedError")


def test_running_statistics_that_are_no_numbers_are_a_problem_too() -> None:
    """Batch norm hides numbers that are too large from the loss, not from predictions."""
    with pytest.raises(DivergedError):
        classifier(epochs=1).fit(X * 1e25, Y)


@pytest.mark.parametrize(
    "factory",
    [
        lambda shape, outputs: nn.Sequential(nn.Flatten(), nn.Linear(64, outputs + 1)),
        lambda shape, outputs: nn.Conv2d(1, outputs, 3),
    ],
    ids=["too many", "images"],
)
def test_a_module_of_the_wrong_shape(factory: Any) -> None:
    with pytest.raises(ParameterError, match="must return 3 logits"):
        classifier(network=factory).fit(X, Y)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"shape": (1, 7, 8)}, "64 features do not have the shape"),
        ({"shape": None}, "needs images"),
        ({"network": "alexnet"}, "unknown network"),
        ({"augment": "flip"}, "unknown augmentation"),
        ({"optimiser": "lbfgs"}, "unknown optimiser"),
        ({"epochs": 0}, "at least one epoch"),
        ({"learning_rate": float("nan")}, "must be positive"),
        ({"patience": 0}, "patience"),
        ({"thresholds": "best"}, "thresholds"),
        ({"thresholds": 1.0}, "thresholds"),
    ],
)
def test_wrong_parameters(more: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        classifier(**more).fit(X, Y)


def test_wrong_input() -> None:
    holed = X.copy()
    holed[3, 4] = np.nan
    for labels in (Y, np.eye(3)[Y]):
        with pytest.raises(ValueError, match="NaN"):
            classifier().fit(holed, labels)
    with pytest.raises(ValueError, match="y contains NaN"):
        classifier().fit(X, np.where(Y == 0, np.nan, Y))
    with pytest.raises(ValueError, match="inconsistent"):
        classifier().fit(X, Y[:-1])
    with pytest.raises(DataError, match="0 or 1"):
        classifier().fit(X, np.column_stack([Y, Y]))
    with pytest.raises(ValueError, match="features"):
        classifier().fit(X, Y).predict(FRESH[:, :-1])


def test_patience_ends_a_training_that_gets_nowhere() -> None:
    epochs = []

    def counting(images: torch.Tensor, _generator: torch.Generator) -> torch.Tensor:
        epochs.append(1)
        return images

    still = {"optimiser": "sgd", "learning_rate": 1e-30, "batch": 60, "network": "small-cnn"}
    classifier(**still, epochs=20, augment=counting).fit(X, Y)
    assert len(epochs) == 20
    epochs.clear()
    classifier(**still, epochs=20, augment=counting, patience=3).fit(X, Y)
    assert len(epochs) < 20


def test_read_only_rows_are_not_written_to_and_not_warned_about() -> None:
    rows = X.astype(np.float32)
    rows.setflags(write=False)
    model = classifier().fit(rows, Y)
    assert model.predict(rows).shape == (60,)

"""The file of a checkpoint: whose it is, what it holds, and when it is refused."""

from __future__ import annotations

import hashlib
import io
import os
import pickle
import pickletools
import zipfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone
from torch import nn

from ballotine.errors import DivergedError, ParameterError, RunFolderError
from ballotine.neural import RotateShift, SwapFeatures
from ballotine.students.neural import (
    CoTeaching,
    CoTeachingPlus,
    Epoch,
    NeuralStudent,
    PatePlus,
    SemiSupervisedGAN,
    Supervised,
    checkpoint,
)
from ballotine.students.neural.checkpoint import described
from tests.students.neural.stopping import (
    DATA,
    EPOCHS,
    HEAD,
    OTHERS,
    Stop,
    assert_same,
    dropping,
    fitted,
    small,
)


def stopped_at(path: Path, **more: Any) -> NeuralStudent:
    with pytest.raises(RuntimeError):
        fitted(small(PatePlus, on_epoch=Stop(1), checkpoint=path, **more))
    return small(PatePlus, checkpoint=path, **more)


@pytest.mark.parametrize(
    "change",
    [
        {"random_state": 2},
        {"epochs": EPOCHS + 1},
        {"noise_rate": 0.21},
        {"network": "mlp"},
        {"augment": SwapFeatures(0.2)},
        {"learning_rate": np.float64(0.0030001)},
    ],
)
def test_another_training_is_refused(change: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "state"
    model = stopped_at(path)
    kept = path.read_bytes()
    with pytest.raises(RunFolderError, match=r"another training.*remove the file"):
        fitted(model.set_params(**change))
    assert path.read_bytes() == kept


def test_other_rows_answers_and_students_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "state"
    model = stopped_at(path)
    moved, renamed = DATA.X.copy(), DATA.answers.copy()
    moved[5, 7] += 0.01
    renamed[3] = (renamed[3] + 1) % 10
    for given in (
        (moved, DATA.answers, OTHERS),
        (DATA.X, renamed, OTHERS),
        (DATA.X, DATA.answers, OTHERS[:-1]),
        (DATA.X, DATA.answers),
    ):
        with pytest.raises(RunFolderError, match="another training"):
            model.fit(*given)
    with pytest.raises(RunFolderError, match="another training"):
        fitted(small(SemiSupervisedGAN, checkpoint=path))
    assert_same(fitted(model.set_params(device="cpu")), fitted(small(PatePlus)))


def test_another_student_with_the_same_parameters_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError):
        fitted(small(CoTeaching, on_epoch=Stop(1), checkpoint=tmp_path / "state"))
    assert CoTeaching().get_params() == CoTeachingPlus().get_params()
    with pytest.raises(RunFolderError, match="another training"):
        fitted(small(CoTeachingPlus, checkpoint=tmp_path / "state"))


def test_a_network_that_a_factory_of_the_same_name_makes_is_another(tmp_path: Path) -> None:
    def factory(width: int) -> Any:
        def make(shape: tuple[int, ...], outputs: int) -> nn.Module:
            return nn.Sequential(nn.Linear(shape[0], width), nn.ReLU(), nn.Linear(width, outputs))

        return make

    path = tmp_path / "state"
    model = stopped_at(path, network=factory(5))
    with pytest.raises(RunFolderError, match="another training"):
        fitted(model.set_params(network=factory(6)))
    fitted(model.set_params(network=factory(5)))


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: b"something else",
        lambda data: data[:20],
        lambda data: data[: len(data) // 2],
        lambda data: data[:-1],
        lambda data: data[:-5000] + bytes([data[-5000] ^ 1]) + data[-4999:],
    ],
)
def test_a_damaged_file_is_refused(damage: Any, tmp_path: Path) -> None:
    path = tmp_path / "state"
    model = stopped_at(path)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(RunFolderError, match=r"damaged; remove it"):
        fitted(model)
    path.unlink()
    fitted(model)


def test_every_changed_byte_of_what_was_kept_is_noticed(tmp_path: Path) -> None:
    path, name = tmp_path / "state", bytes(checkpoint.DIGEST)
    kept = checkpoint.TrainingCheckpoint(path, name)
    kept.keep("training", {"state": {"weight": torch.rand(20)}, "history": {"labelled": [0.5]}})
    kept.flush()
    data = path.read_bytes()
    assert checkpoint.TrainingCheckpoint(path, name).of("training") is not None
    for place in [*range(len(checkpoint.FORMAT)), *range(HEAD, len(data), 7)]:
        changed = bytearray(data)
        changed[place] ^= 1
        path.write_bytes(changed)
        with pytest.raises(RunFolderError, match="damaged"):
            checkpoint.TrainingCheckpoint(path, name)


class Code:
    def __reduce__(self) -> Any:
        return os.mkdir, (os.environ["BALLOTINE_TEST_MARK"],)


def test_the_file_holds_no_code_and_runs_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, mark = tmp_path / "state", tmp_path / "mark"
    monkeypatch.setenv("BALLOTINE_TEST_MARK", str(mark))
    model = stopped_at(path)
    data = path.read_bytes()
    assert path.stat().st_mode & 0o077 == 0
    with zipfile.ZipFile(io.BytesIO(data[HEAD:])) as archive:
        (listing,) = [name for name in archive.namelist() if name.endswith("data.pkl")]
        named = {
            str(value)
            for _, value, _ in pickletools.genops(archive.read(listing))
            if isinstance(value, str) and value.startswith(("ballotine", "tests", "builtins"))
        }
    assert not named
    crafted = io.BytesIO()
    torch.save({"training": Code()}, crafted)
    body = crafted.getvalue()
    path.write_bytes(data[: HEAD - checkpoint.DIGEST] + hashlib.sha256(body).digest() + body)
    with pytest.raises(RunFolderError, match="damaged") as refused:
        fitted(model)
    assert isinstance(refused.value.__cause__, pickle.UnpicklingError)
    assert not mark.exists()


@pytest.mark.parametrize("seed", [None, np.random])
def test_a_checkpoint_needs_a_seed(seed: Any, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="random_state"):
        fitted(small(Supervised, random_state=seed, checkpoint=tmp_path / "state"))


def test_paths_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path, tmp_path / "file" / "state", ""):
        with pytest.raises(RunFolderError, match="cannot be used"):
            fitted(small(Supervised, checkpoint=path))
    with pytest.raises(ParameterError, match="path of a file"):
        fitted(small(Supervised, checkpoint=7))


def test_a_diverging_training_leaves_no_checkpoint(tmp_path: Path) -> None:
    model = small(Supervised, learning_rate=1e30, checkpoint=tmp_path / "state")
    with pytest.raises(DivergedError):
        fitted(model)
    fitted(model.set_params(learning_rate=0.01))


def test_it_is_not_saved_with_the_student_but_cloned(tmp_path: Path) -> None:
    model = fitted(small(Supervised, checkpoint=tmp_path / "state"))
    assert pickle.loads(pickle.dumps(model)).checkpoint is None
    assert clone(model).checkpoint == tmp_path / "state"


def test_who_listens_does_not_change_what_is_learnt() -> None:
    def drawing(epoch: Epoch) -> None:
        torch.rand(3)

    assert_same(fitted(small(Supervised, on_epoch=drawing)), fitted(small(Supervised)))


def test_descriptions_tell_values_apart() -> None:
    class Plain:
        def __init__(self, value: Any) -> None:
            self.value = value

        def told(self) -> Any:
            return self.value

    plain = [None, True, 1, 1.0, "1", b"1"]
    nested = [(1,), [1], {1}, {1: 1}, {1: "1"}, (1, 1), ((1,), 1), (1, (1,)), ("a,b",), ("a", "b")]
    numbers = [np.array([1]), np.array([1.0]), np.array([[1]]), torch.tensor([1])]
    words = [np.array(["1"]), np.array([None, "1"])]
    objects = [RotateShift(), RotateShift(8.0), SwapFeatures(), Plain, Plain(1), Plain(2)]
    functions = [dropping, small, partial(dropping, (1,)), partial(dropping, (2,)), len]
    methods = [Plain(1).told, Plain(2).told]
    values = plain + nested + numbers + words + objects + functions + methods
    values += [nn.Dropout(0.1), nn.Dropout(0.2)]
    texts = [described(value) for value in values]
    assert len(set(texts)) == len(values)
    assert described(RotateShift(8)) != described(RotateShift(8.0))
    assert described(Plain({"b": 1, "a": 2})) == described(Plain({"a": 2, "b": 1}))
    assert described(np.float64(0.1)) == described(0.1)
    assert " at 0x" not in "".join(texts)

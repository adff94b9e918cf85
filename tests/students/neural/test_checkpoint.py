"""A training whose process ended goes on as if nothing had happened."""

from __future__ import annotations

import hashlib
import io
import os
import pickle
import pickletools
import signal
import subprocess
import sys
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
from ballotine.students import TrainingInterrupted
from ballotine.students.neural import (
    VAT,
    CoTeaching,
    CoTeachingPlus,
    Epoch,
    FixMatch,
    MixMatch,
    NeuralStudent,
    PatePlus,
    PatePlusPlus,
    SemiSupervisedGAN,
    Supervised,
    checkpoint,
)
from ballotine.students.neural.checkpoint import described
from tests.students.neural.digits import METHODS, SHAPE, digits, student

DATA = digits()
OTHERS = DATA.others[:120]
EPOCHS = 4
HEAD = len(checkpoint.FORMAT) + 2 * checkpoint.DIGEST


class Stop:
    """Listens, and ends the training in some way after an epoch of a stage."""

    def __init__(self, number: int, stage: str = "training", error: Any = RuntimeError) -> None:
        self.heard: list[Epoch] = []
        self._at, self._error = (number, stage), error

    def __call__(self, epoch: Epoch) -> None:
        self.heard.append(epoch)
        if (epoch.number, epoch.stage) == self._at:
            raise self._error("the light went out")


class Listener:
    def __init__(self) -> None:
        self.heard: list[Epoch] = []

    def __call__(self, epoch: Epoch) -> None:
        self.heard.append(epoch)


def dropping(shape: tuple[int, ...], outputs: int) -> nn.Module:
    """A network that draws from torch's own generator and keeps running statistics."""
    return nn.Sequential(
        nn.Linear(shape[0], 12),
        nn.BatchNorm1d(12),
        nn.ReLU(),
        nn.Dropout(0.3),
        nn.Linear(12, outputs),
    )


def small(kind: type[NeuralStudent], **more: Any) -> NeuralStudent:
    return student(kind, **{"epochs": EPOCHS, "network": dropping, "ema": 0.9, **more})


def fitted(model: NeuralStudent) -> NeuralStudent:
    return model.fit(DATA.X, DATA.answers, OTHERS)


def assert_same(one: NeuralStudent, other: NeuralStudent) -> None:
    assert one.history_ == other.history_
    assert one.state_.keys() == other.state_.keys()
    for name in one.state_:
        assert one.state_[name].dtype == other.state_[name].dtype
        assert one.state_[name].tobytes() == other.state_[name].tobytes(), name
    for name in ("suspicion_", "removed_"):
        assert hasattr(one, name) == hasattr(other, name)
        if hasattr(one, name):
            assert np.array_equal(getattr(one, name), getattr(other, name)), name
    assert one.interrupted_ is other.interrupted_ is False


def stages(kind: type[NeuralStudent]) -> tuple[str, ...]:
    return ("cleansing", "training again") if kind is PatePlusPlus else ("training",)


@pytest.mark.parametrize(
    ("kind", "interval"), [*[(kind, 0.0) for kind in METHODS], (PatePlusPlus, 1e9)]
)
def test_a_stopped_training_goes_on_bit_for_bit(
    kind: type[NeuralStudent], interval: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint, "INTERVAL", interval)
    listening = Listener()
    whole = fitted(small(kind, on_epoch=listening))
    path = tmp_path / "new" / "folder" / "training.state"
    for stage in stages(kind):
        for number in (1, EPOCHS - 1, EPOCHS):  # stopped three times in each stage
            with pytest.raises(RuntimeError, match="light"):
                fitted(small(kind, on_epoch=Stop(number, stage), checkpoint=path))
            assert path.exists()
    after = Listener()
    model = fitted(small(kind, on_epoch=after, checkpoint=path))
    assert_same(model, whole)
    assert not path.exists()
    assert not list(path.parent.iterdir())
    assert len(after.heard) == len(listening.heard) == EPOCHS * len(stages(kind))
    for one, other in zip(after.heard, listening.heard, strict=True):
        assert (one.number, one.of, one.stage) == (other.number, other.of, other.stage)
        assert one.losses == other.losses
        assert one.rows.keys() == other.rows.keys()
        assert all(np.array_equal(one.rows[name], other.rows[name]) for name in one.rows)


def test_finished_epochs_are_not_learnt_again(tmp_path: Path) -> None:
    steps = []

    class Counting(nn.Linear):
        def forward(self, rows: torch.Tensor) -> torch.Tensor:
            if self.training:
                steps.append(len(rows))
            return super().forward(rows)

    def counting(shape: tuple[int, ...], outputs: int) -> nn.Module:
        return Counting(shape[0], outputs)

    def train(on_epoch: Any = None) -> int:
        steps.clear()
        given = {"network": counting, "on_epoch": on_epoch, "checkpoint": tmp_path / "state"}
        small(Supervised, **given).fit(DATA.X, DATA.answers)
        return len(steps)

    whole = train()
    with pytest.raises(RuntimeError):
        train(Stop(3))
    assert len(steps) == whole * 3 // EPOCHS
    assert train() == whole // EPOCHS
    assert train() == whole  # a finished training leaves nothing behind


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        (CoTeaching, {"network": "small-cnn", "augment": "rotate-shift"}),
        (PatePlus, {"network": "small-cnn", "ema": 0.0}),
        (FixMatch, {"network": "small-cnn"}),
    ],
)
def test_images_go_on_bit_for_bit(
    kind: type[NeuralStudent], more: dict[str, Any], tmp_path: Path
) -> None:
    given = {"shape": SHAPE, "epochs": 2, **more}
    whole = fitted(small(kind, **given))
    given["checkpoint"] = str(tmp_path / "state")
    with pytest.raises(RuntimeError):
        fitted(small(kind, on_epoch=Stop(1), **given))
    assert_same(fitted(small(kind, **given)), whole)


@pytest.mark.parametrize("kind", [Supervised, MixMatch, VAT, FixMatch])
def test_several_labels_go_on_bit_for_bit(kind: type[NeuralStudent], tmp_path: Path) -> None:
    several = np.stack([DATA.truth % 2, DATA.truth > 4, DATA.truth == 3], axis=1).astype(int)
    several[::7, 1] = -1
    whole = small(kind).fit(DATA.X, several, OTHERS)
    with pytest.raises(RuntimeError):
        small(kind, on_epoch=Stop(2), checkpoint=tmp_path / "state").fit(DATA.X, several, OTHERS)
    model = small(kind, checkpoint=tmp_path / "state").fit(DATA.X, several, OTHERS)
    assert_same(model, whole)


@pytest.mark.parametrize("stage", ["cleansing", "training again"])
def test_ctrl_c_keeps_the_last_full_epoch(stage: str, tmp_path: Path) -> None:
    path = tmp_path / "state"
    whole = fitted(small(PatePlusPlus))
    stopped = small(PatePlusPlus, on_epoch=Stop(3, stage, KeyboardInterrupt), checkpoint=path)
    with pytest.warns(TrainingInterrupted, match="after 3 of 4"):
        fitted(stopped)
    assert stopped.interrupted_
    assert path.exists()
    assert_same(fitted(stopped.set_params(on_epoch=None)), whole)
    assert not path.exists()


class Tired(nn.Linear):
    """Presses Ctrl-C in the middle of training, after so many looks."""

    left = 0

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        if self.training:
            Tired.left -= 1
            if Tired.left < 0:
                raise KeyboardInterrupt
        return super().forward(rows)


def tiring(shape: tuple[int, ...], outputs: int) -> nn.Module:
    return Tired(shape[0], outputs)


def test_ctrl_c_within_an_epoch_keeps_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Tired, "left", 10**9)
    whole = small(Supervised, network=tiring).fit(DATA.X, DATA.answers)
    model = small(Supervised, network=tiring, checkpoint=tmp_path / "state")
    for left in (4 * 2 + 1, 0):  # of four an epoch
        Tired.left = left
        with pytest.warns(TrainingInterrupted, match="after 2 of 4"):
            model.fit(DATA.X, DATA.answers)
    Tired.left = 10**9
    assert_same(model.fit(DATA.X, DATA.answers), whole)


def test_ctrl_c_between_two_stages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = 10**9
    monkeypatch.setattr(Tired, "left", looks)
    whole = fitted(small(PatePlusPlus, network=tiring))
    first_stage = (looks - Tired.left) // 2
    model = small(PatePlusPlus, network=tiring, checkpoint=tmp_path / "state")
    states = []
    for left in (first_stage, 0):  # the second time nothing is learnt at all
        Tired.left = left
        with pytest.warns(TrainingInterrupted, match="training again .* after 0 of 4"):
            states.append(fitted(model).state_)
        assert len(model.removed_) == 0
    assert all(np.array_equal(states[0][name], states[1][name]) for name in states[0])
    Tired.left = looks
    assert_same(fitted(model), whole)
    assert len(model.removed_) > 0


PROGRAM = """
import os, signal, sys
from ballotine.students.neural import PatePlusPlus, checkpoint
from tests.students.neural.digits import digits, student

checkpoint.INTERVAL = 0.0

def stop(epoch):
    if (epoch.number, epoch.stage) == (2, "training again"):
        os.kill(os.getpid(), signal.SIGKILL)

data = digits()
model = student(PatePlusPlus, epochs=4, on_epoch=stop, checkpoint=sys.argv[1])
model.fit(data.X, data.answers, data.others[:120])
"""


def test_a_killed_process_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "state"
    root = Path(__file__).parents[3]
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(path)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(root)},
    )
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    kept = torch.load(io.BytesIO(path.read_bytes()[HEAD:]), weights_only=True)
    assert list(kept) == ["cleansing", "training again"]
    assert len(kept["training again"]["history"]["labelled"]) == 2
    model = fitted(student(PatePlusPlus, epochs=4, checkpoint=path))
    assert_same(model, fitted(student(PatePlusPlus, epochs=4)))


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

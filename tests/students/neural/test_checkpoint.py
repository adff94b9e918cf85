"""A training whose process ended goes on as if nothing had happened."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from ballotine.students import TrainingInterrupted
from ballotine.students.neural import (
    VAT,
    CoTeaching,
    FixMatch,
    MixMatch,
    NeuralStudent,
    PatePlus,
    PatePlusPlus,
    Supervised,
    checkpoint,
)
from tests.students.neural.digits import METHODS, SHAPE, student
from tests.students.neural.stopping import (
    DATA,
    EPOCHS,
    HEAD,
    OTHERS,
    Listener,
    Stop,
    assert_same,
    fitted,
    small,
)


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
    """Presses Ctrl-C in the middle of training, after this many looks."""

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

"""The loop: interruptions, divergence, averages and the schedule."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest
import torch
from torch import nn

from ballotine.errors import DivergedError
from ballotine.neural import Schedule
from ballotine.students import TrainingInterrupted, fit_student
from ballotine.students.neural import (
    Epoch,
    NeuralStudent,
    PatePlus,
    PatePlusPlus,
    SemiSupervisedGAN,
    Supervised,
)
from ballotine.students.neural.loop import averaged
from tests.students.neural.digits import digits, student

DATA = digits()


class Recorder:
    """Listens, and presses Ctrl-C after some epochs."""

    def __init__(self, stop_after: int | None = None, stage: str = "training") -> None:
        self.heard: list[Epoch] = []
        self.states: list[dict[str, torch.Tensor]] = []
        self._stop = stop_after, stage

    def __call__(self, epoch: Epoch) -> None:
        self.heard.append(epoch)
        if (epoch.number, epoch.stage) == self._stop:
            os.kill(os.getpid(), signal.SIGINT)
            signal.pthread_sigmask(signal.SIG_BLOCK, [])  # lets the interpreter notice it


def test_losses_are_told_and_kept() -> None:
    recorder = Recorder()
    model = student(PatePlus, epochs=3, on_epoch=recorder).fit(DATA.X, DATA.answers, DATA.others)
    assert [epoch.number for epoch in recorder.heard] == [1, 2, 3]
    assert {epoch.of for epoch in recorder.heard} == {3}
    for name, numbers in model.history_.items():
        assert numbers == [epoch.losses[name] for epoch in recorder.heard]
    assert {"labelled", "unlabelled", "generator", "disagreed"} <= set(model.history_)
    for epoch in recorder.heard:
        assert len(epoch.rows["disagreed"]) == epoch.losses["disagreed"]
        assert set(epoch.rows["suspected"]) <= set(epoch.rows["disagreed"])


@pytest.mark.parametrize("kind", [Supervised, SemiSupervisedGAN])
def test_ctrl_c_keeps_the_best_so_far(kind: type[NeuralStudent]) -> None:
    with pytest.warns(TrainingInterrupted, match="after 3 of 500 epochs"):
        model = student(kind, epochs=500, decay="none", on_epoch=Recorder(3)).fit(
            DATA.X, DATA.answers, DATA.others
        )
    assert model.interrupted_
    losses = model.history_["labelled"]
    assert len(losses) == 3
    best = int(np.argmin(losses)) + 1
    alone = student(kind, epochs=best, decay="none").fit(DATA.X, DATA.answers, DATA.others)
    assert np.array_equal(model.predict_proba(DATA.fresh), alone.predict_proba(DATA.fresh))
    assert not alone.interrupted_


def test_ctrl_c_is_heard_through_the_road_of_students() -> None:
    slow = student(Supervised, epochs=500, on_epoch=Recorder(2))
    with pytest.warns(TrainingInterrupted, match="after 2 of 500"):
        model = fit_student(slow, DATA.X, DATA.answers, seed=1)
    assert len(model.history_["labelled"]) == 2


@pytest.mark.parametrize(
    ("stage", "after", "epochs", "removed"), [("cleansing", 2, 2, 0), ("training again", 1, 5, 32)]
)
def test_ctrl_c_in_either_stage_of_cleansing(
    stage: str, after: int, epochs: int, removed: int
) -> None:
    listening = Recorder(after, stage)
    with pytest.warns(TrainingInterrupted, match=stage):
        model = student(PatePlusPlus, epochs=4, on_epoch=listening).fit(
            DATA.X, DATA.answers, DATA.others
        )
    assert model.interrupted_
    assert len(model.history_["labelled"]) == epochs
    assert len(model.removed_) == removed
    assert model.predict(DATA.fresh).shape == DATA.fresh_truth.shape


def test_an_interruption_before_anything_is_learnt_is_an_interruption() -> None:
    def impatient(shape: tuple[int, ...], outputs: int) -> nn.Module:
        class Stops(nn.Linear):
            def forward(self, rows: torch.Tensor) -> torch.Tensor:
                if self.training:
                    raise KeyboardInterrupt
                return super().forward(rows)

        return Stops(shape[0], outputs)

    with pytest.raises(KeyboardInterrupt):
        student(Supervised, network=impatient).fit(DATA.X, DATA.answers)


def test_ctrl_c_before_the_second_stage_shows_anything_keeps_the_first() -> None:
    made = []

    def counting(shape: tuple[int, ...], outputs: int) -> nn.Module:
        class Counted(nn.Linear):
            def forward(self, rows: torch.Tensor) -> torch.Tensor:
                if self.training and self.number > 3:  # one to look at, two of the first stage
                    raise KeyboardInterrupt
                return super().forward(rows)

        made.append(Counted(shape[0], outputs))
        made[-1].number = len(made)
        return made[-1]

    with pytest.warns(TrainingInterrupted, match="training again was interrupted after 0 of 2"):
        model = student(PatePlusPlus, network=counting, epochs=2).fit(DATA.X, DATA.answers)
    assert model.interrupted_
    assert len(model.removed_) == 0
    assert len(model.history_["labelled"]) == 2
    for net, first in zip(model.networks(), made[1:3], strict=True):
        assert torch.equal(net.weight, first.weight)


@pytest.mark.parametrize("kind", [Supervised, SemiSupervisedGAN, PatePlusPlus])
def test_divergence_is_an_error_with_advice(kind: type[NeuralStudent]) -> None:
    with pytest.raises(DivergedError, match=r"epoch \d+.*learning rate below 1e\+30"):
        student(kind, learning_rate=1e30).fit(DATA.X, DATA.answers, DATA.others)


def test_removed_answers_are_suspicious_ones() -> None:
    data = digits(0.3)
    model = student(PatePlusPlus, epochs=20).fit(data.X, data.answers, data.others[:300])
    wrong = data.answers != data.truth
    assert len(model.removed_) == 32
    assert np.mean(wrong[model.removed_]) > 1.3 * np.mean(wrong)
    kept = np.setdiff1d(np.arange(len(wrong)), model.removed_)
    assert model.suspicion_[model.removed_].min() >= np.sort(model.suspicion_[kept])[-10]


def test_removed_rows_are_rows_of_the_table_that_was_given() -> None:
    rows = np.concatenate([DATA.others[:50], DATA.X])
    marks = np.concatenate([np.full(50, -1), DATA.answers])
    model = student(PatePlusPlus, epochs=4).fit(rows, marks)
    assert len(model.removed_) > 0
    assert np.all(marks[model.removed_] >= 0)


@pytest.mark.parametrize(("decay", "middle"), [("none", 1.0), ("linear", 0.5), ("cosine", 0.5)])
def test_the_learning_rate_falls(decay: str, middle: float) -> None:
    schedule = Schedule(10, 2, 0.3, decay=decay)
    rates = [schedule.rate(epoch) for epoch in range(10)]
    assert rates[0] == pytest.approx(0.3)
    assert rates[5] == pytest.approx(0.3 * middle)
    assert rates == sorted(rates, reverse=True)
    assert rates[-1] > 0


def test_averages_follow_slowly() -> None:
    net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    copy = averaged(net, 0.6)
    wanted = None
    for step in range(12):
        with torch.no_grad():
            net[0].weight.add_(torch.rand(2, 2))
        net(torch.rand(3, 2))
        copy.update_parameters(net)
        value = net[0].weight.detach().numpy().copy()
        keep = min(0.6, (1 + step) / (10 + step))
        wanted = value if wanted is None else keep * wanted + (1 - keep) * value
        np.testing.assert_allclose(copy.module[0].weight.detach().numpy(), wanted, rtol=1e-5)
    assert copy.module[1].num_batches_tracked == 12


def test_a_student_predicts_with_averages_when_asked() -> None:
    last, mean = (
        student(Supervised, epochs=3, ema=ema).fit(DATA.X, DATA.answers) for ema in (0.0, 0.9)
    )
    assert last.history_ == mean.history_
    assert not np.array_equal(last.predict_proba(DATA.fresh), mean.predict_proba(DATA.fresh))

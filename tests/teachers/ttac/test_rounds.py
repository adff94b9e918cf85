"""Algorithm 1 against a separate implementation in NumPy, and what surrounds it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from ballotine.errors import DataError, DivergedError, ParameterError
from ballotine.teachers.engine import LocalEngine
from ballotine.teachers.ttac import (
    METHODS,
    Architecture,
    LearnTogether,
    LocalRecords,
    Method,
    Rounds,
    State,
)
from ballotine.teachers.ttac.local import LocalTask, train_locally
from ballotine.teachers.ttac.network import restore
from ballotine.teachers.ttac.rounds import PATIENCE

Array = npt.NDArray[np.float64]
FEATURES, CLASSES, BATCH = 3, 4, 6
LINEAR = Architecture("linear", (FEATURES,), CLASSES)


def records_of(
    seed: int, teachers: int = 3, sizes: tuple[int, ...] = (7, 20, 11)
) -> list[LocalRecords]:
    draw = np.random.default_rng(seed)
    return [
        LocalRecords(draw.normal(size=(size, FEATURES)), np.full(size, place % CLASSES))
        for place, size in zip(range(teachers), sizes, strict=True)
    ]


def setting(method: Method = "ttac", rounds: int = 5, **more: float) -> LearnTogether:
    values = {"steps": 4, "step_size": 0.2, "decay": 0.9, "averaging_step": 0.8}
    return LearnTogether(method, rounds, **{**values, **more})  # type: ignore[arg-type]


def last(trainer: Rounds, records: list[LocalRecords], state: State | None = None) -> State:
    *_, final = trainer.train(records, state)
    return final


class Oracle:
    """Algorithms 1 and 2, line by line, for softmax regression in double precision."""

    def __init__(self, theta: Array, teachers: int, method: Method) -> None:
        self.theta = theta.copy()
        self.teacher = [theta.copy() for _ in range(teachers)]
        self.c = np.zeros_like(theta)
        self.own = [np.zeros_like(theta) for _ in range(teachers)]
        self.method = method

    @staticmethod
    def gradient(theta: Array, X: Array, y: npt.NDArray[np.int64]) -> Array:
        W, b = theta[: CLASSES * FEATURES].reshape(CLASSES, FEATURES), theta[CLASSES * FEATURES :]
        scores = np.exp(X @ W.T + b)
        chances = scores / scores.sum(axis=1, keepdims=True)
        chances[np.arange(len(y)), y] -= 1.0
        chances /= len(y)
        return np.concatenate([(chances.T @ X).ravel(), chances.sum(axis=0)])

    def round(self, batches: list[LocalRecords], eta_f: float, eta_theta: float) -> None:
        steps = len(batches[0].y)
        updates, changes = [], []
        for i, drawn in enumerate(batches):
            theta_i = self.teacher[i] if self.method == "conventional" else self.theta.copy()
            for X, y in zip(drawn.X, drawn.y, strict=True):
                step = self.gradient(theta_i, X, y)
                if self.method == "ttac":
                    step = step - self.own[i] + self.c
                theta_i = theta_i - eta_f * step
            plus = self.own[i] - self.c + (self.theta - theta_i) / (steps * eta_f)
            updates.append(theta_i - self.theta)
            changes.append(plus - self.own[i])
            self.own[i] = plus
            self.teacher[i] = theta_i
        if self.method != "conventional":
            self.theta = self.theta + eta_theta * np.mean(updates, axis=0)
        self.c = self.c + np.mean(changes, axis=0)


@pytest.mark.parametrize("method", METHODS)
@given(seed=st.integers(0, 10_000), eta_theta=st.floats(0.3, 1.2))
@settings(max_examples=5, deadline=None)
def test_rounds_are_those_of_a_separate_implementation(
    method: Method, seed: int, eta_theta: float
) -> None:
    how = setting(method, averaging_step=eta_theta)
    records = records_of(seed)
    trainer = Rounds(LINEAR, how, BATCH, seed.to_bytes(4, "big"))
    state = trainer.start(len(records))
    oracle = Oracle(state.theta.astype(np.float64), len(records), method)
    for number, after in enumerate(trainer.train(records, state)):
        # The mini-batches are those that the trainer draws; what is done with them is not.
        drawn = [trainer._task(i, part, state).batches for i, part in enumerate(records)]
        oracle.round(drawn, how.step_size * how.decay**number, how.averaging_step)
        state = after
        np.testing.assert_allclose(after.theta, oracle.theta, atol=2e-5)
        np.testing.assert_allclose(after.weights, oracle.teacher, atol=2e-5)
        if method == "ttac":
            np.testing.assert_allclose(after.own, oracle.own, atol=1e-4)
            np.testing.assert_allclose(after.common, oracle.c, atol=1e-4)


def test_the_shared_variate_is_the_mean_of_all_and_follows_from_two_averaging_models() -> None:
    how = setting()
    trainer = Rounds(LINEAR, how, BATCH, b"secret")
    records = records_of(1)
    before = trainer.start(3)
    for number, after in enumerate(trainer.train(records, before)):
        length = how.steps * how.step_size_at(number)
        public = -(after.theta - before.theta) / (how.averaging_step * length)
        np.testing.assert_allclose(after.common, after.own.mean(axis=0), atol=2e-5)
        np.testing.assert_allclose(after.common, public, atol=2e-5)
        before = after


def test_correction_removes_drift_on_quadratics() -> None:
    """Teachers with optima far apart: corrected averaging finds the common one, plain does not."""
    # Linear regression towards unequal curvatures, by hand: f_i = a_i (θ − m_i)² / 2.
    a, m = np.array([0.2, 2.0]), np.array([3.0, -1.0])
    best = float((a * m).sum() / a.sum())
    found = {}
    for corrected in (True, False):
        theta, c, own = 0.0, 0.0, np.zeros(2)
        for _ in range(300):
            ends = np.full(2, theta)
            for _ in range(10):
                ends = ends - 0.1 * (a * (ends - m) + ((c - own) if corrected else 0.0))
            own = own - c + (theta - ends) / (10 * 0.1)
            theta, c = float(ends.mean()), float(own.mean())
        found[corrected] = abs(theta - best)
    assert found[True] < 1e-6
    assert found[False] > 0.1


def test_the_secret_decides_and_the_engine_does_not() -> None:
    records = records_of(2)
    runs = [
        last(Rounds(LINEAR, setting(rounds=2), BATCH, secret, LocalEngine(jobs)), records)
        for secret, jobs in ((b"a", 1), (b"a", 2), (b"b", 1))
    ]
    np.testing.assert_array_equal(runs[0].weights, runs[1].weights)
    assert not np.array_equal(runs[0].weights, runs[2].weights)


def test_rounds_go_on_from_a_state_bit_for_bit() -> None:
    records = records_of(3)
    trainer = Rounds(LINEAR, setting(rounds=6), BATCH, b"s")
    states = list(trainer.train(records))
    again = last(trainer, records, states[2])
    np.testing.assert_array_equal(again.weights, states[-1].weights)
    assert again.losses == states[-1].losses
    assert [state.done for state in states] == [1, 2, 3, 4, 5, 6]


def normed(shape: tuple[int, ...], outputs: int) -> nn.Module:
    return nn.Sequential(nn.BatchNorm1d(shape[0]), nn.Linear(shape[0], outputs))


NORMED = Architecture(normed, (FEATURES,), CLASSES)


def test_batch_norm_statistics_stay_with_their_teacher() -> None:
    records = [
        LocalRecords(np.random.default_rng(place).normal(5.0 * place, 1.0, (30, FEATURES)),
                np.arange(30) % CLASSES)
        for place in range(3)
    ]  # fmt: skip
    how = setting(rounds=15)
    state = last(Rounds(NORMED, how, BATCH, b"s"), records)
    for place, buffers in enumerate(state.buffers):
        assert buffers is not None
        np.testing.assert_allclose(buffers["0.running_mean"], 5.0 * place, atol=0.8)
        assert buffers["0.num_batches_tracked"] == 15 * how.steps
    # What is averaged holds the weights alone: a teacher's buffers cannot reach another.
    assert state.theta.size == 2 * FEATURES + CLASSES * FEATURES + CLASSES


def test_an_untouched_teacher_is_not_changed_by_anothers_buffers() -> None:
    """One round from the same θ: a teacher's result depends on its own records and θ alone."""
    one, other = records_of(4), records_of(4)
    other[0] = LocalRecords(other[0].X + 100.0, other[0].y)
    rounds = Rounds(NORMED, setting(rounds=1), BATCH, b"s")
    runs = [last(rounds, part) for part in (one, other)]
    np.testing.assert_array_equal(runs[0].weights[1:], runs[1].weights[1:])
    assert not np.array_equal(runs[0].weights[0], runs[1].weights[0])


def test_one_broken_teacher_does_not_take_the_others_with_it() -> None:
    records = records_of(5)
    records[1] = LocalRecords(np.full_like(records[1].X, np.nan), records[1].y)
    for method in METHODS:
        trainer = Rounds(LINEAR, setting(method, 4), BATCH, b"s")
        # Its loss is no number either, which is what a user is told.
        with pytest.raises(DivergedError, match="smaller step_size"):
            last(trainer, records)
        start = trainer.start(3)
        after = trainer._round(records, start)
        assert after.broken.tolist() == [False, True, False]
        assert np.all(np.isfinite(after.theta))
        assert np.all(np.isfinite(after.own))
        np.testing.assert_array_equal(after.weights[1], start.weights[1])


def test_divergence_and_collapse_are_named_with_advice() -> None:
    with pytest.raises(DivergedError, match="smaller step_size"):
        last(Rounds(LINEAR, setting(rounds=8, step_size=1e30), BATCH, b"s"), records_of(6))
    draw = np.random.default_rng(0)
    noise = [LocalRecords(draw.normal(size=(40, FEATURES)), draw.integers(CLASSES, size=40))]
    stuck = setting(rounds=PATIENCE, step_size=8.0, decay=1.0, averaging_step=1.0)
    with pytest.raises(DivergedError, match="no better than guessing"):
        last(Rounds(LINEAR, stuck, BATCH, b"s"), noise)


def test_one_spike_of_the_loss_is_not_divergence() -> None:
    trainer = Rounds(LINEAR, setting(), BATCH, b"s")
    calm = replace(trainer.start(3), done=7, losses=(1.0, 500.0, 1.0, 0.9, 0.8, 500.0))
    trainer._check_progress(calm)
    with pytest.raises(DivergedError):
        trainer._check_progress(replace(calm, losses=(1.0, *(500.0,) * 5)))


def test_a_batch_is_never_larger_than_the_records() -> None:
    records = [LocalRecords(np.zeros((2, FEATURES)), np.array([0, 1]))]
    drawn = records[0].draw(steps=3, batch=50, seed=1)
    assert drawn.X.shape == (3, 2, FEATURES)
    assert set(drawn.y.ravel().tolist()) <= {0, 1}


def test_a_local_step_starts_from_what_it_is_given() -> None:
    theta = np.arange(16, dtype=np.float32) / np.float32(10)
    part = records_of(0)[0].draw(1, 4, 0)
    task = LocalTask(0, LINEAR, part, theta, None, None, 1e-30, 0)
    np.testing.assert_allclose(train_locally(task).weights, theta, atol=1e-20)
    drift = np.full(16, -2.0, dtype=np.float32)
    moved = train_locally(replace(task, drift=drift * 1e30)).weights
    np.testing.assert_allclose(moved, theta + 2.0, rtol=1e-6)


@pytest.mark.parametrize(
    "wrong",
    [
        {"method": "scaffold"},
        {"rounds": 0},
        {"steps": 0},
        {"step_size": 0.0},
        {"step_size": float("nan")},
        {"decay": 1.1},
        {"averaging_step": -1.0},
    ],
)
def test_settings_outside_their_domain(wrong: dict[str, float]) -> None:
    with pytest.raises(ParameterError):
        replace(setting(), **wrong)  # type: ignore[arg-type]


def test_what_cannot_be_trained() -> None:
    with pytest.raises(ParameterError, match="at least one record, got 0"):
        Rounds(LINEAR, setting(), 0, b"s")
    trainer = Rounds(LINEAR, setting(), BATCH, b"s")
    with pytest.raises(ParameterError, match="at least one teacher"):
        last(trainer, [])
    with pytest.raises(DataError, match="at least one record"):
        LocalRecords(np.zeros((0, 2)), np.zeros(0, dtype=np.int64))
    with pytest.raises(ParameterError, match="2 teachers, not 3"):
        last(trainer, records_of(0), trainer.start(2))
    with pytest.raises(ParameterError, match="weights for a network"):
        restore(nn.Linear(2, 2), np.zeros(5, dtype=np.float32), None)


def test_private_numbers_are_not_shown() -> None:
    state = Rounds(LINEAR, setting(), BATCH, b"s").start(2)
    assert repr(state) == "<State after 0 rounds of 2 teachers: private>"


def test_networks_are_named_without_addresses() -> None:
    assert LINEAR.name == "linear"
    assert NORMED.name == f"{__name__}.normed"
    assert Architecture(nn.Linear, (FEATURES,), CLASSES).name == "torch.nn.modules.linear.Linear"  # type: ignore[arg-type]

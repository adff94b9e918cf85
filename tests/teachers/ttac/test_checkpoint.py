"""A training that is interrupted and goes on gives the same teachers, bit for bit."""

from __future__ import annotations

import stat
from pathlib import Path

import numpy as np
import pytest
from torch import nn

from ballotine.errors import RunFolderError
from ballotine.teachers.ttac import (
    Architecture,
    LearnTogether,
    LocalRecords,
    Rounds,
    RoundsCheckpoint,
    State,
)


def normed(shape: tuple[int, ...], outputs: int) -> nn.Module:
    return nn.Sequential(nn.BatchNorm1d(shape[0]), nn.Linear(shape[0], outputs))


TRAINER = Rounds(
    Architecture(normed, (2,), 3), LearnTogether(rounds=4, steps=2, step_size=0.1), 5, b"secret"
)


def records() -> list[LocalRecords]:
    draw = np.random.default_rng(0)
    return [LocalRecords(draw.normal(size=(8, 2)), draw.integers(3, size=8)) for _ in range(3)]


def same(one: State, other: State) -> bool:
    arrays = ("theta", "common", "own", "weights", "broken")
    equal = all(getattr(one, name).tobytes() == getattr(other, name).tobytes() for name in arrays)
    buffers = [
        (a is None) == (b is None) and all(a[name].tobytes() == b[name].tobytes() for name in a)  # type: ignore[index]
        for a, b in zip(one.buffers, other.buffers, strict=True)
        if a is not None
    ]
    return equal and all(buffers) and (one.done, one.losses) == (other.done, other.losses)


def test_a_state_comes_back_as_it_was(tmp_path: Path) -> None:
    kept = RoundsCheckpoint(tmp_path / "state.npz", b"name")
    assert kept.load() is None
    for state in (TRAINER.start(3), *TRAINER.train(records())):
        kept.save(state)
        found = kept.load()
        assert found is not None
        assert same(found, state)
        assert found.theta.dtype == np.float32
    assert stat.S_IMODE((tmp_path / "state.npz").stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["state.npz"]


def test_an_interrupted_training_ends_as_an_uninterrupted_one(tmp_path: Path) -> None:
    *_, whole = TRAINER.train(records())
    kept = RoundsCheckpoint(tmp_path / "state.npz", b"name")
    for state in TRAINER.train(records()):
        kept.save(state)
        if state.done == 2:
            break
    *_, resumed = TRAINER.train(records(), kept.load())
    assert same(whole, resumed)


def test_a_state_of_another_training_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "state.npz"
    RoundsCheckpoint(path, b"one").save(TRAINER.start(3))
    with pytest.raises(RunFolderError, match="other settings"):
        RoundsCheckpoint(path, b"other").load()
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(RunFolderError, match="not the state"):
        RoundsCheckpoint(path, b"one").load()

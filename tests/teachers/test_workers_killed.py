"""Workers that are killed, really: they lose one task at most, and no teacher is missing.

This file comes last in its folder: a new worker takes seconds to load its libraries.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression

from ballotine.data.partition import random_partition
from ballotine.teachers import LocalEngine, Teacher, Trainer, engine
from ballotine.teachers.engine import WorkerLostError
from tests.teachers.workers import Deadly, die, die_once

X, Y = make_blobs(n_samples=240, centers=3, random_state=0)
Y = Y.astype(np.int64)
PARTITION = random_partition(len(X), 6, b"secret")


def test_a_killed_worker_loses_its_own_task_only(tmp_path: Path) -> None:
    found = dict(LocalEngine(2).map(partial(die_once, tmp_path), range(10)))
    assert sorted(found) == list(range(10))
    runs = Counter((tmp_path / "runs").read_text().split())
    assert runs.pop("3") == 2
    assert set(runs.values()) == {1}


def test_a_task_that_always_kills_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "ATTEMPTS", 1)
    with pytest.raises(WorkerLostError, match="1 times"):
        list(LocalEngine(2).map(die, range(4)))


def test_a_teacher_that_kills_its_process_casts_a_constant_ballot(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(engine, "ATTEMPTS", 2)
    marked = X.copy()
    marked[PARTITION.shares[4][0]] = 1e6
    trainer = Trainer(Deadly(), 3, b"secret", engine=LocalEngine(2))
    ensemble = trainer.train(marked, Y, PARTITION)
    assert len(ensemble) == 6
    assert list(ensemble.problems) == [4]
    assert "process ended 2 times" in ensemble.problems[4]
    ballots = ensemble.ballots(X)
    assert np.all(ballots[:, 4] == 0)
    assert np.mean(ballots[:, :4] == Y[:, None]) > 0.8


def test_a_teacher_that_kills_its_process_while_voting_does_so_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(engine, "ATTEMPTS", 1)
    trainer = Trainer(LogisticRegression(), 3, b"secret", engine=LocalEngine(1))
    ensemble = trainer.train(X, Y, PARTITION)
    ensemble.teachers = [*ensemble.teachers[:5], Teacher(5, Deadly())]
    ensemble.engine = LocalEngine(2)
    ballots = ensemble.ballots(np.vstack([X, np.full((1, 2), 1e6)]))
    assert list(ensemble.problems) == [5]
    assert np.all(ballots[:, 5] == 0)
    assert np.mean(ballots[:-1, :5] == Y[:, None]) > 0.8

"""Teachers: trained apart, resumed, broken ones replaced by a constant, never fewer."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_blobs
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from ballotine.data.partition import random_partition
from ballotine.errors import ParameterError, RunFolderError
from ballotine.models import load_model, save_model
from ballotine.teachers import (
    Ensemble,
    LocalEngine,
    TeacherStore,
    Trainer,
    make_engine,
)

X, Y = make_blobs(n_samples=240, centers=3, random_state=0)
Y = Y.astype(np.int64)


class Moody(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Fails on some shares, and answers nonsense on others."""

    def fit(self, X: Any, y: Any) -> Self:
        self.mood_ = int(abs(X).sum() * 1000) % 3
        if self.mood_ == 0:
            raise RuntimeError("a private value: 12345")
        return self

    def predict(self, X: Any) -> Any:
        if self.mood_ == 1:
            raise RuntimeError("no")
        return np.full(len(X), 99)


def train(estimator: Any, teachers: int = 6, **more: Any) -> Ensemble:
    partition = random_partition(len(X), teachers, b"secret")
    trainer = Trainer(estimator, classes=3, secret=b"secret", engine=LocalEngine(1), **more)
    return trainer.train(X, Y, partition)


def test_teachers_vote_better_than_chance_and_repeat_under_a_secret() -> None:
    ensemble = train(RandomForestClassifier(5))
    ballots = ensemble.ballots(X)
    assert ballots.shape == (240, 6)
    assert np.mean(ballots == Y[:, None]) > 0.8
    assert np.array_equal(train(RandomForestClassifier(5)).ballots(X), ballots)


def test_teachers_differ_from_each_other() -> None:
    trainer = Trainer(RandomForestClassifier(5), classes=3, secret=b"s", engine=LocalEngine(1))
    states = {trainer._seed(position) for position in range(50)}
    assert len(states) == 50


def test_processes_and_one_process_agree() -> None:
    partition = random_partition(len(X), 4, b"secret")
    both = [
        Trainer(RandomForestClassifier(3), 3, b"secret", engine=LocalEngine(jobs))
        .train(X, Y, partition)
        .ballots(X)
        for jobs in (1, 2)
    ]
    assert np.array_equal(both[0], both[1])


def test_a_broken_teacher_stays_in_the_ensemble_with_a_constant_ballot() -> None:
    ensemble = train(Moody(), teachers=12)
    assert len(ensemble) == 12
    assert np.all(ensemble.ballots(X[:5]) == 0)
    assert 0 < len(ensemble.problems) < 12
    assert "12345" not in repr(ensemble)


def test_a_share_with_one_class_votes_for_it() -> None:
    partition = random_partition(12, 4, b"s")
    trainer = Trainer(LogisticRegression(), 3, b"s", engine=LocalEngine(1))
    ensemble = trainer.train(X[:12], np.full(12, 2), partition)
    assert np.all(ensemble.ballots(X[:3]) == 2)
    assert ensemble.problems == {}


def test_an_interrupted_training_keeps_what_it_has(tmp_path: Path) -> None:
    store = TeacherStore(tmp_path / "teachers")
    whole = train(LogisticRegression(), store=store)
    files = sorted((tmp_path / "teachers").iterdir())
    assert len(files) == 6
    assert all(file.stat().st_mode & 0o077 == 0 for file in files)
    before = {file: file.stat().st_mtime_ns for file in files}
    files[2].unlink()
    again = train(LogisticRegression(), store=store)
    changed = [file for file in files if file.stat().st_mtime_ns != before[file]]
    assert changed == [files[2]]
    assert np.array_equal(again.ballots(X), whole.ballots(X))
    assert again.identity == whole.identity


def test_an_ensemble_is_named_by_its_secret_and_its_teachers() -> None:
    names = {
        Trainer(LogisticRegression(), 3, b"a").identity(5),
        Trainer(LogisticRegression(), 3, b"b").identity(5),
        Trainer(LogisticRegression(), 3, b"a").identity(6),
        Trainer(LogisticRegression(C=2), 3, b"a").identity(5),
    }
    assert len(names) == 4


def test_models_of_strangers_are_not_loaded(tmp_path: Path) -> None:
    save_model(tmp_path / "m.skops", Moody())
    with pytest.raises(RunFolderError, match="not trusted"):
        load_model(tmp_path / "m.skops")
    named = f"{Moody.__module__}.{Moody.__qualname__}"
    assert isinstance(load_model(tmp_path / "m.skops", [named]), Moody)
    (tmp_path / "broken.skops").write_bytes(b"PK not really")
    with pytest.raises(RunFolderError, match="not a readable model"):
        load_model(tmp_path / "broken.skops")


def test_unknown_engines() -> None:
    with pytest.raises(ParameterError, match="unknown engine"):
        make_engine("abacus")

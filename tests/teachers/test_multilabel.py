"""Teachers of several labels: any classifier, constant labels, unknown ones, broken teachers."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC

from ballotine.data.partition import random_partition
from ballotine.teachers import LocalEngine, TeacherStore, Trainer, fit_labels, train_labels
from ballotine.voting import cast_labels

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))
Y = (X[:, [0, 1, 2, 0]] + np.array([0.0, 0.5, -0.5, 0.0]) > 0).astype(np.int64)
Y[:, 3] = 0  # a label that nobody has
CAST = partial(cast_labels, thresholds=0.5)


def train(estimator: Any, y: np.ndarray = Y, teachers: int = 5, **more: Any) -> Any:
    trainer = Trainer(estimator, y.shape[1], b"secret", engine=LocalEngine(1), **more)
    partition = random_partition(len(X), teachers, b"secret")
    return train_labels(trainer, X, y, partition, CAST)


ESTIMATORS = [
    KNeighborsClassifier(3),
    RandomForestClassifier(10),
    MLPClassifier((5,), solver="lbfgs", max_iter=60),
    LogisticRegression(),
    GaussianNB(),
    SVC(),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_any_classifier_teaches_labels(estimator: Any) -> None:
    ensemble = train(estimator)
    assert ensemble.problems == {}
    ballots = ensemble.ballots(X)
    assert (ballots.shape, ballots.dtype) == ((300, 5, 4), np.uint8)
    assert set(np.unique(ballots)) <= {0, 1}
    assert np.mean(ballots[:, :, :3] == Y[:, None, :3]) > 0.75
    assert np.all(ballots[:, :, 3] == 0)


def test_models_that_know_several_labels_learn_them_together() -> None:
    together = fit_labels(RandomForestClassifier(3), X, Y, 0)
    assert together.together is not None
    assert together.together.n_outputs_ == 3
    assert fit_labels(LogisticRegression(), X, Y, 0).together is None
    one = fit_labels(KNeighborsClassifier(1), X, Y[:, [0, 3]], 0)
    assert one.together is None
    assert len(one.apart) == 1


def test_probabilities_are_those_of_the_labels_own_model() -> None:
    """An independent look: each column is what a classifier of that label alone says."""
    for estimator in (LogisticRegression(), KNeighborsClassifier(5)):
        found = fit_labels(estimator, X, Y, 0).probabilities(X[:50])
        for label in range(3):
            alone = type(estimator)(**estimator.get_params()).fit(X, Y[:, label])
            assert found[:, label] == pytest.approx(alone.predict_proba(X[:50])[:, 1])


def test_constant_and_unknown_labels() -> None:
    y = Y.copy()
    y[:, 0] = 1  # everybody has it
    y[:, 1] = -1  # nobody knows
    y[:150, 2] = -1  # half are known
    models = fit_labels(LogisticRegression(), X, y, 0)
    found = models.probabilities(X)
    assert np.all(found[:, 0] == 1)
    assert np.all(np.isnan(found[:, 1]))
    half = LogisticRegression().fit(X[150:], y[150:, 2])
    assert found[:, 2] == pytest.approx(half.predict_proba(X)[:, 1])
    assert np.all(found[:, 3] == 0)
    ballots = train(KNeighborsClassifier(1), y).ballots(X[:20])
    assert np.all(ballots[:, :, 0] == 1)
    assert np.all(ballots[:, :, 1] == 0)


class Moody(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Fails while learning on some shares, and while voting on others."""

    def fit(self, X: Any, y: Any) -> Self:
        self.mood_ = int(abs(X).sum() * 1000) % 3
        if self.mood_ == 0:
            raise RuntimeError("a private value: 12345")
        return self

    def predict(self, X: Any) -> Any:
        if self.mood_ == 1:
            raise RuntimeError("no")
        return np.ones(len(X))


def test_a_broken_teacher_names_nothing_and_stays() -> None:
    ensemble = train(Moody(), teachers=12)
    ballots = ensemble.ballots(X[:5])
    assert ballots.shape[1] == 12
    broken = sorted(ensemble.problems)
    assert 0 < len(broken) < 12
    assert np.all(ballots[:, broken] == 0)
    fine = [teacher for teacher in range(12) if teacher not in broken]
    assert np.all(ballots[:, fine, :3] == 1)


def test_teachers_of_labels_are_kept_and_repeat(tmp_path: Path) -> None:
    store = TeacherStore(tmp_path / "teachers")
    first = train(RandomForestClassifier(3), store=store)
    again = train(RandomForestClassifier(3), store=store)
    assert np.array_equal(first.ballots(X), again.ballots(X))
    assert first.identity == again.identity
    assert train(RandomForestClassifier(3), variant="other").identity != first.identity


def test_processes_and_one_process_agree() -> None:
    partition = random_partition(len(X), 4, b"secret")
    both = [
        train_labels(
            Trainer(GaussianNB(), 4, b"secret", engine=LocalEngine(jobs)), X, Y, partition, CAST
        ).ballots(X)
        for jobs in (1, 2)
    ]
    assert np.array_equal(both[0], both[1])

"""Students of several labels: each label from the rows where it was answered."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from ballotine.errors import DataError
from ballotine.students import (
    MultiLabelStudent,
    SpreadingClassifier,
    Student,
    fit_label_students,
    label_score,
    unanswered,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 2))
TRUTH = (X[:, [0, 1, 0, 1]] > 0).astype(np.int64)
ANSWERS = TRUTH.copy()
ANSWERS[::3, 0] = -1  # some rows without an answer for the first label
ANSWERS[:, 2] = -1  # no answer at all
ANSWERS[:, 3] = 1  # one answer throughout


def test_each_label_learns_from_its_own_rows() -> None:
    model = fit_label_students(LogisticRegression(), X, ANSWERS, 0)
    known = ANSWERS[:, 0] >= 0
    alone = LogisticRegression().fit(X[known], TRUTH[known, 0])
    assert model.predict_proba(X)[:, 0] == pytest.approx(alone.predict_proba(X)[:, 1])
    predicted = model.predict(X)
    assert predicted.shape == (200, 4)
    assert np.mean(predicted[:, :2] == TRUTH[:, :2]) > 0.95
    assert np.all(predicted[:, 2] == 0)
    assert np.all(predicted[:, 3] == 1)
    assert unanswered(ANSWERS).tolist() == [2]


def test_students_without_probabilities_and_with_unanswered_rows() -> None:
    for estimator in (SVC(), SpreadingClassifier()):
        chances = fit_label_students(estimator, X, ANSWERS, 0).predict_proba(X)
        assert np.all((chances >= 0) & (chances <= 1))
        assert np.mean((chances[:, :2] > 0.5) == TRUTH[:, :2]) > 0.9


def test_a_rare_label_may_be_lost_on_the_way() -> None:
    """Spreading outvotes its only row: the label is then improbable everywhere, and no error."""
    X = np.random.default_rng(0).normal(size=(60, 3))
    rare = np.zeros(60, dtype=int)
    rare[7] = 1
    labels = np.stack([(X[:, 0] > 0).astype(int), rare], axis=1)
    found = fit_label_students(SpreadingClassifier(), X, labels, 0).predict_proba(X)
    assert found.shape == (60, 2)
    assert (found[:, 1] == 0).all()
    assert found[:, 0].max() > 0.5


def test_nothing_to_learn_is_a_clear_error() -> None:
    for nothing in (np.full((200, 3), -2), np.ones((200, 3), dtype=np.int64)):
        with pytest.raises(DataError, match="both present and absent"):
            fit_label_students(SVC(), X, nothing)


def test_a_student_of_labels_is_saved_as_data(tmp_path: Path) -> None:
    model = fit_label_students(SpreadingClassifier(), X, ANSWERS, 0)
    student = MultiLabelStudent(model, ["a", "b", "c", "d"])
    student.save(tmp_path / "student.skops")
    loaded = Student.load(tmp_path / "student.skops")
    assert isinstance(loaded, MultiLabelStudent)
    assert loaded.classes_.tolist() == ["a", "b", "c", "d"]
    assert np.array_equal(loaded.predict(X), student.predict(X))
    assert np.array_equal(loaded.predict_proba(X), student.predict_proba(X))
    assert loaded.score(X, TRUTH) == pytest.approx(np.mean(student.predict(X) == TRUTH))


def test_a_score_is_the_mean_over_labels_of_what_is_known() -> None:
    predicted = np.array([[1, 0], [1, 0], [1, 0], [1, 0]])
    truth = np.array([[1, 0], [1, 1], [0, -1], [1, -1]])
    assert label_score(predicted, truth) == pytest.approx((3 / 4 + 1 / 2) / 2)
    assert label_score(predicted, truth, [1, 0, 0, 0]) == 1
    with pytest.raises(DataError, match="shape"):
        label_score(predicted, truth[:, :1])
    with pytest.raises(DataError, match="nothing to score"):
        label_score(predicted, np.full((4, 2), -1))


@pytest.mark.neural
def test_one_network_learns_all_labels_and_leaves_out_what_was_not_answered() -> None:
    from ballotine.students.neural import Supervised

    draw = np.random.default_rng(3)
    X = draw.normal(size=(200, 4))
    truth = (X[:, :2] > 0).astype(np.int64)
    labels = np.where(draw.random(truth.shape) < 0.3, -2, truth)
    network = Supervised("mlp", epochs=30, learning_rate=0.01)
    model = fit_label_students(network, X, labels, seed=1)
    assert isinstance(model, Supervised)
    assert (model.predict(X) == truth).mean() > 0.95
    again = fit_label_students(network, X, labels, seed=1)
    np.testing.assert_array_equal(model.predict_proba(X), again.predict_proba(X))

"""What students tell of their training, and to whom."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from ballotine.students import (
    LabelStudents,
    MultiLabelStudent,
    Student,
    fit_label_students,
    fit_student,
    losses_in,
    reports_epochs,
    trainings,
)
from ballotine.students.neural import CoTeaching, PatePlusPlus, Supervised
from tests.students.neural.digits import digits

DATA = digits()
EVEN = np.stack([DATA.answers % 2, DATA.answers > 4, np.full_like(DATA.answers, -1)], axis=1)


def test_a_listener_of_ones_own_is_left_alone() -> None:
    heard: list[int] = []
    network = Supervised(epochs=2, on_epoch=lambda epoch: heard.append(epoch.number))
    fit_student(network, DATA.X, DATA.answers, 1)
    assert heard == [1, 2]


@pytest.mark.parametrize(
    ("estimator", "expected"), [(Supervised(), True), (LogisticRegression(), False)]
)
def test_networks_tell_their_epochs(estimator: Any, expected: bool) -> None:
    assert reports_epochs(estimator) is expected


def test_trainings_of_one_model_and_of_one_per_label() -> None:
    model = fit_student(PatePlusPlus(epochs=2), DATA.X, DATA.answers, 1)
    (found,) = trainings(Student(model, list(range(10))))
    assert found.curves == model.history_
    assert (found.label, found.epochs, found.interrupted) == (None, 4, False)
    assert np.array_equal(found.removed, model.removed_)
    labels = fit_label_students(CoTeaching(epochs=2), DATA.X, EVEN, 1)
    parts = trainings(MultiLabelStudent(labels, ["odd", "large", "silent"]))
    assert [part.label for part in parts] == ["odd", "large"]
    assert all(part.removed is None for part in parts)


class Foreign:
    history_ = ({"epoch": 1},)
    interrupted_ = False


def test_other_models_tell_nothing() -> None:
    for model in (LogisticRegression(), Foreign(), LabelStudents([None, Foreign()], [0, 0])):
        assert trainings(Student(model, ["a", "b"])) == ()


def test_counts_are_no_losses() -> None:
    model = fit_student(PatePlusPlus(epochs=2), DATA.X, DATA.answers, 1)
    assert losses_in(model.history_) == ["labelled", "unlabelled", "generator"]
    assert len(model.history_) > 3

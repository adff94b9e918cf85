"""Students: they learn from answers alone, and from unanswered rows if they can."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC

from ballotine.errors import DataError, RunFolderError
from ballotine.models import save_model
from ballotine.students import SpreadingClassifier, Student, fit_student, is_semi_supervised

X, Y = make_blobs(n_samples=300, centers=[[0, 0], [6, 0], [0, 6]], random_state=1)
FEW = np.where(np.arange(300) < 12, Y, -1).astype(np.int64)


@pytest.mark.parametrize(
    "estimator",
    [
        LogisticRegression(),
        SVC(),
        LabelSpreading(gamma=1),
        SpreadingClassifier(),
        SelfTrainingClassifier(LogisticRegression()),
        make_pipeline(StandardScaler(), SpreadingClassifier()),
    ],
)
def test_any_classifier_is_a_student(estimator: object) -> None:
    model = fit_student(estimator, X, FEW)
    assert np.mean(model.predict(X) == Y) > 0.9


def test_unanswered_rows_reach_semi_supervised_students_only() -> None:
    spreading = fit_student(LabelSpreading(kernel="knn"), X, FEW)
    assert len(spreading.transduction_) == 300
    logistic = fit_student(SVC(), X, FEW)
    assert logistic.shape_fit_[0] == 12
    assert is_semi_supervised(make_pipeline(StandardScaler(), LabelSpreading()))
    assert not is_semi_supervised(make_pipeline(StandardScaler(), SVC()))


@pytest.mark.parametrize("labels", [np.full(300, -1), np.full(300, -2), np.full(300, 1)])
def test_too_few_classes_are_a_clear_error(labels: np.ndarray) -> None:
    with pytest.raises(DataError, match="at least two"):
        fit_student(SVC(), X, labels)


def test_a_student_is_saved_as_data_and_answers_with_names(tmp_path: Path) -> None:
    student = Student(fit_student(SpreadingClassifier(), X, FEW), ["a", "b", "c", "never"])
    student.save(tmp_path / "student.skops")
    loaded = Student.load(tmp_path / "student.skops")
    assert np.array_equal(loaded.predict(X), np.array(["a", "b", "c"])[student.model.predict(X)])
    probabilities = loaded.predict_proba(X)
    assert probabilities.shape == (300, 4)
    assert np.all(probabilities[:, 3] == 0)
    assert probabilities.sum(axis=1) == pytest.approx(np.ones(300))
    save_model(tmp_path / "other.skops", LogisticRegression())
    with pytest.raises(RunFolderError, match="not a Ballotine student"):
        Student.load(tmp_path / "other.skops")


def test_rows_that_no_label_reaches_do_not_become_class_zero() -> None:
    """Two islands of rows, labels on one only: the other must not turn into class 0."""
    island = np.vstack([X, X + 1000.0])
    labels = np.concatenate([np.where(np.arange(300) < 30, Y + 1, -1), np.full(300, -1)])
    model = fit_student(SpreadingClassifier(), island, labels.astype(np.int64))
    assert set(model.predict(island)) <= {1, 2, 3}
    assert np.mean(model.predict(X) == Y + 1) > 0.9
    assert np.all(np.isfinite(model.predict_proba(island)))


@pytest.mark.parametrize(
    ("module", "name"),
    [("builtins", "eval"), ("posix", "system"), ("sklearn.utils._joblib", "joblib"), ("no", "way")],
)
def test_a_hostile_student_file_runs_nothing(tmp_path: Path, module: str, name: str) -> None:
    """A file that asks the loader to call a function instead of rebuilding a model."""
    marker = tmp_path / "ran"
    argument = {
        "__class__": "str",
        "__module__": "builtins",
        "__loader__": "JsonNode",
        "content": json.dumps(f"open({str(marker)!r}, 'w').write('x')"),
        "is_json": True,
        "__id__": 3,
    }
    save_model(tmp_path / "good.skops", LogisticRegression())
    with zipfile.ZipFile(tmp_path / "good.skops") as good:
        schema = json.loads(good.read("schema.json"))
    schema |= {
        "__class__": name,
        "__module__": module,
        "__loader__": "ConstructorFromReduceNode",
        "__id__": 1,
        "content": {
            "__class__": "tuple",
            "__module__": "builtins",
            "__loader__": "TupleNode",
            "__id__": 2,
            "content": [argument],
        },
    }
    with zipfile.ZipFile(tmp_path / "bad.skops", "w") as bad:
        bad.writestr("schema.json", json.dumps(schema))
    with pytest.raises(RunFolderError, match=f"not trusted .*{name}|not a readable model"):
        Student.load(tmp_path / "bad.skops")
    assert not marker.exists()

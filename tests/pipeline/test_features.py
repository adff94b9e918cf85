"""[features] in runs: learnt from public rows alone, and part of the released student."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.datasets import load_digits

from ballotine import Student
from ballotine.errors import DataError, RunFileError
from ballotine.ledger import Ledger
from ballotine.pipeline import Run, RunFile, RunFolder, RunResult, create_folder, open_folder
from ballotine.pipeline.features import ROW_BY_ROW, make_features
from ballotine.progress import Silent
from ballotine.report import build_card, write_card
from ballotine.students import trainings

RUNFILE = """
[run]
experiment = true
seed = 3
folder = "{folder}/{name}"
[data]
source = "digits"
public_rows = 300
test_rows = 200
[features]
{features}
[teachers]
number = 20
kind = "svm"
options = {{ C = 10.0 }}
[voting]
mechanism = "gnmax"
sigma = 6.0
max_queries = 150
[budget]
epsilon = 60.0
delta = 1e-4
{ledger}
[student]
kind = "{student}"
"""
PATCHES = 'kind = "patches"\noptions = { patch = 3, regions = 3, centres = 40, components = 40 }'


def run(
    folder: Path, features: str, name: str = "out", ledger: str = "", student: str = "svm"
) -> tuple[RunFolder, RunResult]:
    text = RUNFILE.format(
        folder=folder, name=name, features=features, ledger=ledger, student=student
    )
    settings = RunFile.parse(text, "run.toml")
    found = create_folder(settings)
    return found, Run(settings, found).execute()


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[RunFolder, RunResult]:
    return run(tmp_path_factory.mktemp("patches"), PATCHES)


@pytest.mark.neural
def test_the_released_student_takes_rows_as_they_are(done: tuple[RunFolder, RunResult]) -> None:
    folder, result = done
    student = Student.load(folder.student)
    dataset = result.dataset
    assert dataset.X_test is not None
    assert result.evaluation is not None
    right = np.mean(student.predict(dataset.X_test) == np.asarray(dataset.classes)[dataset.y_test])
    assert right == pytest.approx(result.evaluation.accuracy)
    assert right > 0.8


@pytest.mark.neural
def test_features_follow_from_public_rows_alone(done: tuple[RunFolder, RunResult]) -> None:
    from ballotine.features import PatchFeatures

    _, result = done
    features = result.student.model.features
    again = PatchFeatures(
        (1, 8, 8), patch=3, regions=3, centres=40, components=40, random_state=0
    ).fit(result.dataset.X_public)
    rows = load_digits().data[:7].astype(float)
    np.testing.assert_allclose(features.transform(rows), again.transform(rows), atol=1e-6)


@pytest.mark.neural
def test_card_and_report_say_what_was_seen(done: tuple[RunFolder, RunResult]) -> None:
    folder, result = done
    write_card(folder, build_card(result))
    assert json.loads(folder.card.read_text())["features"]["kind"] == "patches"
    assert "learnt from public rows alone" in folder.report.read_text()


def test_any_transformer_will_do_and_none_changes_nothing(tmp_path: Path) -> None:
    _, plain = run(tmp_path, "", "plain")
    assert build_card(plain)["features"] is None
    assert not hasattr(plain.student.model, "features")
    pca = 'kind = "sklearn.decomposition.PCA"\noptions = { n_components = 20 }'
    _, result = run(tmp_path, pca, "pca")
    assert ROW_BY_ROW in result.guarantee.assumptions
    assert ROW_BY_ROW not in plain.guarantee.assumptions
    assert result.student.model.features.n_components_ == 20
    assert result.evaluation is not None
    assert result.evaluation.accuracy > 0.8


@pytest.mark.parametrize(
    "student", ["logistic-regression", pytest.param("vat", marks=pytest.mark.neural)]
)
def test_several_labels_are_seen_through_features_too(tmp_path: Path, student: str) -> None:
    X, y = load_digits(return_X_y=True)
    labels = np.stack([y % 2 == 0, y > 4], axis=1).astype(int)
    np.savez(tmp_path / "traits.npz", X=X, y=labels)
    text = RUNFILE.format(
        folder=tmp_path,
        name="out",
        features='kind = "sklearn.decomposition.PCA"\noptions = { n_components = 20 }',
        ledger="",
        student=student,
    )
    text = text.replace(
        'source = "digits"', f'private = "{tmp_path}/traits.npz"\ntargets = ["even", "large"]'
    ).replace('"gnmax"', '"binary"')
    if student == "vat":
        text += "options = { epochs = 3 }\n"
    settings = RunFile.parse(text, "run.toml")
    folder = create_folder(settings)
    result = Run(settings, folder).execute()
    again = Student.load(folder.student)
    assert result.dataset.X_test is not None
    assert again.predict_proba(result.dataset.X_test).shape == (200, 2)
    assert bool(trainings(again)) == (student == "vat")


@pytest.mark.neural
def test_other_eyes_are_other_queries_in_a_shared_ledger(tmp_path: Path) -> None:
    ledger = f'ledger = "{tmp_path}/shared.sqlite"'
    run(tmp_path, "", "plain", ledger)
    run(tmp_path, PATCHES, "patches", ledger)
    with Ledger.existing(tmp_path / "shared.sqlite") as book:
        assert book.spending().recorded == 300


class Centred(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Looks at all rows it is given at once: one private record would change the others."""

    def fit(self, X: np.ndarray, y: object = None) -> Centred:
        return self

    def transform(self, X: np.ndarray) -> np.ndarray:
        return X - X.mean(axis=0)


class Talkative(Centred):
    """Repeats what it is given."""

    def transform(self, X: np.ndarray) -> np.ndarray:
        raise KeyError(f"fails on {X[0]}")


@pytest.mark.parametrize(
    ("kind", "match"), [("Centred", "transformed alone"), ("Talkative", "fails on these rows$")]
)
def test_rows_must_be_seen_one_by_one_and_not_repeated(
    tmp_path: Path, kind: str, match: str
) -> None:
    with pytest.raises(DataError, match=match):
        run(tmp_path, f'kind = "{__name__}.{kind}"')


@pytest.mark.neural
def test_other_public_rows_are_other_eyes(done: tuple[RunFolder, RunResult]) -> None:
    _, result = done
    section, dataset = result.settings.features, result.dataset
    here = make_features(section, dataset, Silent())
    fewer = make_features(section, replace(dataset, X_public=dataset.X_public[:-1]), Silent())
    assert here.name(b"ensemble") != fewer.name(b"ensemble")
    assert here.name(b"ensemble") == make_features(section, dataset, Silent()).name(b"ensemble")


@pytest.mark.neural
def test_a_resumed_run_takes_up_what_it_has(done: tuple[RunFolder, RunResult]) -> None:
    folder, result = done
    with Ledger.existing(folder.ledger) as book:
        before = book.head()
    same, settings = open_folder(folder.root)
    again = Run(settings, same).execute()
    np.testing.assert_array_equal(again.answers.labels, result.answers.labels)
    with Ledger.existing(folder.ledger) as book:
        assert book.head() == before


@pytest.mark.parametrize(
    ("features", "error", "match"),
    [
        ('kind = "pathces"', RunFileError, "unknown transformer"),
        ('kind = "sklearn.svm.SVC"', RunFileError, "not a scikit-learn transformer"),
        pytest.param(
            'kind = "patches"\noptions = { patches = 5 }',
            RunFileError,
            "no such parameter",
            marks=pytest.mark.neural,
        ),
        ("options = { patch = 5 }", RunFileError, "need a kind"),
        pytest.param(
            'kind = "patches"\noptions = { patch = 3, shape = [1, 9, 9] }',
            DataError,
            "64 values",
            marks=pytest.mark.neural,
        ),
    ],
)
def test_mistakes_are_named(
    tmp_path: Path, features: str, error: type[Exception], match: str
) -> None:
    with pytest.raises(error, match=match):
        run(tmp_path, features)

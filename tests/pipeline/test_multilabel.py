"""Several labels per record on the whole road: in Python, in run files, on the card."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from ballotine import Budget, GNMax, Kind, PateClassifier, Student
from ballotine.cli.ledger import find
from ballotine.errors import (
    AbstainedError,
    CardMismatchError,
    DataError,
    ParameterError,
    RunFileError,
)
from ballotine.ledger import Ledger
from ballotine.pipeline import Run, RunFile, create_folder, provisional_folder
from ballotine.report import build_card, write_card
from ballotine.report.checking import check_statement
from ballotine.voting import BinaryVoting, ClippedVoting, Dependencies, PowersetVoting

RNG = np.random.default_rng(7)
X = RNG.normal(size=(1300, 3))
NAMES = ["wet", "rain", "cold"]
Y = np.stack([X[:, 0] > 0, (X[:, 0] > 0) & (X[:, 1] > -0.5), X[:, 2] > 0.3], axis=1).astype(int)
PRIVATE, PUBLIC, TEST = slice(0, 900), slice(900, 1100), slice(1100, 1300)


def classifier(mechanism: Any, y: Any = Y, **changes: Any) -> PateClassifier:
    settings: dict[str, Any] = {
        "teacher": GaussianNB(),
        "n_teachers": 45,
        "mechanism": mechanism,
        "budget": Budget(12.0, 1e-5),
        "student": LogisticRegression(),
        "classes": NAMES,
        "random_state": 1,
    }
    return PateClassifier(**(settings | changes)).fit(X[PRIVATE], y[PRIVATE])


MECHANISMS = [
    BinaryVoting(9.0),
    BinaryVoting(9.0, 30.0, 9.0),
    ClippedVoting(9.0, 1.2),
    PowersetVoting(6.0),
    PowersetVoting(6.0, tau=2),
]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: m.describe()[15:70])
def test_the_whole_road(mechanism: Any) -> None:
    pate = classifier(mechanism)
    assert pate.classes_.tolist() == NAMES
    answers = pate.label(X[PUBLIC])
    assert answers.multilabel
    assert answers.labels.shape == (200, 3)
    assert answers.asked.sum() > 10
    given = answers.labels >= 0
    assert np.mean(answers.labels[given] == Y[PUBLIC][given]) > 0.75
    if isinstance(mechanism, PowersetVoting) and mechanism.tau is not None:
        assert answers.labels.clip(0).sum(axis=1).max() <= 2
    pate.distill(X[PUBLIC], answers)
    predicted = pate.predict(X[TEST])
    assert predicted.shape == (200, 3)
    assert pate.score(X[TEST], Y[TEST]) == pytest.approx(np.mean(predicted == Y[TEST]))
    assert pate.score(X[TEST], Y[TEST]) > 0.7
    assert pate.predict_proba(X[TEST]).shape == (200, 3)
    guarantee = pate.guarantee_
    assert guarantee.kind is Kind.CONDITIONAL, "on how the arrays were prepared"
    assert not any("set of classes" in text for text in guarantee.assumptions)
    assert 0 < guarantee.epsilon <= 12


def test_rows_repeat_and_copies_of_a_ledger_are_sealed() -> None:
    pate = classifier(BinaryVoting(9.0, 30.0, 9.0))
    first = pate.label(X[PUBLIC][:10])
    again = pickle.loads(pickle.dumps(pate)).label(X[PUBLIC][:10])
    assert np.array_equal(first.labels, again.labels)


def test_names_numbers_and_unknown_labels() -> None:
    assert classifier(BinaryVoting(9.0), classes=3).classes_.tolist() == [0, 1, 2]
    assert classifier(BinaryVoting(9.0), classes=None).classes_.tolist() == [0, 1, 2]
    unknown = np.where(RNG.random(Y.shape) < 0.3, -1, Y)
    pate = classifier(BinaryVoting(9.0), unknown)
    answers = pate.label(X[PUBLIC])
    given = answers.labels >= 0
    assert np.mean(answers.labels[given] == Y[PUBLIC][given]) > 0.75


def test_thresholds_change_ballots_and_queries() -> None:
    shy = classifier(BinaryVoting(9.0), thresholds=[0.5, 0.5, 1.0])
    assert np.all(shy.ensemble_.ballots(X[PUBLIC])[:, :, 2] == 0)
    plain = classifier(BinaryVoting(9.0))
    assert shy.ensemble_.identity != plain.ensemble_.identity
    for bad in ([0.5, 0.5], 1.5):
        with pytest.raises((DataError, ParameterError), match="threshold"):
            classifier(BinaryVoting(9.0), thresholds=bad)


def test_dependencies_save_questions() -> None:
    """Rain makes wet: where it is not wet, rain is neither asked nor paid for."""
    budget = Budget(6.0, 1e-5)
    plain = classifier(BinaryVoting(9.0), budget=budget).label(X[PUBLIC])
    known = BinaryVoting(9.0, dependencies=Dependencies((None, 0, None)))
    fewer = classifier(known, budget=budget).label(X[PUBLIC])
    assert fewer.asked.sum() > plain.asked.sum()
    dry = fewer.labels[:, 0] == 0
    assert np.all(fewer.labels[dry, 1] == 0)


def test_abstentions_and_shapes_are_clear_errors() -> None:
    shy = classifier(BinaryVoting(9.0, 60.0, 9.0))
    with pytest.raises(AbstainedError, match="of 30 labels"):
        shy.predict(X[PUBLIC][:10])
    assert classifier(BinaryVoting(9.0)).predict(X[PUBLIC][:3]).shape == (3, 3)
    with pytest.raises(ValueError, match="1d array"):
        classifier(GNMax(9.0))
    with pytest.raises(DataError, match=r"must have the shape \(rows, labels\)"):
        classifier(BinaryVoting(9.0), Y[:, 0], classes=None)
    with pytest.raises(DataError, match="must be 0 or 1"):
        classifier(BinaryVoting(9.0), Y * 2)
    with pytest.raises(DataError, match=r"\(rows, 2\)"):
        classifier(BinaryVoting(9.0), classes=2)
    with pytest.raises(ParameterError, match="a label twice"):
        classifier(BinaryVoting(9.0), classes=["a", "a", "b"])
    with pytest.raises(ParameterError, match="use the random partition"):
        classifier(BinaryVoting(9.0), partition="stratified")


RUNFILE = """
[run]
name = "weather"
folder = "out"
[data]
private = "private.csv"
public = "public.csv"
test = "test.csv"
targets = ["wet", "rain", "cold"]
[teachers]
number = 45
kind = "logistic-regression"
options = { C = 100.0 }
jobs = 1
[voting]
mechanism = "binary"
sigma = 9.0
threshold = 30.0
sigma_threshold = 9.0
[budget]
epsilon = 12.0
delta = 1e-5
ledger = "l.sqlite"
[student]
kind = "logistic-regression"
"""


@pytest.fixture
def weather(tmp_path: Path) -> Path:
    """The same rows as tables; the labels of some private records are unknown."""
    for name, rows, labelled in (
        ("private", PRIVATE, True), ("public", PUBLIC, False), ("test", TEST, True)
    ):  # fmt: skip
        head = ["u", "v", "w", *(NAMES if labelled else [])]
        lines = [",".join(head)]
        for place, (row, labels) in enumerate(zip(X[rows], Y[rows], strict=True)):
            cells = [repr(float(value)) for value in row]
            shown = ["" if place % 50 == 0 else str(value) for value in labels]
            lines.append(",".join([*cells, *(shown if labelled else [])]))
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "run.toml").write_text(RUNFILE)
    return tmp_path


def test_a_run_file_with_several_labels(weather: Path) -> None:
    settings = RunFile.load(weather / "run.toml")
    folder = create_folder(settings)
    result = Run(settings, folder).execute()
    card = build_card(result)
    write_card(folder, card)
    labels = result.answers.labels
    for place, row in enumerate(card["answers"]["by_label"]):
        assert row["label"] == NAMES[place]
        assert row["present"] == np.count_nonzero(labels[:, place] == 1)
        assert row["absent"] == np.count_nonzero(labels[:, place] == 0)
        asked = row["present"] + row["absent"] + row["abstained"]
        assert asked == card["queries"]["asked"]
    table = pq.read_table(folder.answers)
    assert table.column_names == ["row", "status", "repeats", *(f"answer:{name}" for name in NAMES)]
    stored = np.array(
        [[-1 if v is None else v for v in table[f"answer:{n}"].to_pylist()] for n in NAMES]
    ).T
    assert np.array_equal(stored, np.where(labels < 0, -1, labels))
    student = Student.load(folder.student)
    assert student.classes_.tolist() == NAMES
    test_X, test_y = result.dataset.X_test, result.dataset.y_test
    assert test_X is not None
    assert test_y is not None
    predicted = student.predict(test_X)
    evaluation = card["evaluation"]
    for place, row in enumerate(evaluation["per_label"]):
        known = test_y[:, place] >= 0
        assert row["rows"] == known.sum() == 196
        right = np.mean(predicted[known, place] == test_y[known, place])
        assert row["acc"] == pytest.approx(right)
    assert evaluation["acc"] == pytest.approx(student.score(test_X, test_y))
    page, text = folder.report.read_text(), folder.card_text.read_text()
    assert "Answers of each label" in page
    assert "True class" not in page
    assert "| wet |" in text
    with Ledger.existing(find(folder.root)) as ledger:
        check_statement(folder.card, ledger)
        card["answers"]["by_label"][1]["present"] += 1
        write_card(folder, card)
        with pytest.raises(CardMismatchError, match="other answers were released"):
            check_statement(folder.card, ledger)


TRAITS = ["even", "large", "loop"]


def test_a_run_on_embedded_digits_with_traits(tmp_path: Path, ballotine: Any) -> None:
    """The digits that ship with scikit-learn, labelled by three traits each."""
    X, digit = load_digits(return_X_y=True)
    traits = np.stack([digit % 2 == 0, digit > 4, np.isin(digit, [0, 6, 8, 9])], axis=1)
    order = np.random.default_rng(0).permutation(len(X))
    np.savez(tmp_path / "digits.npz", X=X[order] / 16, y=traits[order].astype(int))
    text = RUNFILE.replace('private = "private.csv"\npublic = "public.csv"\ntest = "test.csv"\n',
        'private = "digits.npz"\npublic_rows = 300\ntest_rows = 200\n')  # fmt: skip
    text = text.replace('["wet", "rain", "cold"]', json.dumps(TRAITS))
    text = text.replace("[run]", "[run]\nexperiment = true\nseed = 4").replace(
        "threshold = 30.0\nsigma_threshold = 9.0\n", ""
    )
    text = text.replace('"binary"\nsigma = 9.0', '"powerset"\nsigma = 5.0\ntau = 3')
    neighbour = '"nearest-neighbours"\noptions = { n_neighbors = 1 }'
    text = text.replace('"logistic-regression"\noptions = { C = 100.0 }', neighbour)
    text = text.replace("number = 45", "number = 30")
    (tmp_path / "run.toml").write_text(text)
    ended = ballotine("run", "run.toml")
    assert ended.returncode == 0, ended.stderr
    assert (
        "of the labels correct on 200 labelled rows taken out of the private file" in ended.stdout
    )
    card = json.loads((tmp_path / "out" / "card.json").read_text())
    assert card["mechanism"] == {"mechanism": "powerset", "sigma": 5.0, "tau": 3}
    assert card["evaluation"]["acc"] > 0.7
    assert card["experiment"]["label_accuracy"] > 0.7
    assert card["experiment"]["ceiling"] > 0.9


def test_parents_are_named_in_the_run_file(weather: Path) -> None:
    text = RUNFILE.replace("[budget]", 'parents = { rain = "wet" }\nfirst = "leaves"\n[budget]')
    (weather / "run.toml").write_text(text)
    settings = RunFile.load(weather / "run.toml")
    mechanism = settings.voting.build(NAMES)
    assert isinstance(mechanism, BinaryVoting)
    assert mechanism.dependencies == Dependencies((None, 0, None), "leaves")
    result = Run(settings, create_folder(settings)).execute()
    rain = result.answers.labels[:, 1] == 1
    assert np.all(result.answers.labels[rain, 0] == 1)
    assert build_card(result)["mechanism"]["dependencies"]["parents"] == [None, 0, None]
    wrong = text.replace('rain = "wet"', 'rain = "soaked"').replace('"out"', '"out2"')
    (weather / "run.toml").write_text(wrong)
    settings = RunFile.load(weather / "run.toml")
    with pytest.raises(ParameterError, match=r"\[voting\] parents: unknown label 'soaked'"):
        Run(settings, create_folder(settings)).execute()


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            'targets = ["wet", "rain", "cold"]',
            'target = "wet"\ntargets = ["rain"]',
            r"\[data\] give either targets",
        ),
        ('targets = ["wet", "rain", "cold"]', "targets = []", r"\[data\] targets: "),
        ('"binary"', '"clipped"', r"\[voting\] clipped needs tau"),
        ("sigma = 9.0", "sigma = 9.0\ntau = 2.0", r"\[voting\] binary does not use tau"),
        ("sigma = 9.0", 'sigma = 9.0\nfirst = "roots"', r"\[voting\] first needs parents"),
        ("sigma = 9.0", 'sigma = 9.0\nvariant = "none"', r"\[voting\] .*variant"),
        (
            '"binary"\nsigma = 9.0\nthreshold = 30.0\nsigma_threshold = 9.0',
            '"gnmax"\nsigma = 9.0\nthresholds = 0.5',
            r"\[voting\] gnmax does not use thresholds",
        ),
        (
            '"binary"\nsigma = 9.0\nthreshold = 30.0\nsigma_threshold = 9.0',
            '"powerset"\nsigma = 9.0\nparents = { a = "b" }',
            r"\[voting\] powerset does not use parents",
        ),
    ],
)
def test_errors_name_the_key(old: str, new: str, expected: str) -> None:
    assert old in RUNFILE
    with pytest.raises(RunFileError, match=expected):
        RunFile.parse(RUNFILE.replace(old, new, 1), "run.toml")


def test_mechanism_and_data_must_fit(weather: Path) -> None:
    text = RUNFILE.replace(
        '"binary"\nsigma = 9.0\nthreshold = 30.0\nsigma_threshold = 9.0', '"gnmax"\nsigma = 9.0'
    )
    (weather / "run.toml").write_text(text)
    settings = RunFile.load(weather / "run.toml")
    before = set(weather.rglob("*"))
    with (
        pytest.raises(DataError, match=r"gnmax is for one class .* the data has several labels"),
        provisional_folder(settings) as folder,
    ):
        Run(settings, folder).execute()
    assert set(weather.rglob("*")) == before, "nothing is left behind"


def test_a_label_without_answers_is_reported(weather: Path) -> None:
    """Nobody agrees on the weather of a coin: its label is never answered."""
    text = RUNFILE.replace("sigma_threshold = 9.0", "sigma_threshold = 1.0")
    text = text.replace("threshold = 30.0", "threshold = 38.0")
    text = text.replace("epsilon = 12.0", "epsilon = 90.0").replace("[run]", "[run]\nseed = 1")
    text = text.replace("seed = 1", "seed = 1\nexperiment = true")
    rows = (weather / "private.csv").read_text().splitlines()
    coin = np.random.default_rng(0).integers(0, 2, len(rows))
    changed = [f"{row.rpartition(',')[0]},{flip}" for row, flip in zip(rows, coin, strict=True)]
    (weather / "private.csv").write_text("\n".join([rows[0], *changed[1:]]) + "\n")
    (weather / "run.toml").write_text(text)
    settings = RunFile.load(weather / "run.toml")
    result = Run(settings, create_folder(settings)).execute()
    (warning,) = [text for text in result.warnings if "no answer" in text]
    assert "'cold'" in warning
    assert "'wet'" not in warning
    assert np.all(result.student.predict(result.dataset.X_public)[:, 2] == 0)


def test_forests_vote_on_labels_together() -> None:
    pate = classifier(BinaryVoting(9.0), teacher=RandomForestClassifier(5), n_teachers=15)
    assert pate.ensemble_.teachers[0].model.together is not None

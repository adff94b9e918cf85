"""PateClassifier: labels, students, guarantees, and what it refuses."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from ballotine import (
    Budget,
    ConfidentGNMax,
    DeltaWarning,
    GNMax,
    Kind,
    PateClassifier,
)
from ballotine.errors import (
    AbstainedError,
    DataError,
    InsufficientBudgetError,
    LedgerMismatchError,
    ParameterError,
)
from ballotine.pipeline.assumptions import CLASSES_FROM_PRIVATE, PREPARED_ELSEWHERE

CENTRES = [[0, 0], [5, 0], [0, 5]]
X, Y = make_blobs(n_samples=900, centers=CENTRES, random_state=1)
PRIVATE, PUBLIC = slice(0, 500), slice(500, 900)
NAMES = np.array(["blue", "green", "red"])
BUDGET = Budget(5.0, 1e-5)


def classifier(**changes: object) -> PateClassifier:
    settings: dict[str, object] = {
        "n_teachers": 40,
        "mechanism": GNMax(8.0),
        "budget": BUDGET,
        "classes": ["red", "green", "blue"],
        "random_state": 3,
    }
    return PateClassifier(**(settings | changes)).fit(X[PRIVATE], NAMES[Y[PRIVATE]])


def test_the_whole_road() -> None:
    pate = classifier()
    answers = pate.label(X[PUBLIC])
    assert answers.answered.sum() > 30
    assert not answers.asked.all(), "the budget ends before the pool"
    right = answers.named[answers.answered] == NAMES[Y[PUBLIC]][answers.answered]
    assert right.mean() > 0.9
    pate.distill(X[PUBLIC], answers)
    assert pate.score(X[PUBLIC], NAMES[Y[PUBLIC]]) > 0.9
    assert pate.predict_proba(X[PUBLIC]).shape == (400, 3)
    assert pate.guarantee_.epsilon <= BUDGET.epsilon


def test_fit_and_the_student_spend_nothing() -> None:
    pate = classifier()
    assert pate.guarantee_.epsilon == 0
    answers = pate.label(X[PUBLIC][:20])
    spent = pate.guarantee_.epsilon
    assert spent > 0
    pate.distill(X[PUBLIC][:20], answers).predict(X[PUBLIC])
    assert pate.guarantee_.epsilon == spent


def test_the_same_row_has_the_same_answer() -> None:
    pate = classifier(random_state=None)
    rows = X[PUBLIC][:15]
    first = pate.predict(rows)
    spent = pate.guarantee_.epsilon
    assert np.array_equal(pate.predict(rows), first)
    assert np.array_equal(pate.predict(rows[::-1]), first[::-1])
    assert pate.guarantee_.epsilon == spent


def test_the_guarantee_says_what_it_rests_on() -> None:
    pate = classifier()
    pate.label(X[PUBLIC][:20])
    text = str(pate.guarantee_)
    assert "one private record replaced" in text
    assert "δ = 1e-05" in text
    assert "seeded: for experiments only" in text
    # Who gave the arrays may have looked at all records: this cannot be seen from here.
    assert pate.guarantee_.kind is Kind.CONDITIONAL
    assert pate.guarantee_.assumptions[0] == PREPARED_ELSEWHERE
    assert "seeded" not in str(classifier(random_state=None).guarantee_)


@pytest.mark.parametrize(
    ("change", "word"), [({"classes": None}, "classes"), ({"partition": "stratified"}, "labels")]
)
def test_what_was_learnt_from_private_labels_makes_it_conditional(
    change: dict[str, object], word: str
) -> None:
    guarantee = classifier(**change).guarantee_
    assert guarantee.kind is Kind.CONDITIONAL
    assert word in guarantee.assumptions[0]
    assert guarantee.assumptions[0] not in classifier().guarantee_.assumptions


def test_a_parameter_that_is_changed_after_fit_changes_no_assumption() -> None:
    pate = classifier(classes=None)
    before = pate.guarantee_
    assert CLASSES_FROM_PRIVATE in before.assumptions
    pate.set_params(classes=NAMES, partition="random", mechanism=GNMax(1e6), random_state=1)
    assert pate.guarantee_ == before


def test_abstentions_and_empty_budgets_are_errors_when_a_class_is_demanded() -> None:
    shy = classifier(mechanism=ConfidentGNMax(8.0, 60.0, 10.0))
    with pytest.raises(AbstainedError, match="abstained on") as abstained:
        shy.predict(X[PUBLIC][:10])
    assert 0 < abstained.value.abstained <= 10
    with pytest.raises(InsufficientBudgetError, match="one costs"):
        classifier().predict(X[PUBLIC])


def test_a_ledger_file_is_shared_by_all_fits_on_the_same_rows(tmp_path: Path) -> None:
    path = tmp_path / "rows.sqlite"
    first = classifier(ledger=path)
    first.label(X[PUBLIC][:10])
    second = classifier(ledger=path, teacher=LogisticRegression())
    assert second.guarantee_.epsilon == first.guarantee_.epsilon > 0
    second.label(X[PUBLIC][:10])
    assert second.ledger_.spending().recorded == 20
    same = classifier(ledger=path)
    same.label(X[PUBLIC][:10])
    assert same.ledger_.spending().recorded == 20, "the same ensemble, the same queries"
    with pytest.raises(LedgerMismatchError, match="another data set"):
        PateClassifier(n_teachers=4, budget=BUDGET, ledger=path).fit(X[PUBLIC], Y[PUBLIC])


def test_a_pickled_classifier_shares_its_ledger_file(tmp_path: Path) -> None:
    pate = classifier(ledger=tmp_path / "rows.sqlite")
    twin = pickle.loads(pickle.dumps(pate))
    assert np.array_equal(twin.predict(X[PUBLIC][:10]), pate.predict(X[PUBLIC][:10]))
    assert pate.ledger_.spending().recorded == 10


def test_a_seed_repeats_everything() -> None:
    noisy = {"teacher": RandomForestClassifier(5), "mechanism": GNMax(20.0)}
    runs = [classifier(**noisy).label(X[PUBLIC]) for _ in range(2)]
    assert np.array_equal(runs[0].labels, runs[1].labels)
    other = classifier(**noisy, random_state=4).label(X[PUBLIC])
    assert not np.array_equal(runs[0].labels, other.labels)


def test_data_frames_are_welcome() -> None:
    import pandas as pd

    frame = pd.DataFrame(X, columns=["a", "b"])
    pate = PateClassifier(n_teachers=10, mechanism=GNMax(3.0), budget=Budget(50.0, 1e-5))
    pate.fit(frame[PRIVATE], pd.Series(NAMES[Y[PRIVATE]]))
    assert list(pate.feature_names_in_) == ["a", "b"]
    assert len(pate.label(frame[PUBLIC][:5])) == 5


def test_bad_input_is_one_clear_sentence() -> None:
    with pytest.raises(ParameterError, match="no default"):
        PateClassifier().fit(X, Y)
    with pytest.raises(ValueError, match="minimum of 40 is required"):
        PateClassifier(n_teachers=40, budget=BUDGET).fit(X[:30], Y[:30])
    with pytest.raises(DataError, match="not among the given classes"):
        PateClassifier(n_teachers=4, budget=BUDGET, classes=[0, 1]).fit(X, Y)
    with pytest.raises(DataError, match="one class"):
        PateClassifier(n_teachers=4, budget=BUDGET).fit(X, np.zeros(900))
    with pytest.raises(ValueError, match="NaN"):
        PateClassifier(n_teachers=4, budget=BUDGET).fit(np.where(X > 4, np.nan, X), Y)
    with pytest.raises(NotFittedError):
        PateClassifier(budget=BUDGET).label(X)
    with pytest.raises(ValueError, match="3 features"):
        classifier().label(np.zeros((2, 3)))
    pate = classifier()
    five = pate.label(X[:5])
    with pytest.raises(DataError, match="answers for 10 public rows"):
        pate.distill(X[:10], five)
    with pytest.raises(ParameterError, match="random_state"):
        classifier(random_state="seven")


def test_a_large_delta_is_pointed_out() -> None:
    with pytest.warns(DeltaWarning, match="1/n"):
        PateClassifier(n_teachers=4, budget=Budget(8.0, 0.01)).fit(X, Y)


def test_a_class_that_teachers_never_saw() -> None:
    rare = np.where(np.arange(500) < 3, 2, Y[PRIVATE] % 2)
    pate = PateClassifier(n_teachers=40, mechanism=GNMax(8.0), budget=BUDGET, random_state=0)
    pate.fit(X[PRIVATE], rare)
    assert len(pate.classes_) == 3
    assert pate.label(X[PUBLIC][:5]).answered.all()

"""Many students on the same answers: who is given what, how settings are chosen, who is ahead."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.dummy import DummyClassifier

from ballotine.privacy import plan
from ballotine.privacy.events import GaussianArgmax
from ballotine.privacy.guarantee import Budget
from ballotine_reproduction import find
from ballotine_reproduction.experiment import Setting
from ballotine_reproduction.individualized import sets
from ballotine_reproduction.individualized.students import panels
from ballotine_reproduction.multiwinner.accounts import binary
from ballotine_reproduction.multiwinner.sets import MADE_UP
from ballotine_reproduction.student import (
    kinds,
    label_students,
    menu,
    one_label,
    small_sets,
    trials,
)
from ballotine_reproduction.student.menu import DEFAULT, MENU, MenuEntry
from ballotine_reproduction.student.repetitions import repetitions
from ballotine_reproduction.student.trials import Comparison, Trial


def made_trial(seed: int = 0, rows: int = 12, ones: int = 7) -> Trial:
    """Rows of one feature; of ten judging rows so many are of class 1."""
    X = np.arange(rows, dtype=np.float64)[:, None]
    given = np.full(rows, -1)
    given[:4] = [0, 1, 1, 0]
    truth = np.zeros(rows, dtype=np.int64)
    y_test = (np.arange(10) < ones).astype(np.int64)
    return Trial(seed, X, given, truth, np.zeros((10, 1)), y_test)


def constant(name: str, *values: int) -> MenuEntry:
    """A student that always says the same; its settings are what."""
    made: Any = lambda value: DummyClassifier(strategy="constant", constant=value)  # noqa: E731
    return MenuEntry(name, made, tuple({"value": value} for value in values))


def test_answered_rows_and_wrong_answers() -> None:
    one = made_trial()
    assert one.answered == 4
    assert one.wrong == 0.5
    labels = np.array([[0, 1], [-1, 1], [-1, -1]])
    several = replace(one, X=one.X[:3], answers=labels, truth=np.array([[0, 0], [0, 1], [1, 1]]))
    assert several.answered == 2
    assert several.wrong == pytest.approx(1 / 3)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.booleans(), min_size=1, max_size=30), st.integers(1, 40))
def test_answered_rows_come_first_where_not_all_are_given(has: list[bool], most: int) -> None:
    found = np.where(has, 1, -1)
    trial = replace(made_trial(), X=np.zeros((len(has), 1)), answers=found)
    rows = MenuEntry("", DummyClassifier, most=most).rows(trial)
    assert len(rows) == min(most, len(has))
    assert len(set(rows.tolist())) == len(rows)
    assert np.count_nonzero(found[rows] > 0) == min(most, sum(has))
    assert np.all(np.diff(rows) > 0)
    assert len(MenuEntry("", DummyClassifier).rows(trial)) == len(has)


def test_networks_take_the_same_number_of_steps() -> None:
    trial = replace(made_trial(), X=np.zeros((1000, 1)), answers=np.repeat([1, -1], [250, 750]))
    epochs = {e.name: e.student({}, trial, False).epochs for e in MENU if e.epoch is not None}
    assert epochs.pop("Supervised") == epochs.pop("CoTeaching") == round(menu.STEPS / 3)
    assert set(epochs) == {"VAT", "MixMatch", "FixMatch"}
    assert set(epochs.values()) == {menu.STEPS // 10}
    assert MENU[-1].student({}, trial, True).epochs == menu.QUICK_STEPS // 10


def test_the_default_is_that_of_the_pipeline() -> None:
    entry = next(each for each in MENU if each.name == DEFAULT)
    student = entry.student(entry.settings[0], made_trial(), False)
    assert type(student).__name__ == DEFAULT
    assert student.get_params() == type(student)().get_params()


@pytest.mark.parametrize("each", small_sets.SETS, ids=lambda each: each.name)
def test_small_sets_ask_what_their_budget_affords(each: small_sets.Small) -> None:
    trial = small_sets.trial(each, 0)
    asked = trial.answered
    classes = int(trial.truth.max()) + 1
    event = GaussianArgmax(each.sigma, classes)
    allowed = small_sets.BUDGET
    assert plan.epsilon_of([(event, asked)], allowed.delta) <= allowed.epsilon
    assert plan.epsilon_of([(event, asked + 1)], allowed.delta) > allowed.epsilon
    assert np.all(trial.answers[:asked] >= 0)
    assert np.all(trial.answers[asked:] == -1)
    assert trial.wrong < 0.5 * (1 - 1 / classes)
    X, _ = each.load(return_X_y=True)
    assert len(trial.X) + len(trial.X_test) + each.teachers * each.records == len(X)
    assert float(np.mean(np.sum(trial.X**2, axis=1))) == pytest.approx(1.0)
    np.testing.assert_array_equal(small_sets.trial(each, 0).answers, trial.answers)
    assert not np.array_equal(small_sets.trial(each, 1).answers, trial.answers)


def test_labels_are_those_of_the_other_experiment(tmp_path: Path) -> None:
    setting = Setting(quick=True, seeds=1, cache=tmp_path)
    cases = list(trials.several(setting))
    assert [case.account for case in cases] == list(label_students.ACCOUNTS)
    repetition, _ = repetitions(MADE_UP, replace(setting, seeds=2))
    for case in cases:
        (trial,) = case.trials
        choice = label_students.Choice(trials.LABEL_SIGMAS[MADE_UP.name][case.account], 1.0)
        taught = label_students.teach(
            repetition, binary(repetition.election), choice, Budget(20.0, 1e-5), case.account
        )
        assert trial.answered == taught.queries < len(trial.X)
        assert trial.wrong == pytest.approx(taught.wrong)
        np.testing.assert_array_equal(trial.X, repetition.rows.X_public)
        assert case.spare.seed != trial.seed


def test_adults_labels_are_those_of_the_other_experiment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"QUICK_RECORDS": 30, "QUICK_PUBLIC": 900, "QUICK_TEST": 100}.items():
        monkeypatch.setattr(sets, name, value)
    setting = Setting(quick=True, seeds=1, cache=tmp_path)
    strict, exact = trials.adult(setting)
    held = list(panels(setting, sets.adult(setting)))
    counts = [row[3] for row in one_label.students(held, trials.TABLE_BUDGET)]
    assert counts == [str(case.trials[0].answered) for case in (strict, exact)]
    assert strict.trials[0].answered < exact.trials[0].answered
    for case in (strict, exact):
        assert case.trials[0].wrong < 0.25
        assert len(case.trials[0].X) == 900
    # What strict costs allow is also released under exact ones.
    first, more = strict.trials[0].answers, exact.trials[0].answers
    np.testing.assert_array_equal(more[first >= 0], first[first >= 0])


def test_the_spare_seed_chooses_one_setting_for_all_cases() -> None:
    def case(ones: int) -> Comparison:
        return Comparison(
            "tables", "", 1.0, "strict", (made_trial(0, ones=10),), made_trial(1, ones=ones)
        )

    entry = constant("constant", 0, 1)
    setting = Setting()
    assert kinds.choose(entry, [case(3)], setting) == {"value": 0}
    assert kinds.choose(entry, [case(7)], setting) == {"value": 1}
    assert kinds.choose(entry, [case(3), case(9)], setting) == {"value": 1}
    assert kinds.choose(entry, [case(5)], setting) == {"value": 0}
    assert kinds.choose(entry, [case(9)], replace(setting, quick=True)) == {"value": 0}


def test_who_is_ahead_is_counted_seed_by_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kinds, "MENU", (constant(DEFAULT, 0), constant("other", 1)))
    cases = [
        Comparison(
            "tables", name, 2.0, "strict", (made_trial(0, ones=a), made_trial(1, ones=b)), spare
        )
        for (name, a, b), spare in zip([("A", 6, 8), ("B", 8, 8)], [made_trial()] * 2, strict=True)
    ]
    table = [dict(zip(kinds.COLUMNS, row, strict=True)) for row in _compared(cases)]
    ahead = {(row["set"], row["student"]): row["ahead of the default"] for row in table}
    assert ahead["A", DEFAULT] is None
    # Gains of 0.2 and 0.6: a deviation of 0.283 over √2, times t = 12.706 with one degree.
    assert ahead["A", "other"] == "0.400 ± 2.541"
    assert ahead["B", "other"] == "0.600 ± 0.000"
    assert ahead["all", "other"] == "0.500 ± 1.271"
    accuracy = {(row["set"], row["student"]): row["accuracy"] for row in table}
    assert accuracy["A", "other"] == "0.700 ± 0.141"
    assert accuracy["all", DEFAULT] == "0.250 ± 0.071"
    assert {row["AUC"] for row in table} == {None}


def _compared(cases: list[Comparison]) -> list[tuple[Any, ...]]:
    return kinds.compared("tables", cases, Setting())


def test_no_student_sees_what_is_right() -> None:
    trial = small_sets.trial(small_sets.CANCER, 0)
    entry = next(each for each in MENU if each.name == "random forest")
    found = kinds.judge(entry, {}, trial)
    turned = replace(trial, truth=1 - trial.truth, y_test=1 - trial.y_test)
    assert kinds.judge(entry, {}, turned).scores["accuracy"] == pytest.approx(
        1 - found.scores["accuracy"]
    )
    assert found.scores["accuracy"] > 0.8


@pytest.mark.papers
def test_every_student_in_its_quick_form() -> None:
    table = find("student", "kinds").run(Setting(quick=True, seeds=3))
    found = table.to_dict()["rows"]
    assert {row["set"] for row in found} == {"all", "digits", "breast cancer", "made-up"}
    tables = [row for row in found if row["set"] == "digits"]
    assert [row["student"] for row in tables] == [entry.name for entry in MENU]
    accuracy = {row["student"]: float(row["accuracy"]) for row in tables}
    for student in (DEFAULT, "logistic regression", "SVC", "random forest", "LabelSpreading"):
        assert accuracy[student] > 0.5
    labels = [row for row in found if row["set"] == "made-up" and row["account"] == "exact"]
    assert [row["student"] for row in labels] == [entry.name for entry in MENU if entry.labels]
    auc = {row["student"]: float(row["AUC"]) for row in labels}
    for student in (DEFAULT, "logistic regression", "SVC", "random forest", "Supervised"):
        assert auc[student] > 0.6
    assert "means little" in table.notes[0]

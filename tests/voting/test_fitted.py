"""Models that were trained elsewhere: their ballots, their name, and answers through a ledger."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from ballotine.errors import ParameterError
from ballotine.ledger import Ledger, verify
from ballotine.noise import SecureNoise, SeededNoise
from ballotine.privacy.guarantee import Budget, Kind
from ballotine.voting import BinaryVoting, FittedModels, GNMax
from ballotine.voting.content_digest import digest
from ballotine.voting.promise import guarantee_of
from tests.voting.sessions import affordable, open_session, rules_for

X, Y = make_blobs(n_samples=900, centers=[[0, 0], [6, 0], [0, 6]], random_state=1)
NAMES = np.array(["birch", "oak", "pine"])
TEACHERS, PUBLIC = 20, slice(600, 900)


def trained(kind: Any = GaussianNB, teachers: int = TEACHERS) -> list[Any]:
    """One model for each share of the first 600 rows, by somebody who never heard of ballots."""
    shares = np.array_split(np.arange(600), teachers)
    return [kind().fit(X[share], NAMES[Y[share]]) for share in shares]


class Broken:
    """Fails on rows to the right of the middle, and says on which."""

    def predict(self, rows: np.ndarray) -> np.ndarray:
        if np.any(rows[:, 0] > 3):
            raise ValueError(f"cannot look at {rows.tolist()}")
        return np.repeat("pine", len(rows))


class Says:
    """Answers every row alike."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def predict(self, rows: np.ndarray) -> Any:
        found = np.empty(len(rows), dtype=object)
        found[:] = [self.answer] * len(rows)
        return found


def test_ballots_are_what_the_models_say_in_public_class_numbers() -> None:
    models = trained()
    voters = FittedModels(models, ["pine", "oak", "birch"])
    assert len(voters) == TEACHERS
    expected = np.array([[{"pine": 0, "oak": 1, "birch": 2}[name] for name in model.predict(X)]
                         for model in models]).T  # fmt: skip
    assert np.array_equal(voters.ballots(X), expected)


@pytest.mark.parametrize("classes", [[0, 1, 2], [0.0, 1.0, 2.0], [2, 0, 1]])
def test_numbers_are_classes_too(classes: list[Any]) -> None:
    model = GaussianNB().fit(X, Y)
    cast = FittedModels([model], classes).ballots(X)[:, 0]
    assert np.array_equal(np.array(classes)[cast], model.predict(X))


@pytest.mark.parametrize(
    "answer", ["willow", 7, None, np.nan, [1, 2], {"oak": 1}, float("inf")], ids=repr
)
def test_whoever_names_no_class_votes_for_the_first(answer: Any) -> None:
    voters = FittedModels([*trained(teachers=2), Says(answer)], NAMES)
    assert voters.ballots(X[PUBLIC]).shape == (300, 3)
    assert np.all(voters.ballots(X[PUBLIC])[:, 2] == 0)


def test_a_model_that_fails_still_votes_and_each_row_gets_its_own_ballot() -> None:
    """How many vote is public; what one row does to a model may not touch the row beside it."""
    voters = FittedModels([*trained(teachers=2), Broken()], NAMES)
    right = X[:, 0] > 3
    cast = voters.ballots(X)[:, 2]
    assert np.all(cast[right] == 0)
    assert np.all(cast[~right] == 2)
    for rows in (X[:7], X[::-1], X[right]):
        assert np.array_equal(voters.ballots(rows), [voters.ballots(row[None])[0] for row in rows])


def test_warnings_of_models_stay_inside() -> None:
    class Chatty(Says):
        def predict(self, rows: np.ndarray) -> Any:
            warnings.warn(f"saw {rows[0, 0]}", stacklevel=1)
            return super().predict(rows)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.all(FittedModels([Chatty("oak")], NAMES).ballots(X[:5]) == 1)


LABELS = ["left", "low"]
L = np.stack([X[:, 0] < 3, X[:, 1] < 3], axis=1).astype(int)


def labelled(teachers: int = TEACHERS) -> list[Any]:
    shares = np.array_split(np.arange(600), teachers)
    return [MultiOutputClassifier(GaussianNB()).fit(X[share], L[share]) for share in shares]


class Chances:
    """Gives probabilities, some of them impossible."""

    def predict(self, rows: np.ndarray) -> np.ndarray:
        return np.stack([np.full(len(rows), 0.6), np.where(rows[:, 0] > 3, 2.0, 0.9)], axis=1)


def test_several_labels_and_probabilities() -> None:
    models = labelled(3)
    cast = FittedModels(models, LABELS, multilabel=True).ballots(X)
    assert np.array_equal(cast, np.stack([model.predict(X) for model in models], axis=1))
    for threshold, named in ((None, [1, 1]), (0.5, [1, 1]), (0.7, [0, 1]), (0.95, [0, 0])):
        voters = FittedModels([Chances()], LABELS, multilabel=True, threshold=threshold)
        left = X[:, 0] <= 3
        assert np.array_equal(voters.ballots(X)[left, 0], np.tile(named, (left.sum(), 1)))
        assert not voters.ballots(X)[~left, 0].any(), "nothing is named where it makes no sense"
    for bad in (Says("oak"), Broken()):
        assert not FittedModels([bad], LABELS, multilabel=True).ballots(X[600:700]).any()


@pytest.mark.parametrize(
    ("models", "classes", "more", "word"),
    [
        ([], NAMES, {}, "at least one model"),
        ([1], ["one"], {}, "at least two classes"),
        ([1], ["a", "a"], {}, "each of them once"),
        ([1], NAMES, {"threshold": 1.5}, "between 0 and 1"),
        ([lambda rows: rows], NAMES, {}, "cannot be identified"),
    ],
)
def test_what_is_refused(models: Any, classes: Any, more: dict[str, Any], word: str) -> None:
    with pytest.raises(ParameterError, match=word):
        FittedModels(models, classes, **more)


MODELS = [
    GaussianNB(),
    LogisticRegression(),
    SVC(),
    KNeighborsClassifier(3),
    RandomForestClassifier(5, random_state=0),
    GradientBoostingClassifier(n_estimators=3, random_state=0),
    MLPClassifier(3, max_iter=300, tol=0.1, random_state=0),
    make_pipeline(StandardScaler(), RandomForestClassifier(3, random_state=0)),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_a_stored_model_has_the_name_it_had(model: Any, tmp_path: Path) -> None:
    """Else the same rows would be asked, and paid for, once more."""
    model.fit(X[:200], NAMES[Y[:200]])
    joblib.dump(model, tmp_path / "model.joblib")
    copy = pickle.loads(pickle.dumps(model))
    copies = [copy, pickle.loads(pickle.dumps(copy)), joblib.load(tmp_path / "model.joblib")]
    assert {digest(each) for each in copies} == {digest(model)}
    model.fit(X[:201], NAMES[Y[:201]])
    assert digest(model) != digest(copy), "one record more, another model"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 1.0),
        (1, True),
        ("1", 1),
        ("ab", b"ab"),
        ([1, 2], [2, 1]),
        ([1, 2], (1, 2)),
        ([[1], 2], [[1, 2]]),
        ({"a": 1}, {"a": 2}),
        ({1, 2}, {1, 3}),
        (np.array([1, 2]), np.array([[1, 2]])),
        (np.array([1, 2]), np.array([1.0, 2.0])),
        (np.array([1], "u4"), np.array([1], "i4")),
        (np.array([1, None]), np.array([1, 2], dtype=object)),
        (np.array([(1, 2)], "i1,f8"), np.array([(1, 3)], "i1,f8")),
        (GaussianNB(), GaussianNB(var_smoothing=1e-8)),
        (int, float),
        (np.random.RandomState(0), np.random.RandomState(1)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_differs_has_another_name(one: Any, other: Any) -> None:
    assert digest(one) != digest(other)
    assert digest([one, 1]) != digest([other, 1])
    assert digest({"x": one}) != digest({"x": other})


def test_what_is_equal_has_one_name() -> None:
    numbers = np.arange(12).reshape(3, 4)
    assert digest(numbers) == digest(np.asfortranarray(numbers)) == digest(numbers[:, ::1])
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    shared = ["x"]
    assert digest([shared, shared]) == digest([["x"], ["x"]])
    ring: list[Any] = [1]
    ring.append(ring)
    again: list[Any] = [1]
    again.append(again)
    assert digest(ring) == digest(again) != digest([1, [1]])


def test_another_model_is_another_ensemble() -> None:
    models = trained()
    voters = FittedModels(models, NAMES)
    assert FittedModels(list(models), NAMES.tolist()).identity == voters.identity
    others = [
        FittedModels([*models[1:], models[0]], NAMES),
        FittedModels([*models[:-1], GaussianNB().fit(X[570:599], NAMES[Y[570:599]])], NAMES),
        FittedModels(models, NAMES[::-1]),
        FittedModels(models[:-1], NAMES),
        FittedModels(models, NAMES, multilabel=True),
        FittedModels(models, NAMES, threshold=0.4),
    ]
    assert len({each.identity for each in [voters, *others]}) == 7


def test_who_is_trained_again_has_no_vote_under_the_old_name() -> None:
    """Else turns of several ensembles would be counted as those of one."""
    models = trained()
    voters = FittedModels(models, NAMES)
    before = voters.ballots(X[PUBLIC])
    for model in models:
        model.fit(X[:600], NAMES[(Y[:600] + 1) % 3])
    models[0] = Says("oak")
    assert np.array_equal(voters.ballots(X[PUBLIC]), before)
    assert FittedModels(voters.models, NAMES).identity == voters.identity
    assert FittedModels(models, NAMES).identity != voters.identity


def test_answers_are_paid_once_and_carry_a_guarantee(tmp_path: Path) -> None:
    path, budget = tmp_path / "trees.sqlite", Budget(8.0, 1e-5)
    voters = FittedModels(trained(), NAMES)
    rules = rules_for(GNMax(6.0), voters, 3, budget)
    with open_session(rules, voters, SecureNoise(), path, names=NAMES) as session:
        answers = session.answer(X[PUBLIC])
        assert answers.asked.sum() == affordable(GNMax(6.0), 3, budget)
        right = answers.named == NAMES[Y[PUBLIC]]
        assert np.mean(right[answers.answered]) > 0.75
        guarantee = guarantee_of(
            session.ledger, session.noise, conditional=("a record was seen by one model at most",)
        )
        assert guarantee.epsilon == 8.0
        assert guarantee.kind is Kind.CONDITIONAL
        assert guarantee.assumptions == ("a record was seen by one model at most",)
    # Later, in another process, with models from a file.
    stored = FittedModels(pickle.loads(pickle.dumps(voters.models)), NAMES)
    with open_session(rules, stored, SecureNoise(), path, names=NAMES) as session:
        again = session.answer(X[PUBLIC])
        assert np.array_equal(again.labels, answers.labels)
        assert session.ledger.spending().asked == answers.asked.sum()
        verify(session.ledger)


def test_two_ensembles_on_one_ledger_add_up() -> None:
    budget = Budget(40.0, 1e-5)
    first, second = FittedModels(trained(), NAMES), FittedModels(trained(LogisticRegression), NAMES)
    rules = rules_for(GNMax(6.0), first, 3, budget)
    ledger = Ledger.open(None, rules.promise())
    spent = []
    for voters in (first, second):
        open_session(rules, voters, SeededNoise(0), ledger).answer(X[PUBLIC][:30])
        spent.append(ledger.spending().cost(np.array([8.0]))[0])
    assert spent[1] == pytest.approx(2 * spent[0])


def test_several_labels_through_the_ledger() -> None:
    voters = FittedModels(labelled(), LABELS, multilabel=True)
    rules = rules_for(BinaryVoting(4.0), voters, 2, Budget(9.0, 1e-5))
    answers = open_session(rules, voters, names=LABELS).answer(X[PUBLIC])
    assert answers.labels.shape == (300, 2)
    given = answers.labels >= 0
    assert given.any()
    assert np.mean(answers.labels[given] == L[PUBLIC][given]) > 0.85

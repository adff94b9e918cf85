"""Several labels and individual budgets together: in Python, in a run file, on the card."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from ballotine import Budget, PateClassifier
from ballotine.errors import ParameterError
from ballotine.ledger import Ledger
from ballotine.ledger.charge import cost_of
from ballotine.pipeline import BiasWarning, Run, RunFile, create_folder
from ballotine.pipeline.group_spending import spending_by_group
from ballotine.privacy.conversion import epsilon
from ballotine.privacy.orders import DEFAULT_ORDERS
from ballotine.report import build_card, write_card
from ballotine.voting import BinaryVoting, ClippedVoting, Dependencies, Mechanism, PowersetVoting
from ballotine.voting.individual import SCHEMES, Upsampling, Vanishing, Weighting
from tests.pipeline.test_multilabel import (
    NAMES,
    PRIVATE,
    PUBLIC,
    RUNFILE,
    TEST,
    X,
    Y,
    weather,  # noqa: F401
)

BUDGETS = {"strict": 8.0, "middle": 12.0, "open": 16.0}
GROUPS = np.array(list(BUDGETS))[np.arange(900) % 3]
MECHANISMS = [
    BinaryVoting(9.0, 30.0, 9.0),
    BinaryVoting(9.0, dependencies=Dependencies((None, 0, None))),
    ClippedVoting(9.0, 1.2),
    PowersetVoting(6.0),
]


def classifier(
    mechanism: Mechanism, individual: Any, groups: Any = GROUPS, **changes: Any
) -> PateClassifier:
    settings: dict[str, Any] = {
        "teacher": GaussianNB(),
        "n_teachers": 45,
        "mechanism": mechanism,
        "individual": individual,
        "delta": 1e-5,
        "student": LogisticRegression(),
        "classes": NAMES,
        "random_state": 1,
    }
    return PateClassifier(**(settings | changes)).fit(X[PRIVATE], Y[PRIVATE], groups)


@pytest.mark.parametrize("kind", SCHEMES.values(), ids=SCHEMES)
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: m.describe()[:60])
def test_the_whole_pipeline_by_every_method(mechanism: Mechanism, kind: Any) -> None:
    pate = classifier(mechanism, kind(BUDGETS))
    answers = pate.label(X[PUBLIC])
    assert answers.asked.sum() > 3
    assert not answers.asked.all(), "the first budget ends before the pool"
    given = answers.labels >= 0
    assert np.mean(answers.labels[given] == Y[PUBLIC][given]) > 0.7
    pate.distill(X[PUBLIC], answers)
    assert pate.score(X[TEST], Y[TEST]) > 0.6
    assert {group.name: group.budget for group in pate.guarantee_.groups} == BUDGETS
    accounts = spending_by_group(pate.ledger_, pate.procedure_)
    assert any(account.ended for account in accounts)
    assert all(0 < account.charged <= account.budget for account in accounts)
    again = classifier(mechanism, kind(BUDGETS)).label(X[PUBLIC])
    assert np.array_equal(again.labels, answers.labels)


def test_every_group_is_charged_for_how_far_its_records_reach() -> None:
    pate = classifier(MECHANISMS[0], Weighting(BUDGETS))
    answers = pate.label(X[PUBLIC])
    asked, plan = answers.labels[answers.asked], pate.procedure_.plan
    for group, account in zip(
        plan.groups, spending_by_group(pate.ledger_, pate.procedure_), strict=True
    ):
        curve = np.zeros(len(DEFAULT_ORDERS))
        for row in asked:
            events = plan.mechanism.realised(row[None], 3, group.reach)
            curve += cost_of(tuple(events.elements()), DEFAULT_ORDERS)
        assert account.charged == pytest.approx(epsilon(DEFAULT_ORDERS, curve, 1e-5)[0], rel=1e-3)


@pytest.mark.parametrize("kind", SCHEMES.values(), ids=SCHEMES)
def test_equal_budgets_are_standard_voting(kind: Any) -> None:
    plain = classifier(MECHANISMS[2], None, None, delta=None, budget=Budget(12.0, 1e-5))
    groups = np.array(["a", "b"])[np.arange(900) % 2]
    same = classifier(MECHANISMS[2], kind({"a": 12.0, "b": 12.0}), groups)
    assert np.array_equal(same.label(X[PUBLIC]).labels, plain.label(X[PUBLIC]).labels)


def test_records_without_privacy_bring_their_labels_to_the_student() -> None:
    groups = np.where(np.arange(900) < 90, "free", "kept")
    pate = classifier(MECHANISMS[2], Vanishing({"kept": 12.0, "free": "none"}), groups)
    learnt = {int(record) for share in pate.partition_.shares for record in share}
    assert learnt == set(range(90, 900))
    pate.distill(X[PUBLIC], pate.label(X[PUBLIC]))
    assert pate.score(X[TEST], Y[TEST]) > 0.7


def test_a_label_that_goes_with_budgets_is_told_to_the_holder() -> None:
    linked = np.where(Y[PRIVATE][:, 2] == 1, "open", "strict")
    with pytest.warns(BiasWarning, match="are associated"):
        classifier(MECHANISMS[2], Weighting({"strict": 8.0, "open": 16.0}), linked)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        classifier(MECHANISMS[2], Weighting(BUDGETS))


def test_what_has_no_exact_cost_stops_before_anything_is_paid(tmp_path: Path) -> None:
    """Paper mode prices data-dependently: for sets of labels and weights nobody can."""
    path = tmp_path / "l.sqlite"
    with pytest.raises(ParameterError, match="no published data-dependent cost"):
        classifier(MECHANISMS[3], Weighting(BUDGETS), mode="paper", ledger=path)
    with Ledger.existing(path) as ledger:
        assert ledger.spending().asked == 0
    answers = classifier(MECHANISMS[2], Upsampling(BUDGETS), mode="paper").label(X[PUBLIC][:3])
    assert answers.asked.any()


@pytest.fixture
def people(weather: Path) -> Path:  # noqa: F811
    """The table of labels with a column that names each record's group."""
    lines = (weather / "private.csv").read_text().splitlines()
    rows = [f"{row},{'young' if place % 3 else 'old'}" for place, row in enumerate(lines[1:])]
    (weather / "private.csv").write_text("\n".join([f"{lines[0]},who", *rows]) + "\n")
    return weather


@pytest.mark.parametrize("mechanism", ["binary", "clipped"])
@pytest.mark.parametrize("method", SCHEMES)
def test_a_run_file_with_labels_and_groups(people: Path, method: str, mechanism: str) -> None:
    text = RUNFILE.replace("epsilon = 12.0\n", "")
    if mechanism == "clipped":
        text = text.replace('"binary"', '"clipped"\ntau = 1.2')
    text += f'[budget.groups]\nyoung = 12.0\nold = 6\n[individual]\nmethod = "{method}"\n'
    (people / "run.toml").write_text(text + 'column = "who"\n')
    settings = RunFile.load(people / "run.toml")
    assert RunFile.parse(settings.to_toml(), "again") == settings
    folder = create_folder(settings)
    result = Run(settings, folder).execute()
    card = build_card(result)
    write_card(folder, card)
    young, old = card["individual"]["groups"]
    assert (young["budget"], old["budget"]) == (12.0, 6.0)
    assert young["ended"] or old["ended"]
    assert 0 < old["epsilon"] <= 6.0
    assert [row["label"] for row in card["answers"]["by_label"]] == NAMES
    assert "young" in folder.card_text.read_text()
    with Ledger.existing(people / "l.sqlite") as ledger:
        budgets = {name: budget.epsilon for name, budget in ledger.terms.budgets}
    assert budgets == {"young": 12.0, "old": 6.0}

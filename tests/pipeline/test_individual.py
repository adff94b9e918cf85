"""Individual budgets on the whole road: in Python, in a run file, on the card."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from ballotine import Budget, GNMax, PateClassifier
from ballotine.data import row_keys
from ballotine.errors import DataError, LedgerMismatchError, ParameterError
from ballotine.ledger import Ledger
from ballotine.pipeline import BiasWarning, Run, RunFile, create_folder
from ballotine.pipeline.group_spending import spending_by_group
from ballotine.report import build_card, write_card
from ballotine.voting import LNMax
from ballotine.voting.individual import SCHEMES, Upsampling, Vanishing, Weighting

X, Y = make_blobs(n_samples=900, centers=[[0, 0], [5, 0], [0, 5]], random_state=1)
PRIVATE, PUBLIC = slice(0, 600), slice(600, 900)
GROUPS = np.array(["strict", "middle", "open"])[np.arange(600) % 3]
BUDGETS = {"strict": 2.0, "middle": 3.0, "open": 4.0}


def classifier(individual: Any = None, groups: Any = None, **changes: Any) -> PateClassifier:
    settings: dict[str, Any] = {
        "n_teachers": 40,
        "mechanism": GNMax(8.0),
        "individual": individual,
        "classes": [0, 1, 2],
        "random_state": 3,
    }
    settings |= {"budget": Budget(3.0, 1e-5)} if individual is None else {"delta": 1e-5}
    return PateClassifier(**(settings | changes)).fit(X[PRIVATE], Y[PRIVATE], groups)


@pytest.mark.parametrize("kind", SCHEMES.values(), ids=SCHEMES)
def test_the_whole_road_by_every_method(kind: Any) -> None:
    pate = classifier(kind(BUDGETS), GROUPS)
    answers = pate.label(X[PUBLIC])
    assert answers.answered.sum() > 5
    assert not answers.asked.all(), "the first budget ends before the pool"
    pate.distill(X[PUBLIC], answers)
    guarantee = pate.guarantee_
    assert {group.name: group.budget for group in guarantee.groups} == BUDGETS
    assert all(0 < group.epsilon <= group.budget for group in guarantee.groups)
    accounts = spending_by_group(pate.ledger_, pate.procedure_)
    assert any(account.ended for account in accounts)
    assert [account.records for account in accounts] == [200, 200, 200]
    assert all(account.charged <= account.budget for account in accounts)


@pytest.mark.parametrize("kind", SCHEMES.values(), ids=SCHEMES)
@pytest.mark.parametrize("budgets", [{"all": 3.0}, {"a": 3.0, "b": 3.0}], ids=["one", "equal"])
def test_equal_budgets_are_standard_pate(kind: Any, budgets: dict[str, float]) -> None:
    groups = np.array(list(budgets))[np.arange(600) % len(budgets)]
    plain = classifier().label(X[PUBLIC])
    assert 0 < plain.asked.sum() < 300
    same = classifier(kind(budgets), groups).label(X[PUBLIC])
    assert np.array_equal(same.labels, plain.labels)


def test_groups_weigh_differently_when_budgets_differ() -> None:
    weighted = classifier(Weighting(BUDGETS), GROUPS)
    plan = weighted.procedure_.plan
    weights = [group.reach.weight for group in plan.groups]
    assert weights == sorted(weights)
    assert weights[0] < 1 < weights[-1]
    turned = classifier(Weighting(BUDGETS), np.roll(GROUPS, 1))
    keys = row_keys(X[PUBLIC])
    ids = [c.procedure_.rules.query_ids(keys, c._voters.identity) for c in (weighted, turned)]
    assert not set(ids[0]) & set(ids[1]), "other members, other teachers, other queries"
    # The weights alone do not tell them apart: who is in which group does.
    assert weighted.procedure_.rules == turned.procedure_.rules


def test_upsampling_gives_records_several_teachers() -> None:
    pate = classifier(Upsampling(BUDGETS), GROUPS)
    seen = np.bincount(np.concatenate(pate.partition_.shares), minlength=600)
    copies = {name: set(seen[name == GROUPS]) for name in BUDGETS}
    assert all(len(found) == 1 for found in copies.values())
    assert min(copies["strict"]) < min(copies["open"])
    assert len(pate.ensemble_) > 40
    assert "as many teachers" in str(pate.guarantee_)


def test_records_without_privacy_go_straight_to_the_student() -> None:
    groups = np.where(np.arange(600) < 60, "free", "kept")
    pate = classifier(Vanishing({"kept": 1.0, "free": "none"}), groups)
    learnt = {int(record) for share in pate.partition_.shares for record in share}
    assert learnt == set(range(60, 600))
    few = pate.label(X[PUBLIC][:4])
    pate.distill(X[PUBLIC][:4], few)
    rows = {tuple(row) for row in pate.student_.voters_._fit_X}
    assert {tuple(row) for row in X[:60]} <= rows
    (text,) = [t for t in pate.guarantee_.assumptions if "no privacy" in t]
    assert "'free'" in text
    assert pate.guarantee_.budget == Budget(1.0, 1e-5)


def test_the_ledger_belongs_to_the_budgets(tmp_path: Path) -> None:
    path = tmp_path / "l.sqlite"
    first = classifier(Weighting(BUDGETS), GROUPS, ledger=path)
    first.label(X[PUBLIC][:5])
    again = classifier(Weighting(BUDGETS), GROUPS, ledger=path)
    again.label(X[PUBLIC][:5])
    assert again.ledger_.spending().recorded == 5, "the same queries"
    with pytest.raises(LedgerMismatchError):
        classifier(Weighting(BUDGETS | {"open": 5.0}), GROUPS, ledger=path)


def test_bias_is_told_to_the_holder() -> None:
    linked = np.where(Y[PRIVATE] == 0, "strict", "open")
    with pytest.warns(BiasWarning, match="are associated") as told:
        classifier(Weighting({"strict": 1.0, "open": 2.0}), linked)
    assert not any(c.isdigit() for c in str(told[0].message))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        classifier(Weighting({"strict": 1.0, "open": 1.0}), linked)  # nobody weighs more
        pate = classifier(Weighting(BUDGETS), GROUPS)
    assert any("weigh more" in note for note in pate.guarantee_.notes)


def test_what_does_not_go_together() -> None:
    scheme = Weighting(BUDGETS)
    with pytest.raises(ParameterError, match="leave budget out"):
        classifier(scheme, GROUPS, budget=Budget(1.0, 1e-5))
    with pytest.raises(ParameterError, match="give delta"):
        classifier(scheme, GROUPS, delta=None)
    with pytest.raises(ParameterError, match="already contains δ"):
        classifier(delta=1e-5)
    with pytest.raises(DataError, match="give groups"):
        classifier(scheme)
    with pytest.raises(ParameterError, match="no individual budgets"):
        classifier(groups=GROUPS)
    with pytest.raises(DataError, match="without a budget"):
        classifier(scheme, np.where(GROUPS == "open", "other", GROUPS))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        classifier(scheme, GROUPS[:10])
    with pytest.raises(ParameterError, match="random partition"):
        classifier(scheme, GROUPS, partition="stratified")
    with pytest.raises(ParameterError, match="not with lnmax"):
        classifier(scheme, GROUPS, mechanism=LNMax(0.1))
    with pytest.raises(ParameterError, match="do not work in fixed mode"):
        classifier(scheme, GROUPS, mode="fixed", queries=3)


RUNFILE = """
[run]
name = "table"
folder = "out"
[data]
private = "private.csv"
public = "public.csv"
test = "test.csv"
target = "label"
[teachers]
number = 20
kind = "logistic-regression"
options = { C = 100.0 }
jobs = 1
[voting]
mechanism = "confident-gnmax"
sigma = 8.0
threshold = 14.0
sigma_threshold = 12.0
[budget]
delta = 1e-5
ledger = "private.ledger.sqlite"
[budget.groups]
young = 8.0
old = "low"
[individual]
method = "weighting"
column = "who"
"""


@pytest.fixture
def people(table: Path) -> Path:
    """The made-up table with a column that names each record's group by age, hence class."""
    lines = (table / "private.csv").read_text().splitlines()
    rows = [f"{row},{'young' if int(row.split(',')[0]) < 50 else 'old'}" for row in lines[1:]]
    (table / "private.csv").write_text("\n".join([f"{lines[0]},who", *rows]) + "\n")
    (table / "run.toml").write_text(RUNFILE)
    return table


def test_a_run_with_individual_budgets(people: Path) -> None:
    settings = RunFile.load(people / "run.toml")
    folder = create_folder(settings)
    result = Run(settings, folder).execute()
    card = build_card(result)
    write_card(folder, card)
    assert "who" not in (result.dataset.feature_names or ())
    young, old = card["individual"]["groups"]
    assert (young["name"], young["budget"], old["budget"]) == ("young", 8.0, 3.0)
    assert young["records"] + old["records"] == 600
    assert young["ended"] or old["ended"]
    assert 0 < old["epsilon"] <= 3.0
    assert card["individual"]["method"] == "weighting"
    assert card["guarantee"]["groups"][0]["name"] in ("young", "old")
    with Ledger.existing(people / "private.ledger.sqlite") as ledger:
        budgets = {name: budget.epsilon for name, budget in ledger.terms.budgets}
    assert budgets == {"young": 8.0, "old": 3.0}
    # Age decides the group and the class: the holder is told, the card is not.
    assert any("are associated" in text for text in result.holder_warnings)
    for path in (folder.card, folder.card_text, folder.report, folder.log):
        assert "are associated" not in path.read_text()
    assert "young" in folder.card_text.read_text()


def test_the_warning_of_an_experiment_is_on_its_card(people: Path) -> None:
    text = RUNFILE.replace("[run]", "[run]\nexperiment = true\nseed = 1")
    (people / "run.toml").write_text(text)
    settings = RunFile.load(people / "run.toml")
    card = build_card(Run(settings, create_folder(settings)).execute())
    assert any("are associated" in text for text in card["warnings"])


def test_the_command_line_says_which_group_ended_it(people: Path, ballotine: Any) -> None:
    ended = ballotine("run", "run.toml")
    assert ended.returncode == 0, ended.stderr
    assert "which ended answering" in ended.stdout
    assert "are associated" in ended.stderr
    card = json.loads((people / "out" / "card.json").read_text())
    assert card["run"]["name"] == "table"


def test_a_file_of_groups_and_resolved_paths(people: Path) -> None:
    lines = (people / "private.csv").read_text().splitlines()
    rows = [line.rpartition(",") for line in lines]
    (people / "private.csv").write_text("\n".join(row[0] for row in rows) + "\n")
    (people / "groups.csv").write_text("\n".join(row[2] for row in rows) + "\n")
    text = RUNFILE.replace('column = "who"', 'groups = "groups.csv"\nrule = "proportional"')
    (people / "run.toml").write_text(text)
    settings = RunFile.load(people / "run.toml")
    assert settings.individual.groups == people / "groups.csv"
    assert RunFile.parse(settings.to_toml(), "again") == settings
    result = Run(settings, create_folder(settings)).execute()
    assert build_card(result)["configuration"]["individual"]["groups"] == "groups.csv"
    plan = result.procedure.plan
    weights = {group.name: group.reach.weight for group in plan.groups}
    assert weights["young"] / weights["old"] == pytest.approx(8 / 3, rel=1e-4)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("delta = 1e-5", "delta = 1e-5\nepsilon = 1.0", r"\[budget\] give either epsilon"),
        ('"low"', '"lowest"', r"\[budget\] groups\.old: a budget must be a number"),
        ("young = 8.0", "young = -1", r"\[budget\] groups\.young: a group's ε must be positive"),
        ('"weighting"', '"wishing"', r"\[individual\] method: "),
        ('method = "weighting"', "", r"\[individual\] column needs a method"),
        ('column = "who"', "", r"\[individual\] give either column"),
        ('column = "who"', 'column = "who"\nprecision = 0.1', "weighting does not use precision"),
        ('column = "who"', 'column = "who"\nrule = "none"', "unknown rule 'none'"),
        ("[voting]", '[partition]\nkind = "stratified"\n[voting]', r"\[partition\] kind: indiv"),
        (
            '"confident-gnmax"\nsigma = 8.0\nthreshold = 14.0\nsigma_threshold = 12.0',
            '"lnmax"\ngamma = 0.1',
            r"\[individual\] individual budgets work with gnmax",
        ),
        ('[budget.groups]\nyoung = 8.0\nold = "low"\n', "epsilon = 3\n", r"\[budget\] groups is"),
        ('[individual]\nmethod = "weighting"\ncolumn = "who"\n', "", r"\[individual\] method is m"),
        ("delta = 1e-5", 'delta = 1e-5\nmode = "fixed"', r"\[budget\] in fixed mode .* groups out"),
    ],
)
def test_errors_name_the_key(old: str, new: str, expected: str) -> None:
    assert old in RUNFILE
    with pytest.raises(ParameterError, match=expected) as problem:
        RunFile.parse(RUNFILE.replace(old, new, 1), "run.toml")
    assert "\n" not in str(problem.value)

"""Strict, fixed and paper: when answering stops, and what is said about it."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.naive_bayes import GaussianNB

from ballotine import Budget, GNMax, Kind, PateClassifier
from ballotine.errors import InsufficientBudgetError, ParameterError
from ballotine.ledger import EVERYONE, Ledger, Mode, Terms
from ballotine.pipeline import Run, RunFile, create_folder, open_folder
from ballotine.pipeline.procedure import Procedure, Rules
from ballotine.report import build_card, write_card
from ballotine.voting import LNMax
from ballotine.voting.publication import Publication, fixed_terms, plan_publication

X, Y = make_blobs(n_samples=1000, centers=[[0, 0], [6, 6]], random_state=0)
PRIVATE, PUBLIC = slice(0, 700), slice(700, 850)
QUERIES = 150
DELTA = 1e-5
MECHANISM = GNMax(12.0)
once = cache(plan_publication)
"""Planning takes seconds, and is the same every time."""


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Plans once for all tests; counts how often a plan was asked for."""
    calls: list[int] = []

    def choose(*settings: Any) -> tuple[Publication, float]:
        calls.append(1)
        return once(*settings)

    monkeypatch.setattr("ballotine.pipeline.procedure.plan_publication", choose)
    return calls


def fixed(**changes: Any) -> PateClassifier:
    settings: dict[str, Any] = {
        "teacher": GaussianNB(),
        "n_teachers": 60,
        "mechanism": MECHANISM,
        "mode": "fixed",
        "queries": QUERIES,
        "delta": DELTA,
        "classes": [0, 1],
        "random_state": 2,
    }
    return PateClassifier(**(settings | changes)).fit(X[PRIVATE], Y[PRIVATE])


@pytest.mark.usefixtures("planned")
def test_a_fixed_number_of_queries_gets_a_published_epsilon() -> None:
    pate = fixed()
    half = pate.label(X[PUBLIC][:75])
    assert half.answered.all()
    before = pate.guarantee_
    assert (before.kind, before.mode) == (Kind.DATA_INDEPENDENT, "fixed")
    assert any("not been published" in note for note in before.notes)
    whole = pate.label(X[PUBLIC])
    assert np.array_equal(whole.labels[:75], half.labels)
    after = pate.guarantee_
    assert after.kind is Kind.SANITISED
    assert after.epsilon < pate.ledger_.budget.epsilon
    statement = pate.ledger_.spending().statement
    assert statement is not None
    assert after.epsilon == statement["epsilon"]
    pate.label(X[PUBLIC])
    assert pate.ledger_.spending().statement == statement, "once, and for good"


@pytest.mark.usefixtures("planned")
def test_fixed_rows_are_neither_more_nor_answered_twice() -> None:
    pate = fixed()
    pate.label(X[PUBLIC][:148])
    with pytest.raises(ParameterError, match=r"150 queries were fixed .* would make 151"):
        pate.label(X[848:851])
    assert pate.ledger_.spending().asked == 148
    twice = pate.label(np.vstack([X[PUBLIC][146:], X[PUBLIC][146:]]))
    assert np.array_equal(twice.labels[:4], twice.labels[4:])
    assert pate.ledger_.spending().recorded == QUERIES
    assert pate.ledger_.spending().statement is not None


def test_a_second_process_keeps_the_plan_of_the_ledger(tmp_path: Path, planned: list[int]) -> None:
    path = tmp_path / "l.sqlite"
    fixed(ledger=path).label(X[PUBLIC][:40])
    assert len(planned) == 1
    again = fixed(ledger=path)
    assert len(planned) == 1, "the plan stands in the ledger"
    again.label(X[PUBLIC])
    assert again.guarantee_.kind is Kind.SANITISED


def test_queries_of_another_ensemble_are_never_in_the_published_epsilon(
    tmp_path: Path, planned: list[int]
) -> None:
    """Their votes are not at hand: the ceiling stands, and nothing smaller is said."""
    path = tmp_path / "l.sqlite"
    fixed(ledger=path).label(X[PUBLIC][:40])
    other = fixed(ledger=path, random_state=9)
    answers = other.label(X[PUBLIC])
    assert answers.asked.sum() == QUERIES - 40
    assert other.ledger_.spending().recorded == QUERIES
    assert other.ledger_.spending().statement is None
    assert other.guarantee_.kind is Kind.DATA_INDEPENDENT
    assert len(planned) == 1


def test_the_terms_are_those_of_the_plan(tmp_path: Path, planned: list[int]) -> None:
    rules = Rules(MECHANISM, 60, Mode.FIXED, delta=DELTA, queries=QUERIES)
    procedure = Procedure.settle(rules, 2, None)
    terms = procedure.terms(None)
    publication, _ = once(MECHANISM, 60, 2, QUERIES, DELTA)
    assert terms == fixed_terms(MECHANISM, publication, QUERIES, DELTA)
    assert Publication.from_json(terms.plan) == publication
    with Ledger.open(tmp_path / "strict.sqlite", Budget(1.0, DELTA)):
        assert procedure.terms(tmp_path / "strict.sqlite") == terms
    assert len(planned) == 2


def test_what_the_modes_need() -> None:
    budget = Budget(1.0, DELTA)
    with pytest.raises(ParameterError, match="unknown mode 'loose'; choose one of strict, fixed"):
        fixed(mode="loose")
    with pytest.raises(ParameterError, match="leave budget out"):
        fixed(budget=budget)
    with pytest.raises(ParameterError, match="number of queries, beforehand"):
        fixed(queries=None)
    with pytest.raises(ParameterError, match="only the fixed mode"):
        fixed(mode="strict", budget=budget, delta=None)
    with pytest.raises(ParameterError, match="works with gnmax and confident-gnmax, not with ln"):
        fixed(mechanism=LNMax(0.1))
    with pytest.raises(ParameterError, match="no default"):
        fixed(mode="paper", queries=None)


def paper(**changes: Any) -> PateClassifier:
    settings = {"mode": "paper", "queries": None, "delta": None, "budget": Budget(1.0, DELTA)}
    return fixed(**(settings | changes))


def test_paper_mode_stops_elsewhere_and_says_so() -> None:
    pate = paper()
    assert pate.ledger_.terms == Terms(((EVERYONE, Budget(1.0, DELTA)),), Mode.PAPER)
    papers = pate.label(X[PUBLIC])
    strict = fixed(mode="strict", queries=None, delta=None, budget=Budget(1.0, DELTA))
    own = strict.label(X[PUBLIC])
    assert 0 < own.asked.sum() < papers.asked.sum() < QUERIES
    asked = own.asked
    assert np.array_equal(papers.labels[asked], own.labels[asked]), "the same noise"
    assert pate.guarantee_.kind is Kind.NOT_RELEASABLE
    assert any("nothing protects it" in note for note in pate.guarantee_.notes)


RUNFILE = """
[run]
name = "blobs"
folder = "out"
experiment = true
seed = 2
[data]
private = "private.npz"
public = "public.npz"
test = "test.npz"
classes = [0, 1]
[teachers]
number = 60
kind = "naive-bayes"
jobs = 1
[voting]
mechanism = "gnmax"
sigma = 12.0
[budget]
delta = 1e-5
mode = "fixed"
[student]
kind = "logistic-regression"
"""


@pytest.fixture
def blobs(tmp_path: Path) -> Path:
    """Files of the same rows; one public row stands there twice."""
    public = np.vstack([X[PUBLIC], X[PUBLIC][:1]])
    np.savez(tmp_path / "private.npz", X=X[PRIVATE], y=Y[PRIVATE])
    np.savez(tmp_path / "public.npz", X=public)
    np.savez(tmp_path / "test.npz", X=X[850:], y=Y[850:])
    (tmp_path / "run.toml").write_text(RUNFILE)
    return tmp_path


def test_a_fixed_run_publishes_and_resumes(blobs: Path, planned: list[int]) -> None:
    settings = RunFile.load(blobs / "run.toml")
    folder = create_folder(settings)
    result = Run(settings, folder).execute()
    card = build_card(result)
    write_card(folder, card)
    assert card["guarantee"]["kind"] == "sanitised"
    assert card["guarantee"]["mode"] == "fixed"
    assert card["published"]["failure"] == DELTA / 10
    assert card["accounted_epsilon"] > card["guarantee"]["epsilon"]
    with Ledger.existing(folder.ledger) as ledger:
        assert ledger.terms.queries == 150, "a row that occurs twice is one query"
    report = folder.report.read_text()
    assert "sanitised, fixed mode, for this data set and its neighbours" in report
    again = Run(settings, open_folder(folder.root)[0]).execute()
    assert build_card(again)["guarantee"] == card["guarantee"]
    assert len(planned) == 1
    # The same rows in Python, under the same seed.
    pate = fixed()
    answers = pate.label(X[PUBLIC])
    assert np.array_equal(result.answers.labels[:150], answers.labels)
    assert pate.ledger_.budget == result.guarantee.budget
    again_card = json.loads(folder.card.read_text())
    assert again_card["guarantee"]["assumptions"] == list(result.guarantee.assumptions)


@pytest.mark.usefixtures("planned")
def test_a_spent_fixed_ledger_answers_nothing_more(blobs: Path) -> None:
    text = RUNFILE.replace('mode = "fixed"', 'mode = "fixed"\nledger = "l.sqlite"')
    (blobs / "run.toml").write_text(text)
    settings = RunFile.load(blobs / "run.toml")
    Run(settings, create_folder(settings)).execute()
    other = settings.with_changes(folder=blobs / "two", seed=77)
    with pytest.raises(InsufficientBudgetError):
        Run(other, create_folder(other)).execute()


def test_a_paper_run_carries_a_red_banner(blobs: Path, ballotine: Any) -> None:
    text = RUNFILE.replace('mode = "fixed"', 'mode = "paper"\nepsilon = 1.0')
    (blobs / "run.toml").write_text(text)
    ended = ballotine("run", "run.toml")
    assert ended.returncode == 0, ended.stderr
    assert "neither the answers nor the student may leave" in ended.stdout
    card = json.loads((blobs / "out" / "card.json").read_text())
    assert card["guarantee"]["kind"] == "not releasable"
    page = (blobs / "out" / "report.html").read_text()
    head = page.partition("<header")[0]
    assert "<strong>Not releasable.</strong>" in head
    assert "Nothing is promised" in page
    assert "makes no released outcome" not in page
    assert "Signature" not in page
    assert "makes no released outcome" not in (blobs / "out" / "card.md").read_text()


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('mode = "fixed"', 'mode = "fixed"\nepsilon = 1', r"\[budget\] in fixed mode .* epsilon"),
        ('mode = "fixed"', 'mode = "loose"', r"\[budget\] mode: "),
        ('mode = "fixed"', 'mode = "strict"', r"\[budget\] epsilon is missing"),
        ('mode = "fixed"', 'mode = "paper"', r"\[budget\] epsilon is missing"),
        (
            '"gnmax"\nsigma = 12.0',
            '"lnmax"\ngamma = 0.1',
            r"\[budget\] the fixed mode works with gnmax",
        ),
    ],
)
def test_errors_name_the_key(old: str, new: str, expected: str) -> None:
    assert old in RUNFILE
    with pytest.raises(ParameterError, match=expected):
        RunFile.parse(RUNFILE.replace(old, new, 1), "run.toml")


def test_paper_mode_is_for_experiments() -> None:
    text = RUNFILE.replace("experiment = true\nseed = 2\n", "")
    real = text.replace('mode = "fixed"', 'mode = "paper"\nepsilon = 1\nledger = "l.sqlite"')
    with pytest.raises(ParameterError, match=r"\[budget\] mode: .*experiment = true"):
        RunFile.parse(real, "run.toml")


def test_paper_mode_counts_what_was_asked_before() -> None:
    """Asking in two parts stops where asking at once does."""
    whole = paper().label(X[PUBLIC])
    parts = paper()
    first = parts.label(X[PUBLIC][:20])
    rest = parts.label(X[PUBLIC][20:])
    assert np.array_equal(np.concatenate([first.labels, rest.labels]), whole.labels)

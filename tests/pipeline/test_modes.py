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
from sklearn.neighbors import KNeighborsClassifier

from ballotine import Budget, GNMax, Kind, PateClassifier
from ballotine.errors import DataError, LedgerMismatchError, ParameterError
from ballotine.ledger import EVERYONE, Ledger, Mode, Terms, verify
from ballotine.pipeline import Run, RunFile, create_folder, open_folder
from ballotine.pipeline.procedure import Procedure, Request
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

    monkeypatch.setattr("ballotine.voting.publication.plan_publication", choose)
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


def interrupt(pate: PateClassifier, monkeypatch: pytest.MonkeyPatch) -> None:
    """Label until somebody presses Ctrl-C, after the first chunk."""
    recorded, calls = Ledger.record, []

    def record(*arguments: Any, **more: Any) -> Any:
        calls.append(1)
        if len(calls) > 1:
            raise KeyboardInterrupt
        return recorded(*arguments, **more)

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "record", record)
        with pytest.raises(KeyboardInterrupt):
            pate.label(X[PUBLIC])


@pytest.mark.usefixtures("planned")
def test_a_fixed_number_of_queries_gets_a_published_epsilon(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pate = fixed()
    interrupt(pate, monkeypatch)
    before = pate.guarantee_
    assert (before.kind, before.mode) == (Kind.CONDITIONAL, "fixed")
    assert any("not been published" in note for note in before.notes)
    half = pate.ledger_.spending()
    assert (half.recorded, half.pending) == (64, 64)
    whole = pate.label(X[PUBLIC])
    assert whole.answered.all()
    assert pate.ledger_.spending().asked == QUERIES, "what was paid for is not paid again"
    after = pate.guarantee_
    assert after.kind is Kind.SANITISED
    assert after.epsilon < pate.ledger_.budget.epsilon
    statement = pate.ledger_.spending().statement
    assert statement is not None
    assert after.epsilon == statement["epsilon"]
    pate.label(X[PUBLIC])
    assert pate.ledger_.spending().statement == statement, "once, and for good"
    again = pate.label(X[PUBLIC][:75])
    assert np.array_equal(again.labels, whole.labels[:75])


@pytest.mark.usefixtures("planned")
def test_fixed_rows_are_neither_more_nor_fewer_nor_answered_twice() -> None:
    pate = fixed()
    head = pate.ledger_.head()
    for rows in (X[PUBLIC][:148], X[699:850], X[PUBLIC][[0] * QUERIES]):
        with pytest.raises(ParameterError, match=r"150 queries were fixed .* all of them at once"):
            pate.label(rows)
    assert pate.ledger_.head() == head, "nothing was paid for"
    twice = pate.label(np.vstack([X[PUBLIC], X[PUBLIC][146:]]))
    assert np.array_equal(twice.labels[146:150], twice.labels[150:])
    assert pate.ledger_.spending().recorded == QUERIES
    assert pate.ledger_.spending().statement is not None
    head = pate.ledger_.head()
    with pytest.raises(ParameterError, match="150 queries were fixed"):
        pate.label(X[848:851])
    assert pate.ledger_.head() == head


def test_some_of_the_rows_may_be_asked_again_before_an_epsilon_is_published(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pate = fixed()

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "publish", stop)
        with pytest.raises(KeyboardInterrupt):
            pate.label(X[PUBLIC])
    assert pate.label(X[PUBLIC][:10]).asked.all()
    assert pate.ledger_.spending().statement is None
    assert pate.guarantee_.kind is not Kind.SANITISED
    pate.label(X[PUBLIC])
    assert pate.ledger_.spending().statement is not None


def test_a_second_process_keeps_the_plan_of_the_ledger(
    tmp_path: Path, planned: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "l.sqlite"
    interrupt(fixed(ledger=path), monkeypatch)
    assert len(planned) == 1
    again = fixed(ledger=path)
    assert len(planned) == 1, "the plan stands in the ledger"
    again.label(X[PUBLIC])
    assert again.guarantee_.kind is Kind.SANITISED


@pytest.mark.parametrize(
    ("change", "rows", "word"),
    [
        ({"random_state": 9}, PUBLIC, "fixed beforehand, and these are not the same"),
        ({}, slice(701, 851), "fixed beforehand, and these are not the same"),
        ({"teacher": KNeighborsClassifier(1)}, PUBLIC, "these are not the same"),
        ({"mechanism": GNMax(24.0)}, PUBLIC, "mechanism was fixed beforehand"),
        ({"delta": 1e-6}, PUBLIC, "δ was fixed beforehand"),
        ({"queries": 151}, slice(700, 851), "number of queries was fixed beforehand"),
        ({"n_teachers": 61}, PUBLIC, "number of teachers was fixed beforehand"),
        (
            {"mode": "strict", "queries": None, "delta": None, "budget": Budget(9.0, DELTA)},
            PUBLIC,
            "in fixed mode",
        ),
    ],
    ids=["ensemble", "rows", "teacher", "sigma", "delta", "queries", "teachers", "mode"],
)
@pytest.mark.usefixtures("planned")
def test_a_fixed_ledger_pays_for_nothing_but_what_it_was_begun_with(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    change: dict[str, Any],
    rows: slice,
    word: str,
) -> None:
    """Its published ε is about these queries; others would be in the file and not in the ε."""
    path = tmp_path / "l.sqlite"
    interrupt(fixed(ledger=path), monkeypatch)
    with Ledger.existing(path) as ledger:
        head = ledger.head()
    with pytest.raises(LedgerMismatchError, match=word):
        fixed(ledger=path, **change).label(X[rows])
    with Ledger.existing(path) as ledger:
        assert ledger.head() == head
    again = fixed(ledger=path)
    again.label(X[PUBLIC])
    assert again.guarantee_.kind is Kind.SANITISED


def test_a_strict_ledger_that_has_paid_takes_no_fixed_queries(
    tmp_path: Path, planned: list[int]
) -> None:
    path, strict = tmp_path / "l.sqlite", {"mode": "strict", "queries": None, "delta": None}
    first = fixed(ledger=path, **strict, budget=Budget(9.0, DELTA))
    first.label(X[PUBLIC][:3])
    head = first.ledger_.head()
    with pytest.raises(LedgerMismatchError, match="strict mode, not in fixed mode"):
        fixed(ledger=path)
    assert first.ledger_.head() == head
    assert planned == []


def test_the_terms_are_those_of_the_plan(tmp_path: Path, planned: list[int]) -> None:
    request = Request(MECHANISM, 60, Mode.FIXED, delta=DELTA, queries=QUERIES)
    promise = Procedure.settle(request, 2, None, 700).rules.promise()
    terms = promise.settle()
    publication, _ = once(MECHANISM, 60, 2, QUERIES, DELTA)
    assert terms == fixed_terms(MECHANISM, publication, QUERIES, DELTA)
    assert Publication.from_json(terms.plan) == publication
    assert promise.disagreement(terms) is None
    # A ledger that has paid for nothing takes another promise.
    with Ledger.open(tmp_path / "strict.sqlite", Budget(1.0, DELTA)) as ledger:
        assert promise.disagreement(ledger.terms) is not None
    with Ledger.open(tmp_path / "strict.sqlite", promise) as ledger:
        assert ledger.terms == terms
    assert len(planned) == 2


@pytest.mark.usefixtures("planned")
def test_the_ceiling_holds_for_answers_and_publication_together() -> None:
    """At the ledger's own order: all queries, each at its worst, and the published number."""
    pate = fixed()
    pate.label(X[PUBLIC])
    publication, _ = once(MECHANISM, 60, 2, QUERIES, DELTA)
    terms = pate.ledger_.terms
    ((_, order),) = terms.orders
    at = np.array([order])
    # A number that moves by one unit beside noise of σ units costs α/(2σ²).
    number = order / (2 * publication.sigma**2)
    each = sum(float(event.cost(at)[0]) for event in MECHANISM.events(2))
    total = QUERIES * each + number
    # A tenth of δ pays for the failure of the publication's noise.
    price = np.log(1 - 1 / order) - np.log(0.9 * DELTA * order) / (order - 1)
    assert pate.ledger_.spending().cost(at)[0] == pytest.approx(total, rel=1e-12)
    assert total + price <= terms.loosest.epsilon
    assert total + price == pytest.approx(terms.loosest.epsilon, rel=1e-6)
    assert pate.ledger_.spending().epsilon() <= terms.loosest.epsilon
    verify(pate.ledger_)


def test_what_the_modes_need() -> None:
    budget = Budget(1.0, DELTA)
    with pytest.raises(ParameterError, match="unknown mode 'loose'; choose one of strict, fixed"):
        fixed(mode="loose")
    with pytest.raises(ParameterError, match="leave budget out"):
        fixed(budget=budget)
    with pytest.raises(ParameterError, match="number of queries in advance"):
        fixed(queries=None)
    with pytest.raises(ParameterError, match="for fixed mode only"):
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
    terms = Terms(((EVERYONE, Budget(1.0, DELTA)),), Mode.PAPER)
    assert pate.ledger_.terms == terms.planned()
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


def test_a_run_states_no_more_queries_than_there_are_rows(blobs: Path) -> None:
    text = RUNFILE.replace("sigma = 12.0", "sigma = 12.0\nmax_queries = 152")
    (blobs / "run.toml").write_text(text)
    settings = RunFile.load(blobs / "run.toml")
    folder = create_folder(settings)
    with pytest.raises(DataError, match="would ask 152 public rows, but there are only 151"):
        Run(settings, folder).execute()
    assert not folder.ledger.exists()


@pytest.mark.usefixtures("planned")
def test_a_spent_fixed_ledger_answers_nothing_more(blobs: Path) -> None:
    text = RUNFILE.replace('mode = "fixed"', 'mode = "fixed"\nledger = "l.sqlite"')
    (blobs / "run.toml").write_text(text)
    settings = RunFile.load(blobs / "run.toml")
    Run(settings, create_folder(settings)).execute()
    other = settings.with_changes(folder=blobs / "two", seed=77)
    with Ledger.existing(blobs / "l.sqlite") as ledger:
        head = ledger.head()
    with pytest.raises(LedgerMismatchError, match="these are not the same"):
        Run(other, create_folder(other)).execute()
    with Ledger.existing(blobs / "l.sqlite") as ledger:
        assert ledger.head() == head


def test_a_paper_run_carries_a_red_banner(blobs: Path, ballotine: Any) -> None:
    text = RUNFILE.replace('mode = "fixed"', 'mode = "paper"\nepsilon = 1.0')
    (blobs / "run.toml").write_text(text)
    ended = ballotine("run", "run.toml")
    assert ended.returncode == 0, ended.stderr
    assert "release neither the answers nor the student" in ended.stdout
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
            r"\[budget\] fixed mode works with gnmax",
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

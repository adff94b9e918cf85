"""Errors about private input say what is wrong, and repeat none of it."""

from __future__ import annotations

import json
import re
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

from ballotine import PateClassifier
from ballotine.data import DataSpec, Schema, load
from ballotine.data.ballots import open_votes
from ballotine.data.schema import ColumnSchema
from ballotine.errors import BallotineError, InsufficientBudgetError, LedgerTamperedError
from ballotine.ledger import Ledger, verify
from ballotine.noise import QueryNoise, SecureNoise
from ballotine.privacy import envelope, exact, published, smooth
from ballotine.privacy.guarantee import Budget
from ballotine.voting import (
    BinaryVoting,
    ConfidentGNMax,
    GNMax,
    LabelTallies,
    Plan,
    PowersetVoting,
    Rules,
    StudentTallies,
    SubsetTallies,
    Tallies,
    cast_labels,
)
from ballotine.voting.account import Accountant
from ballotine.voting.publication import places_of, plan_publication
from ballotine.voting.saved import SavedVotes, vote
from tests.edited import copy_ledger, edit_ledger
from tests.private.search import Wanted
from tests.private.voters import BALLOTS, CLASSES, TALLIES, TEACHERS, private_rows, public_rows
from tests.private.walk import walk
from tests.voting.sessions import cast, open_session, rules_for

WANTED = Wanted.votes(BALLOTS, TALLIES)
MARK = 73913
"""A number that stands for what is private: no message may hold it."""
WORD = f"p{MARK}"
ORDERS = np.array([2.0, 8.0])


def spoilt(value: float, rows: np.ndarray = TALLIES) -> np.ndarray:
    """Counts or ballots with one impossible cell among marked ones."""
    votes = rows.astype(np.float64)
    votes[0, 0], votes[1, 1] = MARK, value
    return votes


def file(folder: Path, votes: np.ndarray) -> Path:
    np.save(folder / "votes.npy", votes)
    return folder / "votes.npy"


def read(path: Path, **options: Any) -> None:
    votes = SavedVotes.of(open_votes(path), GNMax(2.0), CLASSES, **options)
    plan = Plan.standard_of(GNMax(2.0), votes.teachers, 1e-5, 1.0)
    for chunk in votes.chunks():
        Accountant(plan, "exact", SecureNoise()).add(chunk, CLASSES, 1e-5)


def answer(path: Path, teachers: int = TEACHERS, **options: Any) -> None:
    votes = SavedVotes.of(open_votes(path), GNMax(2.0), CLASSES, **options)
    plan = Plan.standard_of(GNMax(2.0), teachers, 1e-5, 1.0)
    vote(votes, Rules(plan, CLASSES), None, SecureNoise())


def words(folder: Path) -> Path:
    """A Parquet file with somebody's word among the ballots."""
    table = pa.table({"a": ["1", WORD], "b": ["2", "3"]})
    pq.write_table(table, folder / "words.parquet")
    return folder / "words.parquet"


def fit(X: Any, y: Any, **changes: Any) -> None:
    settings = {"n_teachers": 4, "budget": Budget(1.0, 1e-3), **changes}
    PateClassifier(**settings).fit(X, y)


def table(folder: Path, lines: list[str], classes: tuple[str, ...] | None = None) -> None:
    """Load a private table, the public one being in order."""
    (folder / "private.csv").write_text("\n".join(["age,label", *lines]) + "\n")
    (folder / "public.csv").write_text("age\n30\n40\n")
    schema = Schema(columns={"age": ColumnSchema(low=0, high=120)}, target="label", classes=classes)
    load(DataSpec(private=folder / "private.csv", public=folder / "public.csv", schema=schema))


def interrupted(tallies: Tallies) -> None:
    """Answer with a mechanism that expects other tallies."""
    BinaryVoting(2.0).release(tallies, QueryNoise(SecureNoise(), [b"a"]))


CASES: dict[str, Callable[[Path], object]] = {
    "tallies of one axis": lambda _: Tallies(TALLIES[0]),
    "tallies of NaN": lambda _: Tallies(spoilt(np.nan)),
    "tallies below 0": lambda _: Tallies(spoilt(-MARK)),
    "ballots of one axis": lambda _: Tallies.of(BALLOTS[0], CLASSES),
    "ballots outside": lambda _: Tallies.of(spoilt(MARK, BALLOTS).astype(np.int64), CLASSES),
    "ballots of too few classes": lambda _: Tallies.of(BALLOTS, 3),
    "label tallies too large": lambda _: LabelTallies(spoilt(3.0), TEACHERS),
    "label tallies of NaN": lambda _: LabelTallies(spoilt(np.nan), 1e9),
    "label ballots of counts": lambda _: BinaryVoting(2.0).tally(BALLOTS[..., None], 1),
    "label ballots of too few": lambda _: BinaryVoting(2.0).tally(np.ones((2, 3, 4), int), 3),
    "sets without counts": lambda _: SubsetTallies(TALLIES, np.zeros((1, 1, 1), "u1"), 9, 8, None),
    "sets of NaN": lambda _: SubsetTallies(
        spoilt(np.nan), np.zeros((*TALLIES.shape, 1), "u1"), 9, 8, None
    ),
    "powerset of counts": lambda _: PowersetVoting(2.0).tally(BALLOTS[..., None], 1),
    "opinions of another shape": lambda _: StudentTallies(Tallies(TALLIES), TALLIES[0], 9),
    "opinions that are counts": lambda _: StudentTallies(Tallies(TALLIES), TALLIES, 9),
    "probabilities above 1": lambda _: cast_labels(spoilt(2.0)),
    "tallies of another rule": lambda _: interrupted(Tallies(TALLIES)),
    "places of weighted votes": lambda _: places_of(Tallies(spoilt(0.5)), 5),
    "places outside": lambda _: smooth.enumerated([MARK, 3], np.ones(9)),
    "theorem 6 of halves": lambda _: smooth.theorem6(spoilt(0.5), 4.0, 8.0),
    "theorem 6 of other sums": lambda _: smooth.theorem6(spoilt(3.0), 4.0, 8.0),
    "exact costs of NaN": lambda _: exact.gnmax(spoilt(np.nan), ORDERS, 4.0),
    "exact costs of words": lambda _: exact.gnmax([[WORD, "1"]], ORDERS, 4.0),
    "exact costs of no rows": lambda _: exact.gnmax([[MARK, 1.0], [2.0]], ORDERS, 4.0),
    "checks of words": lambda _: exact.threshold([WORD], 3.0, ORDERS, 4.0),
    "places of words": lambda _: smooth.enumerated([WORD], np.ones(9)),
    "theorem 6 of words": lambda _: smooth.theorem6([[WORD, "1"]], 4.0, 8.0),
    "tallies of words": lambda _: Tallies(np.array([[WORD, "1"]])),
    "published costs below 0": lambda _: published.gnmax_data_dependent(spoilt(-1.0), ORDERS, 4.0),
    "envelope of nothing": lambda _: envelope.gnmax(0, 3, 4.0, 4.0),
    "a plan of no votes": lambda _: plan_publication(BinaryVoting(2.0), 9, 3, 5, 1e-5),
    "file of NaN": lambda folder: read(file(folder, spoilt(np.nan))),
    "file below 0": lambda folder: read(file(folder, spoilt(-MARK))),
    "file of fractions": lambda folder: read(file(folder, spoilt(0.5))),
    "file of other classes": lambda folder: read(file(folder, spoilt(1.0).astype(np.int64))),
    "file of tallies of NaN": lambda folder: read(file(folder, spoilt(np.inf)), tallies=True),
    "file of one axis": lambda folder: read(file(folder, TALLIES[0])),
    "file of text": lambda folder: read(file(folder, np.array([[WORD, "1"]] * 2))),
    "file of words": lambda folder: read(words(folder)),
    "vote on NaN": lambda folder: answer(file(folder, spoilt(np.nan, BALLOTS))),
    "vote on ballots outside": lambda folder: answer(file(folder, spoilt(0, BALLOTS).astype("i8"))),
    "vote on beyond": lambda folder: answer(
        file(folder, np.where(BALLOTS == 0, 2**63 + MARK, BALLOTS).astype(np.uint64))
    ),
    "vote on tallies": lambda folder: answer(file(folder, TALLIES), CLASSES),
    "vote of other teachers": lambda folder: answer(file(folder, BALLOTS), TEACHERS + 1),
    "a word for a number": lambda folder: table(folder, ["30,yes", f"{WORD},no"]),
    "an unknown class": lambda folder: table(folder, ["30,yes", f"31,{WORD}"], ("yes", "no")),
    "a cell too many": lambda folder: table(folder, ["30,yes", f"31,no,{MARK}"]),
    "no class": lambda folder: table(folder, ["30,yes", f"{MARK},"]),
    "labels of one class": lambda _: fit(np.full((9, 2), MARK), np.full(9, MARK)),
    "labels that are not classes": lambda _: fit(
        np.full((9, 2), MARK), [0, MARK] * 4 + [1], classes=[0, 1]
    ),
    "labels that are fractions": lambda _: fit(np.full((9, 2), MARK), np.full(9, MARK + 0.5)),
    "rows of NaN": lambda _: fit([[MARK, np.nan]] * 9, [0, 1] * 4 + [1]),
    "rows of words": lambda _: fit([[WORD, 1.0]] * 9, [0, 1] * 4 + [1]),
    "rows and labels apart": lambda _: fit(np.full((9, 2), MARK), [0, MARK]),
    "too few rows": lambda _: fit(np.full((3, 2), MARK), [0, 1, 0]),
}


@pytest.mark.parametrize("name", CASES)
def test_an_error_repeats_nothing_private(name: str, tmp_path: Path) -> None:
    with pytest.raises((BallotineError, ValueError)) as raised:
        CASES[name](tmp_path)
    check(raised.value, tmp_path)


def check(problem: BaseException, folder: Path) -> None:
    """Neither the mark nor a tally is in the error, its notes, its causes or its traceback."""
    assert WANTED.leaks(problem, "error") == []
    lines = traceback.format_exception_only(problem)
    text = [part for _, part in walk(problem) if isinstance(part, str)]
    said = re.sub(re.escape(str(folder)), "", "\n".join([*lines, *text]))
    assert str(MARK) not in said


def test_errors_of_a_ledger_repeat_nothing_private(tmp_path: Path) -> None:
    path, mechanism = tmp_path / "l.sqlite", ConfidentGNMax(15.0, 20.0, 20.0)
    votes = SavedVotes.of(open_votes(file(tmp_path, BALLOTS)), mechanism, CLASSES)
    voters = cast(BALLOTS)
    vote(votes, rules_for(mechanism, voters, CLASSES, Budget(1.0, 1e-5)), path, SecureNoise())
    rules = rules_for(GNMax(0.1), voters, CLASSES, Budget(1.0, 1e-5))
    with open_session(rules, voters, ledger=path) as session:
        assert not session.answer(np.arange(1), [b"q"]).asked.any()
        spent = session.refusal()
    assert isinstance(spent, InsufficientBudgetError)
    check(spent, tmp_path)
    with pytest.raises(BallotineError) as other_promise:
        Ledger.open(path, Budget(2.0, 1e-5))
    check(other_promise.value, tmp_path)
    for statement in (
        "UPDATE reservations SET answer = x'0000000000000005'",
        "UPDATE entries SET payload = replace(payload, '\"answered\":', '\"answered\":1')",
    ):
        check(tampered(path, statement), tmp_path)


def tampered(path: Path, statement: str) -> BaseException:
    """What verification says about a copy that was edited by hand."""
    copy = copy_ledger(path, "edited.sqlite")
    edit_ledger(copy, statement)
    with pytest.raises(LedgerTamperedError) as raised, Ledger.existing(copy) as book:
        verify(book)
    copy.unlink()
    return raised.value


class Chatty(ClassifierMixin, BaseEstimator):
    """A teacher that fails, and says on what."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> Any:
        raise ValueError(f"cannot learn from {X.tolist()}")


def test_a_teacher_that_fails_tells_its_holder_only() -> None:
    X, y = private_rows()
    classifier = PateClassifier(
        Chatty(), TEACHERS, GNMax(15.0), Budget(20.0, 1e-3), classes=range(CLASSES)
    )
    X[:, 0] += MARK
    answers = classifier.fit(X, y).label(public_rows())
    shown = json.dumps([str(classifier.guarantee_), repr(classifier), answers.labels.tolist()])
    assert re.search(r"7(39|40)\d\d", shown) is None
    assert len(classifier.ensemble_.problems) > 0
    assert "private" in repr(classifier.ensemble_)

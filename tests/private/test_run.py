"""A whole run gives no tally away: not in what it returns, writes, prints or logs."""

from __future__ import annotations

import base64
import logging
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from ballotine import PateClassifier
from ballotine.ledger import Ledger, verify
from ballotine.pipeline import Run, RunFile, RunFolder, RunResult, create_folder
from ballotine.privacy.guarantee import Budget
from ballotine.privacy.private import Locked, Sealed
from ballotine.report import build_card, write_card
from ballotine.voting import ConfidentGNMax, GNMax, Tallies
from tests.conftest import Command
from tests.private.search import Wanted
from tests.private.voters import (
    BALLOTS,
    CLASSES,
    TALLIES,
    TEACHERS,
    Voter,
    private_rows,
    public_rows,
    write_run,
)

WANTED = Wanted.votes(BALLOTS, TALLIES)
CONFIDENT = ConfidentGNMax(15.0, -100.0, 20.0)
"""A check that passes for certain, so that there is something to learn from."""


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> list[logging.LogRecord]:
    """Every record that any logger is given, at whatever level."""
    kept: list[logging.LogRecord] = []
    handle = logging.Logger.handle

    def keep(logger: logging.Logger, record: logging.LogRecord) -> None:
        kept.append(record)
        handle(logger, record)

    monkeypatch.setattr(logging.Logger, "isEnabledFor", lambda *_: True)
    monkeypatch.setattr(logging.Logger, "handle", keep)
    return kept


def said(log: list[logging.LogRecord]) -> list[Any]:
    return [(record.getMessage(), record) for record in log]


def fitted(**changes: Any) -> PateClassifier:
    X, y = private_rows()
    settings: dict[str, Any] = {
        "mechanism": CONFIDENT,
        "budget": Budget(20.0, 1e-5),
        "student": KNeighborsClassifier(1),
        **changes,
    }
    classifier = PateClassifier(
        Voter(), TEACHERS, classes=range(CLASSES), partition="stratified", **settings
    )
    return classifier.fit(X, y)


def test_the_teachers_cast_what_was_chosen() -> None:
    ballots = fitted().ensemble_.ballots(public_rows())
    counts = Tallies.of(ballots, CLASSES).unlock(reason="a test of made-up votes")
    assert np.array_equal(counts, TALLIES)


def caused() -> BaseException:
    problem = ValueError("bad votes")
    problem.__cause__ = KeyError(str(TALLIES[6]))
    return problem


def closure() -> Callable[[], np.ndarray]:
    counts = TALLIES[0]
    return lambda: counts


PLANTED = {
    "list": TALLIES[3].tolist(),
    "mapping": dict(zip("abcdef", TALLIES[7].tolist(), strict=True)),
    "bytes in an array": TALLIES[3].astype(np.uint8),
    "other order": np.asfortranarray(TALLIES.astype(np.float32)),
    "one class": TALLIES[:, 2],
    "ballots": BALLOTS[2].astype(np.uint8),
    "one teacher": BALLOTS[:, 5],
    "text": f"the votes were {TALLIES[5].tolist()}",
    "text of another kind": "/".join(f"{count}.00" for count in TALLIES[5]),
    "hexadecimal": TALLIES[1].astype(">i4").tobytes().hex(),
    "base64": base64.b64encode(TALLIES[1].astype(np.int16).tobytes()).decode(),
    "pickle": pickle.dumps(TALLIES),
    "closure": closure(),
    "exception": ValueError("votes", TALLIES[0]),
    "cause": caused(),
    "masked": np.ma.masked_array(TALLIES[2], mask=True),
    "shares": TALLIES[4] / TEACHERS,
    "sorted": np.sort(TALLIES[4])[::-1],
    "tops": TALLIES.max(axis=1),
    "locked": Tallies(TALLIES),
}


@pytest.mark.parametrize("name", PLANTED)
def test_the_search_finds_what_is_hidden(name: str) -> None:
    """Else the tests below would prove nothing."""
    assert WANTED.leaks({"deep": [(PLANTED[name],)]}, "planted") != []


def test_the_search_accuses_nobody() -> None:
    for innocent in (np.arange(1000.0), "1 2 3 4 5 6 7", b"\0" * 4096, {"a": 1}, public_rows()):
        assert WANTED.leaks(innocent, "innocent") == []


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"mechanism": GNMax(15.0), "random_state": 3},
        {"mode": "paper", "budget": Budget(1.0, 1e-5)},
    ],
    ids=["strict", "seeded", "paper"],
)
def test_an_estimator_gives_nothing_away(
    changes: dict[str, Any], tmp_path: Path, log: list[logging.LogRecord]
) -> None:
    ledger = tmp_path / "data.ledger.sqlite"
    classifier, X = fitted(ledger=ledger, **changes), public_rows()
    answers = classifier.label(X)
    assert answers.answered.any()
    released = [
        answers,
        classifier.distill(X, answers).predict(X),
        classifier.predict_proba(X),
        classifier.score(X, answers.labels),
        classifier.guarantee_,
        str(classifier.guarantee_),
        classifier.ledger_,
        repr(classifier),
        classifier.get_params(),
        classifier.student_,
    ]
    assert WANTED.leaks(released, "released") == []
    # The estimator is the holder's own; in paper mode it keeps a meter, locked.
    assert WANTED.leaks(classifier, "classifier", holder=True) == []
    assert WANTED.leaks(said(log), "log") == []
    assert leaks_in_ledger(ledger) == []


def leaks_in_ledger(path: Path) -> list[str]:
    """What its files show, the write-ahead log included."""
    files = sorted(path.parent.glob(f"{path.name}*"))
    assert path in files
    return [where for file in files for where in WANTED.leaks_in_file(file)]


@pytest.fixture
def finished(
    tmp_path: Path, log: list[logging.LogRecord]
) -> tuple[RunResult, RunFolder, dict[str, Any]]:
    settings = RunFile.load(write_run(tmp_path))
    folder = create_folder(settings)
    result = Run(settings, folder).execute()
    card = build_card(result)
    write_card(folder, card)
    assert np.array_equal(np.sort(np.load(folder.ballots), axis=1), np.sort(BALLOTS, axis=1))
    return result, folder, card


def public_files(folder: RunFolder) -> list[Path]:
    return [
        path
        for path in sorted(folder.root.rglob("*"))
        if path.is_file() and folder.private not in path.parents
    ]


def test_a_run_gives_nothing_away(
    finished: tuple[RunResult, RunFolder, dict[str, Any]], log: list[logging.LogRecord]
) -> None:
    result, folder, card = finished
    assert result.answers.answered.any()
    assert WANTED.leaks(result, "result") == []
    assert WANTED.leaks(card, "card") == []
    assert WANTED.leaks([repr(result), str(result.guarantee)], "text") == []
    assert any("queries asked" in record.getMessage() for record in log)
    assert WANTED.leaks(said(log), "log") == []
    names = {path.name for path in public_files(folder)}
    for path in public_files(folder):
        assert WANTED.leaks_in_file(path) == []
    assert names >= {"card.json", "card.md", "report.html", "run.log", "answers.parquet"}
    assert names >= {"student.skops", "run.toml"}
    ledger = folder.root.parent / "data.ledger.sqlite"
    assert leaks_in_ledger(ledger) == []
    with Ledger.existing(ledger) as book:
        assert WANTED.leaks([book, verify(book), list(book.entries())], "ledger") == []


def test_commands_of_a_run_print_nothing_private(ballotine: Command, tmp_path: Path) -> None:
    write_run(tmp_path)
    commands = [
        ("run", "run.toml"),
        ("run", "--resume", "out"),
        ("report", "out"),
        ("ledger", "show", "data.ledger.sqlite"),
        ("ledger", "verify", "data.ledger.sqlite"),
    ]
    for command in commands:
        ended = ballotine(*command, BALLOTINE_DEBUG="1")
        assert ended.returncode == 0, ended.stderr
        assert WANTED.leaks([ended.stdout, ended.stderr], " ".join(command)) == []


def test_private_numbers_stay_locked_inside(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Tallies do exist while a run answers; they are locked, and each opening has its reason."""
    opened: list[str] = []
    made: list[Locked] = []
    begin = Locked.__init__

    def note(locked: Locked, values: Any) -> None:
        begin(locked, values)
        made.append(locked)

    unlock = Sealed.unlock

    def watch(sealed: Any, *, reason: str) -> Any:
        opened.append(reason)
        return unlock(sealed, reason=reason)

    monkeypatch.setattr(Locked, "__init__", note)
    monkeypatch.setattr(Sealed, "unlock", watch)
    classifier = fitted()
    classifier.label(public_rows())
    assert {type(locked).__name__ for locked in made} == {"Tallies"}
    assert set(opened) == {"releasing a checked noisy argmax"}

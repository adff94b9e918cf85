"""Runs from a file: what they leave, what they say, and that they can be interrupted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from ballotine import PateClassifier, Student
from ballotine.errors import (
    DataError,
    InsufficientBudgetError,
    LedgerTamperedError,
    ParameterError,
    RunFolderError,
)
from ballotine.ledger import Ledger, read_anchor, verify
from ballotine.pipeline import Run, RunFile, RunFolder, create_folder, embedded_runfile, open_folder
from ballotine.pipeline.estimators import make_estimator
from ballotine.progress import Advance
from ballotine.report import build_card, write_card


class StopAt:
    """Progress that interrupts the run in one stage, after so many steps."""

    def __init__(self, name: str, steps: int) -> None:
        self.name, self.left = name, steps

    @contextmanager
    def stage(self, name: str, total: int | None) -> Iterator[Advance]:
        def advance(steps: int) -> None:
            if name == self.name:
                self.left -= steps
                if self.left < 0:
                    raise KeyboardInterrupt

        yield advance


def start(table: Path, **changes: str) -> tuple[RunFile, RunFolder]:
    text = (table / "run.toml").read_text()
    for old, new in (pair.split("→") for pair in changes.values()):
        assert old in text
        text = text.replace(old, new, 1)
    (table / "run.toml").write_text(text)
    settings = RunFile.load(table / "run.toml")
    return settings, create_folder(settings)


def test_a_run_on_a_table_leaves_everything_it_should(table: Path) -> None:
    settings, folder = start(table)
    result = Run(settings, folder).execute()
    write_card(folder, build_card(result))
    for path in (folder.runfile, folder.answers, folder.student, folder.card, folder.card_text):
        assert path.is_file(), path.name
    assert folder.report.is_file()
    assert folder.log.read_text().count("\n") >= 4
    assert folder.private.stat().st_mode & 0o077 == 0
    assert not folder.ledger.exists(), "a real run spends from the ledger of its data"
    assert result.evaluation is not None
    assert result.dataset.X_test is not None
    assert result.dataset.y_test is not None
    predicted = Student.load(folder.student).predict(result.dataset.X_test)
    right = predicted == result.dataset.task.decode(result.dataset.y_test)
    assert result.evaluation.accuracy == pytest.approx(right.mean())
    assert result.ceiling is None
    assert result.label_accuracy is None
    card = json.loads(folder.card.read_text())
    assert card["experiment"] is None
    assert card["data"]["private_records"] == 600
    assert card["queries"]["asked"] + card["queries"]["unasked"] == 150
    answers = pq.read_table(folder.answers)
    assert answers.column("status").to_pylist().count("answered") == card["queries"]["answered"]
    assert set(answers.column("answer").to_pylist()) == {"yes", "no", None}
    assert set(Student.load(folder.student).classes_) == {"yes", "no"}


def test_nothing_private_is_outside_the_private_folder(table: Path) -> None:
    """The card's numbers follow from public things and from what the ledger charged."""
    settings, folder = start(table)
    write_card(folder, build_card(Run(settings, folder).execute()))
    ballots = np.load(folder.ballots)
    with Ledger.existing(table / "private.ledger.sqlite") as ledger:
        salt = ledger._meta("salt")
        mark = ledger._meta("fingerprint").decode()
    secret = folder.secret.read_bytes()
    for path in folder.root.iterdir():
        if path.is_file():
            content = path.read_bytes()
            for private in (salt, secret, ballots[:10].tobytes()):
                assert private not in content
                assert private.hex().encode() not in content
            assert mark.encode() not in content, path.name
            assert str(table).encode() not in content or path == folder.runfile, path.name


def test_the_card_is_anchored_in_the_ledger(table: Path) -> None:
    settings, folder = start(table)
    write_card(folder, build_card(Run(settings, folder).execute()))
    path = table / "private.ledger.sqlite"
    with Ledger.existing(path) as ledger:
        assert verify(ledger, read_anchor(folder.card)).anchored


def test_a_second_run_adds_to_the_first(table: Path) -> None:
    settings, folder = start(table)
    first = Run(settings, folder).execute()
    again = settings.with_changes(folder=table / "out2", seed=None)
    with pytest.raises(InsufficientBudgetError, match="is spent already"):
        Run(again, create_folder(again)).execute()
    with Ledger.existing(table / "private.ledger.sqlite") as ledger:
        assert ledger.spending().recorded == first.answers.asked.sum()


STOPS = [("teachers", 7), ("votes", 3), ("answers", 0), ("answers", 26), ("student", 0)]


@pytest.mark.parametrize(("stage", "steps"), STOPS)
def test_an_interrupted_run_resumes_to_the_same_end(table: Path, stage: str, steps: int) -> None:
    seeded = "[run]→[run]\nexperiment = true\nseed = 5"
    settings, folder = start(table, seeded=seeded)
    whole = settings.with_changes(folder=table / "whole", seed=None)
    whole = whole.model_copy(
        update={"budget": whole.budget.model_copy(update={"ledger": table / "whole.sqlite"})}
    )
    expected = Run(whole, create_folder(whole)).execute()
    with pytest.raises(KeyboardInterrupt):
        Run(settings, folder, StopAt(stage, steps)).execute()
    kept = {p.name: p.stat().st_mtime_ns for p in folder.teachers.glob("*")}
    opened, resumed = open_folder(folder.root)
    result = Run(resumed, opened).execute()
    assert np.array_equal(result.answers.labels, expected.answers.labels)
    assert result.account.epsilon == expected.account.epsilon
    for name, time in kept.items():
        assert (folder.teachers / name).stat().st_mtime_ns == time, "a teacher was trained twice"


def test_resuming_on_an_older_ledger_is_refused(table: Path) -> None:
    settings, folder = start(table)
    write_card(folder, build_card(Run(settings, folder).execute()))
    (table / "private.ledger.sqlite").unlink()
    for rest in table.glob("private.ledger.sqlite-*"):
        rest.unlink()
    with pytest.raises(LedgerTamperedError):
        Run(settings, folder).execute()


def test_folders_are_never_overwritten(table: Path) -> None:
    settings, _ = start(table)
    with pytest.raises(RunFolderError, match="--resume"):
        create_folder(settings)
    with pytest.raises(RunFolderError, match="not a run folder"):
        open_folder(table)


@pytest.mark.parametrize(
    ("old", "new", "error", "match"),
    [
        ("number = 20", "number = 700", DataError, "600 private records cannot fill 700"),
        ("epsilon = 6.0", "epsilon = 0.01", InsufficientBudgetError, "one costs ε = "),
        ("threshold = 14.0", "threshold = 900.0", ParameterError, "no query can pass"),
        ("threshold = 14.0", "threshold = 90.0", DataError, "at least two"),
        ('target = "label"', 'target = "lable"', DataError, "lable"),
    ],
)
def test_bad_runs_end_in_one_sentence(
    table: Path, old: str, new: str, error: type[Exception], match: str
) -> None:
    settings, folder = start(table, change=f"{old}→{new}")
    with pytest.raises(error, match=match) as problem:
        Run(settings, folder).execute()
    assert "\n" not in str(problem.value)


def test_a_large_delta_is_on_the_card(table: Path) -> None:
    settings, folder = start(table, delta="delta = 1e-5→delta = 0.01")
    card = build_card(Run(settings, folder).execute())
    assert any("1/n" in text for text in card["warnings"])


def test_the_run_and_the_classifier_agree_under_one_seed(tmp_path: Path) -> None:
    """The same road, in a run file and in Python, gives the same answers."""
    settings = RunFile.parse(embedded_runfile("digits"), "embedded").with_changes(
        folder=tmp_path / "run", seed=3
    )
    result = Run(settings, create_folder(settings)).execute()
    data = result.dataset
    pate = PateClassifier(
        teacher=make_estimator(settings.teachers.kind, settings.teachers.options, "teachers"),
        n_teachers=settings.teachers.number,
        mechanism=settings.voting.build(),
        budget=settings.budget.build(),
        classes=list(data.classes),
        random_state=3,
    ).fit(data.X_private, np.asarray(data.classes)[data.y_private])
    answers = pate.label(data.X_public)
    assert np.array_equal(answers.labels, result.answers.labels)
    assert pate.guarantee_.epsilon == result.guarantee.epsilon


def test_broken_teachers_are_told_to_the_holder_only(table: Path) -> None:
    """Teachers that cannot be trained: the run goes on, the reason stays in private/."""
    settings, folder = start(
        table, options="options = { C = 100.0 }→options = { solver = 'no-such-solver' }"
    )
    with suppress(DataError):  # twenty constant ballots may name one class only
        assert Run(settings, folder).execute().broken_teachers
    told = folder.problems.read_text()
    assert told.count("\n") == 20
    assert folder.problems.stat().st_mode & 0o077 == 0
    assert "no-such-solver" not in folder.log.read_text()

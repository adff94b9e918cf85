"""The commands and their exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ballotine.version import __version__
from tests.conftest import Command
from tests.edited import edit_ledger

ESCAPES = ("\x1b", "\x07", "\x9b")


def test_version_help_and_completion(ballotine: Command) -> None:
    assert ballotine("--version").stdout == f"ballotine {__version__}\n"
    page = ballotine("--help").stdout
    for word in ("run", "init", "report", "ledger", "data", "Exit codes"):
        assert word in page
    assert ballotine("nonsense").returncode == 2
    asked = {
        "_BALLOTINE_COMPLETE": "complete_bash",
        "COMP_WORDS": "ballotine le",
        "COMP_CWORD": "1",
    }
    assert ballotine(**asked).stdout.split() == ["ledger"]


def test_init_run_report_ledger(ballotine: Command, table: Path) -> None:
    ran = ballotine("run", "run.toml")
    assert ran.returncode == 0, ran.stderr
    assert "one private record replaced" in ran.stdout
    assert "experiment only" not in ran.stdout
    out = table / "out"
    page = (out / "report.html").read_text()
    (out / "report.html").unlink()
    assert ballotine("report", "out").returncode == 0
    assert (out / "report.html").read_text() == page

    shown = json.loads(ballotine("ledger", "show", "out", "--json").stdout)
    card = json.loads((out / "card.json").read_text())
    assert shown["queries"] == card["queries"]["asked"]
    assert shown["charged_epsilon"] == card["accounted_epsilon"]
    assert "promise" in ballotine("ledger", "show", "private.ledger.sqlite").stdout
    checked = ballotine("ledger", "verify", "private.ledger.sqlite", "--card", "out/card.json")
    assert checked.returncode == 0
    assert "and the card" in checked.stdout
    lines = ballotine("ledger", "export", "out").stdout.splitlines()
    assert [json.loads(line)["seq"] for line in lines] == list(range(1, len(lines) + 1))
    assert ballotine("ledger", "export", "out", "-o", "export.jsonl").returncode == 0
    assert (table / "export.jsonl").read_text().splitlines() == lines

    again = ballotine("run", "run.toml")
    assert again.returncode == 6
    assert "--resume" in again.stderr
    resumed = ballotine("run", "--resume", "out", "--quiet")
    assert resumed.returncode == 0
    assert resumed.stdout == ""


def test_a_tampered_ledger_ends_with_5(ballotine: Command, table: Path) -> None:
    assert ballotine("run", "run.toml", "-q").returncode == 0
    answers = "UPDATE reservations SET answer = x'0000000000000001'"
    edit_ledger(table / "private.ledger.sqlite", answers)
    checked = ballotine("ledger", "verify", "private.ledger.sqlite")
    assert checked.returncode == 5
    assert checked.stderr.startswith("error: ")
    assert "were changed" in checked.stderr
    assert "Traceback" not in checked.stderr


def test_the_embedded_example_is_an_experiment(ballotine: Command, tmp_path: Path) -> None:
    ran = ballotine("run", "--folder", "digits", "--seed", "9")
    assert ran.returncode == 0, ran.stderr
    for words in ("experiment only", "label accuracy", "non-private ceiling", "seeded"):
        assert words in ran.stdout
    card = json.loads((tmp_path / "digits" / "card.json").read_text())
    assert card["experiment"]["label_accuracy"] > 0.8
    assert card["evaluation"]["accuracy"] > 0.8
    assert card["guarantee"]["epsilon"] <= card["guarantee"]["budget"]["epsilon"]
    assert (tmp_path / "digits" / "ledger.sqlite").is_file()


def test_init_writes_once(ballotine: Command, tmp_path: Path) -> None:
    assert ballotine("init").returncode == 0
    assert ballotine("init").returncode == 6
    missing = ballotine("run", "run.toml")
    assert missing.returncode == 3
    assert "private.csv" in missing.stderr
    assert ballotine("init", "example.toml", "--example", "--quiet").stdout == ""
    assert "digits" in (tmp_path / "example.toml").read_text()


def test_wrong_run_files_end_with_2(ballotine: Command, table: Path) -> None:
    (table / "run.toml").write_text(
        (table / "run.toml").read_text().replace("sigma = 5.0", "sigma = 0")
    )
    wrong = ballotine("run", "run.toml")
    assert wrong.returncode == 2
    assert "[voting] sigma" in wrong.stderr
    assert not (table / "out").exists()
    assert ballotine("run", "run.toml", "--resume", "out").returncode == 2


def test_a_budget_for_nothing_ends_with_4(ballotine: Command, table: Path) -> None:
    text = (table / "run.toml").read_text().replace("epsilon = 6.0", "epsilon = 0.02")
    (table / "run.toml").write_text(text)
    poor = ballotine("run", "run.toml")
    assert poor.returncode == 4
    assert "one costs ε = " in poor.stderr


def test_hostile_cells_reach_neither_page_nor_terminal(ballotine: Command, table: Path) -> None:
    evil = "<script>alert(1)</script>\x1b]0;owned\x07[bold]"
    for name in ("private.csv", "test.csv"):
        text = (table / name).read_text()
        (table / name).write_text(text.replace(",yes", f',"{evil}"').replace("north", "=cmd|' /C"))
    ran = ballotine("run", "run.toml")
    assert ran.returncode == 0, ran.stderr
    output = ran.stdout + ran.stderr
    assert not any(escape in output for escape in ESCAPES)
    page = (table / "out" / "report.html").read_text()
    assert "<script>alert" not in page
    assert not any(escape in page for escape in ESCAPES)
    for command in (["ledger", "show", "out"], ["report", "out"]):
        shown = ballotine(*command)
        assert not any(escape in shown.stdout + shown.stderr for escape in ESCAPES)


def test_data_list_and_get(ballotine: Command, tmp_path: Path) -> None:
    names = {row["name"] for row in json.loads(ballotine("data", "list", "--json").stdout)}
    assert {
        "digits",
        "breast_cancer",
        "mnist",
        "fashion-mnist",
        "cifar10",
        "svhn",
        "adult",
    } <= names
    assert "digits" in ballotine("data", "list").stdout
    got = ballotine("data", "get", "digits", "--out", "digits.npz")
    assert got.returncode == 0, got.stderr
    assert (tmp_path / "digits.npz").is_file()
    unknown = ballotine("data", "get", "nothing-like-it")
    assert unknown.returncode == 3
    assert "digits" in unknown.stderr


@pytest.mark.parametrize("debug", ["", "1"])
def test_unexpected_errors_hide_their_details(
    ballotine: Command, table: Path, debug: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (table / "broken.py").write_text(
        "from sklearn.linear_model import LogisticRegression\n"
        "class Broken(LogisticRegression):\n"
        "    def get_params(self, deep=True):\n"
        "        raise RuntimeError('private value 4711')\n"
    )
    text = (table / "run.toml").read_text()
    text = text.replace('"logistic-regression"', '"broken.Broken"').replace(
        "options = { C = 100.0 }", ""
    )
    (table / "run.toml").write_text(text)
    monkeypatch.syspath_prepend(table)
    ran = ballotine("run", "run.toml", BALLOTINE_DEBUG=debug)
    assert ran.returncode == 70
    assert ("4711" in ran.stderr) == bool(debug)


def test_a_disk_that_takes_no_more_is_survived(table: Path) -> None:
    """With a limit on file size the report cannot be written, but nothing else is lost."""
    code = (
        "import resource, signal, sys\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))\n"
        "sys.argv = ['ballotine', 'run', 'run.toml', '--quiet']\n"
        "from ballotine.cli import main\n"
        "main()\n"
    )
    full = subprocess.run(
        [sys.executable, "-c", code], cwd=table, capture_output=True, text=True, check=False
    )
    assert full.returncode == 6, full.stderr
    assert "report.html cannot be written" in full.stderr
    left = sorted(path.name for path in (table / "out").iterdir())
    assert "report.html" not in left
    assert not any("partial" in name for name in left)
    again = subprocess.run(
        [sys.executable, "-m", "ballotine", "run", "--resume", "out", "--quiet"],
        cwd=table, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert again.returncode == 0, again.stderr
    assert (table / "out" / "report.html").is_file()

"""``ballotine verify``: what it prints, and how it ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

from ballotine.cli import verify as command
from ballotine.errors import ParameterError, VerificationError
from ballotine.verification import CASES
from tests.conftest import Command

# Two claims that take no time: one that holds, one that is false.
FAST = ("--mechanism", "conversion/delta", "--mechanism", "gnmax/theorem-6-one-direction")
QUICK = (*FAST, "--quick", "--seed", "1")

app = typer.Typer()
app.command(help=command.HELP)(command.verify)


def run(*arguments: str, width: str = "200") -> str:
    result = CliRunner().invoke(app, arguments, env={"COLUMNS": width}, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return str(result.stdout)


def test_json() -> None:
    told = json.loads(run(*QUICK, "--json"))
    assert told["verified"] is True
    assert told["seed"] == 1
    assert [row["verdict"] for row in told["findings"]] == ["caught", "holds"]
    false = told["findings"][0]
    assert false["case"] == "gnmax/theorem-6-one-direction"
    assert false["ratio"] == pytest.approx(1.558, abs=0.001)
    assert (
        json.loads(run(*QUICK, "--json"))["findings"][1]["witness"]
        == (told["findings"][1]["witness"])
    )


def test_list() -> None:
    rows = json.loads(run("--list", "--json"))
    assert [row["name"] for row in rows] == [case.name for case in CASES]
    assert {row["expected"] for row in rows} == {"holds", "false"}
    assert all(row["statement"] and row["source"] for row in rows)
    page = run("--list", "--mechanism", "lnmax")
    assert "lnmax/moments" in page
    assert "gnmax/tight" not in page


def test_a_mechanism_is_all_its_claims() -> None:
    told = json.loads(run("--mechanism", "conversion", "--quick", "--seed", "1", "--json"))
    names = [row["case"] for row in told["findings"]]
    assert names == ["conversion/improved", "conversion/classic", "conversion/delta"]


def test_an_unknown_mechanism_is_refused() -> None:
    with pytest.raises(ParameterError, match="unknown: 'teapot'; mechanisms are gnmax"):
        CliRunner().invoke(app, ["--mechanism", "teapot"], catch_exceptions=False)


@pytest.mark.parametrize("broken", ["exceeded", "missed"])
def test_a_failure_is_raised_after_the_table(broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from ballotine.privacy import conversion, published

    if broken == "exceeded":
        monkeypatch.setattr(conversion, "delta", lambda *_: 0.0)
        expected = r"1 of 2 failed: conversion/delta \(exceeded\)"
    else:
        # A false claim that is made true is missed.
        original = published.gnmax_data_dependent
        monkeypatch.setattr(published, "gnmax_data_dependent", lambda *given, **_: original(*given))
        expected = r"1 of 2 failed: gnmax/theorem-6-one-direction \(missed\)"
    result = CliRunner().invoke(app, QUICK, env={"COLUMNS": "200"})
    assert isinstance(result.exception, VerificationError)
    with pytest.raises(VerificationError, match=expected):
        raise result.exception
    assert broken in result.stdout
    assert "failed: 1" in result.stdout


def test_the_command_line(ballotine: Command) -> None:
    told = ballotine("verify", *QUICK)
    assert told.returncode == 0, told.stderr
    for words in (
        "gnmax/theorem-6-one-direction",
        "caught",
        "1.5578",
        "tally = (50, 0)",
        "(49, 1)",
    ):
        assert words in told.stdout
    assert "claims that hold: 1; false claims caught: 1; failed: 0" in told.stdout
    assert "seed 1" in told.stdout
    assert ballotine("verify", "--mechanism", "teapot").returncode == 2
    assert ballotine("verify", "--seed", "-1").returncode == 2
    assert "verify" in ballotine("--help").stdout


def test_a_bound_that_is_too_small_ends_with_one() -> None:
    code = """
import sys
from ballotine.privacy import published
honest = published.threshold
published.threshold = lambda *given: 0.95 * honest(*given)
from ballotine.cli.app import main
sys.argv = ["ballotine", "verify", "--mechanism", "check/published", "--quick", "--seed", "1"]
main()
"""
    told = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "NO_COLOR": "1", "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 1
    assert "exceeded" in told.stdout
    assert "1 of 1 failed: check/published (exceeded)" in told.stderr

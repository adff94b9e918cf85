"""``ballotine audit``: what it prints, and how it ends."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from ballotine.audit import default_cases
from ballotine.audit.mechanism import claimed_epsilon
from ballotine.cli import audit as command
from ballotine.cli.mechanism_options import MechanismCommand
from ballotine.errors import ParameterError, VerificationError
from ballotine.noise import QueryNoise
from ballotine.types import IntArray
from ballotine.voting import MECHANISMS, GNMax, Tallies
from ballotine.voting.gnmax import noisy_argmax

app = typer.Typer()
app.command(help=command.HELP, cls=MechanismCommand)(command.audit)

SMALL = ("--trials", "2000", "--seed", "1")
PAGE = Path(__file__).parents[2] / "docs" / "audit.md"


def run(*arguments: str, width: str = "200") -> str:
    environment = {"COLUMNS": width, "NO_COLOR": "1", "TERM": "dumb"}
    result = CliRunner().invoke(app, arguments, env=environment, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return str(result.stdout)


def test_one_mechanism_as_json() -> None:
    told = json.loads(
        run(
            *("--mechanism", "gnmax", "--sigma", "4", "--teachers", "6", "--classes", "3"),
            *("--queries", "30", "--delta", "1e-6", "--confidence", "0.999", "--json", *SMALL),
        )
    )
    assert told["subject"] == "gnmax(sigma=4)"
    assert (told["teachers"], told["classes"], told["queries"]) == (6, 3, 30)
    assert (told["delta"], told["confidence"], told["trials"], told["seed"]) == (
        1e-6,
        0.999,
        2000,
        1,
    )
    assert 0.5 < told["ratio"] < 1
    assert told["lower"] == max(told["whole"], told["composed"])
    assert told["exceeded"] is False
    assert told["verdict"].startswith("the claim stands")


def test_one_mechanism_in_words() -> None:
    page = run("--mechanism", "confident-gnmax", *SMALL)
    for words in (
        "confident-gnmax(sigma=2, threshold=2, sigma_threshold=1), 2 teachers, 2 classes",
        "2,000 on either side, 20 queries each",
        "neighbours  tally (",
        "claimed",
        "with 99 % confidence",
        "the claim stands",
    ):
        assert words in page


def test_every_mechanism_in_a_table() -> None:
    small = ("--trials", "100", "--seed", "1")
    page = run(*small)
    for words in ("gnmax(sigma=2)", "lnmax(gamma=1)", "confident-gnmax(", "refuted: 0", "ratio"):
        assert words in page
    rows = json.loads(run("--json", *small))
    assert [row["subject"].partition("(")[0] for row in rows] == list(MECHANISMS)
    assert f"claims that stand: {len(rows)}" in page
    assert all(f"{row['lower']:.3f}" in page for row in rows)


def test_given_parameters_take_the_place_of_the_default_ones() -> None:
    told = json.loads(run("--mechanism", "confident-gnmax", "--threshold", "1", "--json", *SMALL))
    assert told["subject"] == "confident-gnmax(sigma=2, threshold=1, sigma_threshold=1)"
    told = json.loads(run("--mechanism", "lnmax", "--gamma", "0.5", "--json", *SMALL))
    assert told["subject"] == "lnmax(gamma=0.5)"
    told = json.loads(run("--mechanism", "clipped", "--norm", "l1", "--json", *SMALL))
    assert "norm=l1" in told["subject"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--sigma", "2"], "need --mechanism"),
        (["--teachers", "2"], "need --mechanism"),
        (["--mechanism", "teapot"], "unknown mechanism 'teapot'"),
        (["--mechanism", "gnmax", "--gamma", "2"], "gnmax does not use gamma"),
        (["--mechanism", "gnmax", "--sigma", "-1"], "positive"),
        (["--confidence", "1"], "confidence"),
        (["--delta", "0"], "delta"),
    ],
)
def test_wrong_options_are_one_sentence(arguments: list[str], words: str) -> None:
    with pytest.raises(ParameterError, match=re.escape(words)):
        CliRunner().invoke(app, arguments, catch_exceptions=False)


@pytest.mark.parametrize("alone", [True, False])
def test_a_refuted_claim_is_shown_and_ends_with_one(
    alone: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_quiet(self: GNMax, tallies: Tallies, noise: QueryNoise) -> IntArray:
        return noisy_argmax(tallies.unlock(reason="test"), 0.5 * self.sigma, noise)

    monkeypatch.setattr(GNMax, "release", too_quiet)
    chosen = ("--mechanism", "gnmax") if alone else ()
    result = CliRunner().invoke(
        app, (*chosen, "--trials", "500", "--seed", "1"), env={"COLUMNS": "200"}
    )
    assert isinstance(result.exception, VerificationError)
    assert result.exception.exit_code == 1
    assert "audits failed: gnmax(sigma=2): the claim" in str(result.exception)
    assert ("is false" if alone else "refuted: 1") in result.stdout


def examples() -> dict[str, str]:
    """Commands on the page, each with the output below it."""
    text = PAGE.read_text(encoding="utf-8")
    found = re.findall(
        r"```console\n\$ ballotine audit([^\n]*)\n```\n\n```text\n(.*?)```", text, re.DOTALL
    )
    return dict(found)


def test_the_page_shows_what_is_printed() -> None:
    (seeded,) = [arguments for arguments in examples() if "--seed" in arguments]
    lines = [line.rstrip() for line in run(*seeded.split(), width="80").splitlines()]
    assert lines == [line.rstrip() for line in examples()[seeded].splitlines()]


def test_the_table_on_the_page_is_about_these_mechanisms_and_claims() -> None:
    """Its noise was secure, so the bounds are of that day; the claims are not."""
    rows = re.findall(r"^│ (\S+?)\(.*│ +(\d+) │ +([\d.]+) │ +([\d.]+) │", examples()[""], re.M)
    cases = default_cases()
    assert [row[0] for row in rows] == [case.mechanism.name for case in cases]
    for (_, queries, shown, claimed), case in zip(rows, cases, strict=True):
        epsilon, _ = claimed_epsilon(case.mechanism, case.classes, case.queries, 1e-5)
        assert int(queries) == case.queries
        assert float(claimed) == pytest.approx(epsilon, abs=1e-3)
        assert 0.5 * epsilon < float(shown) < epsilon

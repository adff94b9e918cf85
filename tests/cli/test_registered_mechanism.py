"""A mechanism that is registered in one line goes through every command and run files."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import ClassVar

import numpy as np
import pytest

from ballotine.errors import ParameterError, RunFileError
from ballotine.ledger import Ledger
from ballotine.noise import QueryNoise, SecureNoise
from ballotine.pipeline import RunFile
from ballotine.privacy.events import LaplaceArgmax
from ballotine.privacy.plan import epsilon_of
from ballotine.privacy.reach import Reach
from ballotine.verification import CASES, select
from ballotine.voting import MECHANISMS, GNMax, Tallies, register
from ballotine.voting.parameters import parameter
from tests.cli.flipping import PermuteAndFlip
from tests.conftest import Command

NAME = ("-m", "permute-and-flip")
QUERIES, TEACHERS = 40, 50


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MECHANISMS, "_registered", {})
    register(PermuteAndFlip)


@pytest.fixture
def votes(tmp_path: Path) -> str:
    draw = np.random.default_rng(1)
    np.save(tmp_path / "votes.npy", draw.choice(3, (QUERIES, TEACHERS), p=[0.8, 0.1, 0.1]))
    return "votes.npy"


def claimed(rate: float, queries: int = QUERIES, delta: float = 1e-5) -> float:
    return epsilon_of([(LaplaceArgmax(rate), queries)], delta)


def test_its_answers_follow_the_law_that_it_declares() -> None:
    tally, trials = (3.0, 2.0, 0.0), 40_000
    mechanism = PermuteAndFlip(0.7)
    law = np.exp(mechanism.log_law(tally))
    assert law.sum() == pytest.approx(1.0, abs=1e-12)
    tallies = Tallies(np.tile(tally, (trials, 1)))
    noise = QueryNoise(SecureNoise(), [i.to_bytes(8, "big") for i in range(trials)])
    found = np.bincount(mechanism.release(tallies, noise), minlength=3) / trials
    assert found == pytest.approx(law[1:], abs=6 * 0.5 / np.sqrt(trials))


def test_vote_pays_for_its_answers_in_the_ledger(
    ballotine: Command, votes: str, tmp_path: Path
) -> None:
    done = ballotine(
        *("vote", votes, *NAME, "--flip-rate", "0.05", "--classes", "3", "--json"),
        *("--epsilon", "9", "--delta", "1e-5", "--ledger", "L.sqlite", "--out", "answers.npz"),
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["queries"], told["answered"]) == (QUERIES, QUERIES)
    assert claimed(0.05) <= told["epsilon"] < 1.01 * claimed(0.05)
    with np.load(tmp_path / "answers.npz") as archive:
        assert np.mean(archive["answers"] == 0) > 0.5
    with Ledger.existing(tmp_path / "L.sqlite") as ledger:
        (binding,) = ledger.spending().bindings.values()
    assert "permute-and-flip" in binding.rule
    assert [share.events for _, share in binding.charge.by_group] == [(LaplaceArgmax(0.05),)]


def test_account_prices_it_by_the_analysis_that_it_has(ballotine: Command, votes: str) -> None:
    given = ("account", votes, *NAME, "--flip-rate", "0.05", "--delta", "1e-5", "--json")
    told = json.loads(ballotine(*given, "--bounds", "tight").stdout)
    assert told["epsilon"] == pytest.approx(claimed(0.05), rel=1e-4)
    assert told["kind"] == "data-independent"
    refused = ballotine(*given, "--bounds", "exact")
    assert refused.returncode == 2
    assert "permute-and-flip has no exact data-dependent cost" in refused.stderr


def test_plan_finds_its_noise(ballotine: Command) -> None:
    given = ("plan", *NAME, "--queries", "200", "--epsilon", "3", "--delta", "1e-5")
    made = json.loads(ballotine(*given, "--teachers", "80", "--json").stdout)
    assert made["epsilon"] == pytest.approx(claimed(made["rate"], 200), rel=1e-9)
    assert 2.999 < made["epsilon"] <= 3.0
    assert made["noise_in_votes"] == pytest.approx(1.0 / made["rate"] / 80)
    assert f"rate = {made['rate']:.4g}" in ballotine(*given).stdout


def test_audit_runs_it_and_its_claim_stands(ballotine: Command) -> None:
    done = ballotine("audit", *NAME, "--trials", "4000", "--seed", "1", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["subject"] == "permute-and-flip(rate=1)"
    assert 0.3 * told["claimed"] < told["lower"] < told["claimed"]
    assert told["claimed"] == pytest.approx(claimed(1.0, 3))


def test_verify_holds_its_cost_against_its_law(
    ballotine: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = ("verify", *NAME, "--quick", "--seed", "1", "--json")
    done = ballotine(*given)
    assert done.returncode == 0, done.stderr
    (finding,) = json.loads(done.stdout)["findings"]
    assert (finding["case"], finding["verdict"]) == ("permute-and-flip/charged", "holds")
    assert finding["ratio"] > 0.9
    monkeypatch.setattr(PermuteAndFlip, "events", lambda self, *_: (LaplaceArgmax(self.rate / 2),))
    refuted = ballotine(*given)
    assert refuted.returncode == 1
    assert "permute-and-flip/charged (exceeded)" in refuted.stderr


def test_a_run_file_names_it(ballotine: Command, table: Path) -> None:
    text = (table / "run.toml").read_text()
    old = 'mechanism = "confident-gnmax"\nsigma = 5.0\nthreshold = 14.0\nsigma_threshold = 8.0'
    assert old in text
    flipped = text.replace(old, 'mechanism = "permute-and-flip"\nrate = 0.1')
    (table / "run.toml").write_text(flipped)
    done = ballotine("run", "run.toml")
    assert done.returncode == 0, done.stderr
    assert RunFile.load(table / "out" / "run.toml").voting.build() == PermuteAndFlip(0.1)
    for bad, words in (
        ("rate = -1", r"\[voting\] rate: input should be greater than 0"),
        ("rate = 1\nsigma = 2.0", r"\[voting\] permute-and-flip does not use sigma"),
        ("rate = 1\nrates = 2.0", r"\[voting\] rates: unknown key"),
        ("", r"\[voting\] permute-and-flip needs rate"),
    ):
        with pytest.raises(RunFileError, match=words):
            RunFile.parse(flipped.replace("rate = 0.1", bad), "run.toml")


def test_every_command_offers_its_parameter(ballotine: Command) -> None:
    for command in ("vote", "account", "audit"):
        assert "--flip-rate" in ballotine(command, "--help").stdout
    assert "--flip-rate" not in ballotine("plan", "--help").stdout, "it is what is planned"
    assert "permute-and-flip" in ballotine("plan", "--help").stdout


def test_what_it_did_not_declare_is_refused(ballotine: Command, votes: str) -> None:
    fixed = ballotine(
        *("vote", votes, *NAME, "--flip-rate", "1", "--classes", "3", "--delta", "1e-5"),
        *("--mode", "fixed", "--queries", "5"),
    )
    assert fixed.returncode == 2
    assert "no proven envelope" in fixed.stderr
    with pytest.raises(ParameterError, match="individual budgets work with gnmax"):
        PermuteAndFlip(1.0).events(3, Reach(weight=2.0))


@dataclass(frozen=True)
class Seeded(GNMax):
    """Its parameter has the name of an option that the commands have."""

    seed: float = field(default=1.0, metadata=parameter("Not the seed of the noise."))
    name: ClassVar[str] = "seeded"


def test_the_options_of_a_command_are_its_own(ballotine: Command, votes: str) -> None:
    register(Seeded)
    given = ("account", votes, "-m", "seeded", "--sigma", "8", "--delta", "1e-5", "--json")
    told = [json.loads(ballotine(*given, "--seed", seed).stdout) for seed in ("7", "7")]
    assert told[0] == told[1]
    assert "Not the seed" not in ballotine("account", "--help").stdout


def test_it_may_name_cases_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("flipping_cases")
    (case,) = select(["permute-and-flip"])
    module.CASES = (replace(case, name="permute-and-flip/pure"),)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "flipping_cases", module)
    monkeypatch.setattr(PermuteAndFlip, "verified_by", ("flipping_cases",))
    assert [case.name for case in select(["permute-and-flip"])] == ["permute-and-flip/pure"]
    assert len(select([])) == len(CASES) + 1

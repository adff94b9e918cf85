"""Voting on saved files as a person would type it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ballotine.data.ballots import open_votes
from ballotine.ledger import Mode
from ballotine.noise import SeededNoise
from ballotine.privacy.guarantee import Budget
from ballotine.voting import BinaryVoting, ConfidentGNMax, Mechanism
from ballotine.voting.saved import Rule, SavedVotes, vote
from tests.conftest import Command

CONFIDENT = (
    "-m",
    "confident-gnmax",
    "--sigma",
    "8",
    "--threshold",
    "30",
    "--sigma-threshold",
    "20",
)
BUDGET = ("--epsilon", "6", "--delta", "1e-5")


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> None:
    draw = np.random.default_rng(1)
    shares = draw.dirichlet([6.0, 1.0, 1.0, 0.3], size=120)
    np.save(tmp_path / "votes.npy", [draw.choice(4, size=50, p=share) for share in shares])
    rates = draw.beta(0.4, 0.6, size=(40, 1, 5))
    np.save(tmp_path / "labels.npy", (draw.random((40, 21, 5)) < rates).astype(np.uint8))
    rows = [f"{i},{'old' if i < 20 else 'young'}" for i in range(50)]
    (tmp_path / "groups.csv").write_text("\n".join(["teacher,group", *rows]))


def run(ballotine: Command, *arguments: str) -> dict[str, object]:
    done = ballotine(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    found: dict[str, object] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(
    ("name", "mechanism", "typed"),
    [
        ("votes.npy", ConfidentGNMax(8.0, 30.0, 20.0), (*CONFIDENT, "--classes", "4")),
        ("labels.npy", BinaryVoting(9.0), ("-m", "binary", "--sigma", "9")),
    ],
)
def test_typed_and_in_python_it_is_the_same(
    ballotine: Command, tmp_path: Path, name: str, mechanism: Mechanism, typed: tuple[str, ...]
) -> None:
    done = run(
        ballotine, "vote", name, *typed, *BUDGET, "--seed", "3", "--ledger", "l.sqlite",
        "--out", "answers.npz",
    )  # fmt: skip
    rule = Rule(mechanism, Mode.STRICT, 1e-5, Budget(6.0, 1e-5))
    classes = 4 if name == "votes.npy" else None
    votes = SavedVotes.of(open_votes(tmp_path / name), mechanism, classes)
    answers, guarantee = vote(votes, rule, None, SeededNoise(3))
    with np.load(tmp_path / "answers.npz") as written:
        assert np.array_equal(written["answers"], answers.labels)
        assert json.loads(str(written["guarantee"]))["epsilon"] == done["epsilon"]
    assert done["answered"] == answers.answered.sum()
    assert done["epsilon"] == guarantee.to_dict()["epsilon"]


def test_modes_and_groups(ballotine: Command, tmp_path: Path) -> None:
    base = ("vote", "votes.npy", *CONFIDENT, "--delta", "1e-5", "--classes", "4", "--seed", "1")
    fixed = run(ballotine, *base, "--mode", "fixed", "--queries", "100", "--ledger", "f.sqlite")
    assert (fixed["mode"], fixed["queries"]) == ("fixed", 100)
    assert float(str(fixed["epsilon"])) <= float(fixed["budget"]["epsilon"])  # type: ignore[index]
    shown = run(ballotine, "ledger", "show", "f.sqlite")
    assert shown["published"]["epsilon"] <= fixed["epsilon"]  # type: ignore[index,operator]
    paper = run(ballotine, *base, "--mode", "paper", "--epsilon", "2", "--ledger", "p.sqlite")
    assert paper["kind"] == "not releasable"
    shown = ballotine("ledger", "show", "p.sqlite")
    assert "nothing holds" in shown.stdout
    groups = ("--weights", "groups.csv", "--group-budgets", "old=1,young=2")
    by_group = run(ballotine, *base, *groups, "--ledger", "g.sqlite")
    assert {g["group"] if "group" in g else g["name"] for g in by_group["groups"]} == {  # type: ignore[attr-defined]
        "old",
        "young",
    }
    assert "young" in ballotine("ledger", "show", "g.sqlite").stdout
    accounted = run(ballotine, "account", *base[1:], *groups, "--bounds", "tight")
    assert {g["group"]: g["budget"] for g in accounted["groups"]} == {"old": 1.0, "young": 2.0}  # type: ignore[attr-defined]


@pytest.mark.parametrize("bounds", ["published", "tight", "exact"])
@pytest.mark.parametrize(
    "typed",
    [
        ("-m", "clipped", "--tau", "1.8", "--sigma", "9"),
        ("-m", "binary", "--sigma", "9", "--threshold", "14", "--sigma-threshold", "6"),
        ("-m", "powerset", "--tau", "3", "--sigma", "9"),
    ],
    ids=lambda typed: typed[1],
)
def test_labels_are_accounted(ballotine: Command, typed: tuple[str, ...], bounds: str) -> None:
    base = ("account", "labels.npy", *typed, "--delta", "1e-5", "--seed", "0", "--bounds", bounds)
    found = run(ballotine, *base)
    assert found["queries"] == 40
    assert float(str(found["epsilon"])) > 0
    private = "data-independent" if bounds == "tight" else "data-dependent, private"
    assert found["kind"] == private
    if bounds == "exact":
        tight = run(ballotine, *base[:-1], "tight")
        assert float(str(found["epsilon"])) <= float(str(tight["epsilon"])) * 1.000001


@pytest.mark.parametrize(
    ("arguments", "code", "word"),
    [
        (("votes.npy", *CONFIDENT, "--delta", "1e-5"), 2, "needs a budget"),
        (("votes.npy", *CONFIDENT, *BUDGET, "--mode", "loose"), 2, "unknown mode"),
        (("votes.npy", *CONFIDENT, "--delta", "1e-5", "--mode", "fixed"), 2, "--queries"),
        (("votes.npy", *CONFIDENT, *BUDGET, "--out", "a.csv"), 2, ".npz"),
        (("votes.npy", *CONFIDENT, *BUDGET, "--weights", "groups.csv"), 2, "together"),
        (("labels.npy", *CONFIDENT, *BUDGET), 3, "needs votes of shape"),
        (("votes.npy", *CONFIDENT, "--epsilon", "0.01", "--delta", "1e-5"), 4, "one costs"),
        (("votes.npy", "-m", "lnmax", *BUDGET), 2, "needs gamma"),
        (("votes.npy", *CONFIDENT, *BUDGET, "--ledger", "no/such/l.sqlite"), 5, "cannot be"),
    ],
)
def test_bad_input(ballotine: Command, arguments: tuple[str, ...], code: int, word: str) -> None:
    done = ballotine("vote", *arguments)
    assert done.returncode == code, done.stderr
    assert word in done.stderr

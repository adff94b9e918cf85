"""Answering and accounting saved votes gives no tally away, in Python or on a command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ballotine.data.ballots import open_votes
from ballotine.ledger import Ledger, Mode
from ballotine.noise import QueryNoise, SecureNoise, SeededNoise
from ballotine.privacy import exact
from ballotine.privacy.orders import DEFAULT_ORDERS
from ballotine.voting import (
    BinaryVoting,
    ClippedVoting,
    ConfidentGNMax,
    GNMax,
    InteractiveGNMax,
    LNMax,
    Plan,
    PowersetVoting,
    Rules,
    Tallies,
)
from ballotine.voting.account import Accountant
from ballotine.voting.mechanism import Mechanism
from ballotine.voting.saved import SavedVotes, vote
from tests.conftest import Command, Ended
from tests.private.search import Wanted
from tests.private.voters import (
    BALLOTS,
    CLASSES,
    LABEL_BALLOTS,
    LABEL_TALLIES,
    QUERIES,
    TALLIES,
    TEACHERS,
)

SINGLE = (GNMax(15.0), ConfidentGNMax(15.0, 20.0, 20.0), LNMax(0.1))
SEVERAL = (
    BinaryVoting(15.0),
    BinaryVoting(15.0, threshold=50.0, sigma_threshold=20.0),
    ClippedVoting(9.0, tau=1.8),
    PowersetVoting(15.0, tau=3),
)
FEW = BALLOTS[:, :20]
"""Ballots of fewer teachers: planning how to publish an ε takes longer with more."""
FEW_TALLIES = np.stack([(label == FEW).sum(axis=1) for label in range(CLASSES)], axis=1)

WANTED = Wanted.votes(BALLOTS, TALLIES)
WANTED_LABELS = Wanted.votes(LABEL_BALLOTS, LABEL_TALLIES)
WANTED_FEW = Wanted.votes(FEW, FEW_TALLIES)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Votes in every form that can be read."""
    np.save(tmp_path / "ballots.npy", BALLOTS.astype(np.uint8))
    np.save(tmp_path / "tallies.npy", TALLIES)
    np.save(tmp_path / "labels.npy", LABEL_BALLOTS)
    np.save(tmp_path / "few.npy", FEW)
    columns = {f"teacher {place}": column for place, column in enumerate(BALLOTS.T)}
    pq.write_table(pa.table(columns), tmp_path / "ballots.parquet")
    lines = [f"{place},{place % 3}" for place in range(TEACHERS)]
    (tmp_path / "groups.csv").write_text("\n".join(["teacher,group", *lines]) + "\n")
    return tmp_path


def saved(path: Path, mechanism: Mechanism) -> SavedVotes:
    classes = None if mechanism.multilabel else CLASSES
    return SavedVotes.of(
        open_votes(path), mechanism, classes, tallies=path.name.startswith("tallies")
    )


def leaks_in_ledger(path: Path, wanted: Wanted) -> list[str]:
    files = sorted(path.parent.glob(f"{path.name}*"))
    assert path in files
    with Ledger.existing(path) as book:
        found = wanted.leaks([book, list(book.entries()), repr(book)], "ledger")
        return found + [where for file in files for where in wanted.leaks_in_file(file)]


@pytest.mark.parametrize("mode", [Mode.STRICT, Mode.PAPER])
@pytest.mark.parametrize("name", ["ballots.npy", "ballots.parquet", "tallies.npy", "labels.npy"])
def test_answers_and_ledger_show_no_tally(folder: Path, name: str, mode: Mode) -> None:
    several = name.startswith("labels")
    wanted = WANTED_LABELS if several else WANTED
    for number, mechanism in enumerate(SEVERAL if several else SINGLE):
        ledger = folder / f"{mode}{number}.sqlite"
        votes = saved(folder / name, mechanism)
        plan = Plan.standard_of(mechanism, TEACHERS, 1e-5, 400.0)
        rule = Rules(plan, votes.classes, mode)
        released = vote(votes, rule, ledger, SecureNoise())
        assert released[0].asked.all()
        assert wanted.leaks([released, str(released[1]), rule], mechanism.name) == []
        assert leaks_in_ledger(ledger, wanted) == []


def test_a_published_epsilon_shows_neither_tallies_nor_their_cost(folder: Path) -> None:
    mechanism = GNMax(10.0)
    votes = saved(folder / "few.npy", mechanism)
    plan = Plan.standard_of(mechanism, FEW.shape[1], 1e-5)
    rules = Rules(plan, CLASSES, Mode.FIXED, QUERIES)
    ledger = folder / "fixed.sqlite"
    answers, guarantee, _ = vote(votes, rules, ledger, SecureNoise())
    assert WANTED_FEW.leaks([answers, guarantee, str(guarantee)], "released") == []
    assert leaks_in_ledger(ledger, WANTED_FEW) == []
    private = Accountant(plan, "exact", SecureNoise())
    private.add(FEW, CLASSES, 1e-5)
    cost = f"{private.result(1e-5).epsilon:.7f}"
    with Ledger.existing(ledger) as book:
        text = json.dumps([entry.payload for entry in book.entries()])
    assert "statement" in text
    assert cost not in text + str(guarantee) + json.dumps(guarantee.to_dict())


@pytest.mark.parametrize("bounds", ["tight", "published", "exact"])
def test_an_accountant_keeps_tallies_to_itself(bounds: Any) -> None:
    for mechanism, votes, classes, wanted in (
        (SINGLE[0], BALLOTS, CLASSES, WANTED),
        (SINGLE[1], Tallies(TALLIES), CLASSES, WANTED),
        (SEVERAL[0], LABEL_BALLOTS, LABEL_BALLOTS.shape[2], WANTED_LABELS),
    ):
        plan = Plan.standard_of(mechanism, TEACHERS, 1e-5)
        accountant = Accountant(plan, bounds, SeededNoise(0))
        readings = accountant.add(votes, classes, 1e-5)
        assert "private" in str(readings)
        result = accountant.result(1e-5)
        assert result.queries == QUERIES
        assert wanted.leaks([result, repr(result), repr(accountant)], "result") == []
        assert wanted.leaks(accountant, "accountant", holder=True) == []


def test_a_student_in_between_shows_no_tally() -> None:
    mechanism = InteractiveGNMax(15.0, 10.0, 20.0, 0.9)
    opinions = np.full((QUERIES, CLASSES), 1.0 / CLASSES)
    tallies = mechanism.with_student(Tallies(TALLIES), opinions, TEACHERS)
    noise = QueryNoise(SecureNoise(), [bytes([query]) for query in range(QUERIES)])
    assert WANTED.leaks(mechanism.ask(tallies, noise), "asked") == []


CONFIDENT = (
    *("--mechanism", "confident-gnmax", "--sigma", 15, "--threshold", 20),
    *("--sigma-threshold", 20, "--delta", "1e-5"),
)
SIX = ("--classes", 6)
LOOSE = ("--epsilon", 400, "--delta", "1e-5")
FILES = ("--ledger", "l.sqlite", "--out", "answers.npz")
GROUPS = ("ballots.npy", "-m", "gnmax", "--sigma", 15, "--delta", "1e-5", "--weights", "groups.csv")
COMMANDS: dict[str, tuple[Any, ...]] = {
    "vote": (
        "vote",
        "ballots.npy",
        *CONFIDENT,
        *SIX,
        "--epsilon",
        400,
        "--ledger",
        "l",
        "--out",
        "o.npz",
    ),
    "vote again": ("vote", "ballots.npy", *CONFIDENT, *SIX, "--epsilon", 400, "--json"),
    "vote on tallies": ("vote", "tallies.npy", "--tallies", *CONFIDENT, "--epsilon", 400),
    "vote as papers do": (
        "vote",
        "ballots.npy",
        *CONFIDENT,
        *SIX,
        "--epsilon",
        2,
        "--mode",
        "paper",
    ),
    "vote on labels": ("vote", "labels.npy", "-m", "clipped", "--tau", 1.8, "--sigma", 9, *LOOSE),
    "vote on sets": ("vote", "labels.npy", "-m", "powerset", "--sigma", 9, *LOOSE, "--json"),
    "account": ("account", "ballots.parquet", *CONFIDENT, "--classes", 6, "--json"),
    "account with a curve": ("account", "ballots.npy", *CONFIDENT, "--curve", "curve.csv"),
    "account of groups": ("account", *GROUPS, "--group-budgets", "1,2,3", "--bounds", "published"),
    "vote of groups": ("vote", *GROUPS, *SIX, "--group-budgets", "4,8,12"),
    "too little": ("vote", "ballots.npy", *CONFIDENT, *SIX, "--epsilon", 0.01),
    "wrong axes": ("vote", "labels.npy", *CONFIDENT, *SIX, "--epsilon", 4),
    "too few classes": ("vote", "ballots.npy", *CONFIDENT, "--classes", 3, "--epsilon", 4),
    "no classes": ("vote", "ballots.npy", *CONFIDENT, "--epsilon", 4),
    "tallies as ballots": ("vote", "tallies.npy", *CONFIDENT, "--classes", 98, "--epsilon", 4),
    "not tallies": ("account", "labels.npy", "--tallies", *CONFIDENT),
}
FAILING = {
    "too little": 4,
    "wrong axes": 3,
    "too few classes": 3,
    "no classes": 2,
    "tallies as ballots": 3,
    "not tallies": 3,
}


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_show_no_tally(ballotine: Command, folder: Path, name: str) -> None:
    before = set(folder.iterdir())
    ended: Ended = ballotine(*COMMANDS[name], BALLOTINE_DEBUG="1")
    assert ended.returncode == FAILING.get(name, 0), ended.stderr
    wanted = WANTED_LABELS if "labels" in str(COMMANDS[name][1]) else WANTED
    assert wanted.leaks([ended.stdout, ended.stderr], name) == []
    for path in sorted(set(folder.iterdir()) - before):
        assert wanted.leaks_in_file(path) == [], path.name


def test_an_accountant_keeps_data_dependent_costs_locked() -> None:
    mechanism = GNMax(15.0)
    plan = Plan.standard_of(mechanism, TEACHERS, 1e-5)
    accountant = Accountant(plan, "exact", SecureNoise())
    accountant.add(BALLOTS, CLASSES, 1e-5)
    total = exact.gnmax(TALLIES, DEFAULT_ORDERS, mechanism.sigma).sum(axis=0)
    costs = Wanted([total])
    assert costs.in_array(total)
    bare = costs.leaks(accountant, "accountant", holder=True)
    assert [where for where in bare if "closure" not in where] == []

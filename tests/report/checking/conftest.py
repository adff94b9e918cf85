"""Real runs and votes, their ledgers and cards, made once and copied for every test.

Their noise is seeded, so that what a test changes is there to be changed.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ballotine.cli.vote import _write
from ballotine.data.ballots import open_votes
from ballotine.errors import BallotineError
from ballotine.ledger import Ledger, Mode
from ballotine.noise import SeededNoise
from ballotine.pipeline import Run, RunFile, create_folder
from ballotine.report import build_card, write_card
from ballotine.report.checking import Checked, check_statement
from ballotine.report.receipt import build_receipt, write_receipt
from ballotine.signing import load_signer, new_key
from ballotine.voting import BinaryVoting, ConfidentGNMax, Plan, Rules
from ballotine.voting.saved import SavedVotes, vote
from tests.conftest import RUNFILE, write_table

CONFIDENT = ConfidentGNMax(8.0, 30.0, 20.0)
DELTA = 1e-5
KINDS = ("run", "groups", "vote", "labels", "fixed")
Change = Callable[[dict[str, Any]], object]


@dataclass(frozen=True)
class Case:
    """A ledger, and a card or receipt that was made from it."""

    statement: Path
    ledger: Path

    @property
    def content(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.statement.read_text(encoding="utf-8"))
        return found

    def check(self, key: str | None = None) -> Checked:
        with Ledger.existing(self.ledger) as ledger:
            return check_statement(self.statement, ledger, key)

    def refusal(self) -> BallotineError | None:
        """The message, if it is refused; any other error fails the test."""
        try:
            self.check()
        except BallotineError as problem:
            return problem
        return None

    def change(self, change: Change) -> None:
        """Rewrite the statement and remove its signature."""
        content = self.content
        change(content)
        content["signed_by"] = None
        self.statement.write_text(json.dumps(content), encoding="utf-8")
        self.statement.with_name(self.statement.name + ".sig").unlink(missing_ok=True)


def make_run(folder: Path, changes: tuple[tuple[str, str], ...] = ()) -> None:
    """A run on made-up people; one public row occurs twice in its table."""
    write_table(folder / "private.csv", 600, 1)
    write_table(folder / "public.csv", 150, 2, labelled=False)
    rows = (folder / "public.csv").read_text().splitlines()
    (folder / "public.csv").write_text("\n".join([*rows[:9], rows[1], *rows[9:]]) + "\n")
    write_table(folder / "test.csv", 120, 3)
    names = ["low" if place % 3 else "high" for place in range(600)]
    (folder / "groups.csv").write_text("\n".join(["group", *names]) + "\n")
    text = RUNFILE.replace("[run]\n", "[run]\nexperiment = true\nseed = 5\n")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (folder / "run.toml").write_text(text)
    settings = RunFile.load(folder / "run.toml")
    place = create_folder(settings)
    write_card(place, build_card(Run(settings, place).execute()), load_signer())


def make_vote(folder: Path, rules: Rules) -> None:
    """A vote on made-up ballots."""
    mechanism = rules.mechanism
    draw = np.random.default_rng(1)
    if mechanism.multilabel:
        rates = draw.beta(0.4, 0.6, size=(40, 1, 5))
        votes = (draw.random((40, 21, 5)) < rates).astype(np.uint8)
    else:
        shares = draw.dirichlet([6.0, 1.0, 1.0, 0.3], size=120)
        votes = np.array([draw.choice(4, size=50, p=share) for share in shares])
    np.save(folder / "votes.npy", votes)
    classes = None if mechanism.multilabel else 4
    file = open_votes(folder / "votes.npy")
    saved = SavedVotes.of(file, mechanism, classes, queries=rules.queries)
    path = folder / "private.ledger.sqlite"
    answers, guarantee, anchor = vote(saved, rules, path, SeededNoise(5))
    _write(folder / "a.npz", answers, guarantee)
    receipt = build_receipt(answers, guarantee, mechanism, anchor, folder / "a.npz")
    write_receipt(folder / "a.receipt.json", receipt, load_signer())


GROUPED = (
    ("sigma = 5.0\n", "sigma = 8.0\n"),
    ("epsilon = 6.0\n", ""),
    ("[budget]\n", '[individual]\nmethod = "weighting"\ngroups = "groups.csv"\n[budget]\n'),
    ("delta = 1e-5\n", "delta = 1e-5\ngroups = { low = 4.0, high = 8.0 }\n"),
)


@pytest.fixture(scope="session")
def originals(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One folder for each kind of card and receipt, all signed with one key."""
    if load_signer() is None:
        new_key()
    found = {name: tmp_path_factory.mktemp(name) for name in KINDS}
    make_run(found["run"])
    make_run(found["groups"], GROUPED)
    make_vote(found["vote"], Rules(Plan.standard_of(CONFIDENT, 50, DELTA, 6.0), 4))
    make_vote(found["labels"], Rules(Plan.standard_of(BinaryVoting(9.0), 21, DELTA, 20.0), 5))
    fixed = Rules(Plan.standard_of(CONFIDENT, 50, DELTA), 4, Mode.FIXED, 100)
    make_vote(found["fixed"], fixed)
    return found


@pytest.fixture
def make_case(originals: dict[str, Path], tmp_path: Path) -> Callable[[str], Case]:
    """A copy that a test may change."""

    def make(kind: str) -> Case:
        folder = tmp_path / kind
        shutil.copytree(originals[kind], folder)
        run = kind in ("run", "groups")
        card = folder / "out" / "card.json" if run else folder / "a.receipt.json"
        return Case(card, folder / "private.ledger.sqlite")

    return make

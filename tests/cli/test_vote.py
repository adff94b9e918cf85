"""Voting on saved files as a person would type it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from ballotine.data.ballots import open_votes
from ballotine.ledger import Ledger
from ballotine.noise import SeededNoise
from ballotine.voting import BinaryVoting, ConfidentGNMax, Mechanism, Plan, Rules
from ballotine.voting.saved import SavedVotes, vote
from tests.conftest import Command

CONFIDENT = (
    *("-m", "confident-gnmax", "--sigma", "8"),
    *("--threshold", "30", "--sigma-threshold", "20", "--classes", "4"),
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
        ("votes.npy", ConfidentGNMax(8.0, 30.0, 20.0), CONFIDENT),
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
    classes = 4 if name == "votes.npy" else None
    votes = SavedVotes.of(open_votes(tmp_path / name), mechanism, classes)
    rules = Rules(Plan.standard_of(mechanism, votes.teachers, 1e-5, 6.0), votes.classes)
    answers, guarantee, _ = vote(votes, rules, None, SeededNoise(3))
    with np.load(tmp_path / "answers.npz") as written:
        assert np.array_equal(written["answers"], answers.labels)
        assert json.loads(str(written["guarantee"]))["epsilon"] == done["epsilon"]
    assert done["answered"] == answers.answered.sum()
    assert done["epsilon"] == guarantee.to_dict()["epsilon"]


def test_modes_and_groups(ballotine: Command, tmp_path: Path) -> None:
    base = ("vote", "votes.npy", *CONFIDENT, "--delta", "1e-5", "--seed", "1")
    fixed = run(ballotine, *base, "--mode", "fixed", "--queries", "100", "--ledger", "f.sqlite")
    assert (fixed["mode"], fixed["queries"]) == ("fixed", 100)
    assert float(str(fixed["epsilon"])) <= float(fixed["budget"]["epsilon"])  # type: ignore[index]
    shown = run(ballotine, "ledger", "show", "f.sqlite")
    assert shown["published"]["epsilon"] <= fixed["epsilon"]  # type: ignore[index,operator]
    paper = run(ballotine, *base, "--mode", "paper", "--epsilon", "2", "--ledger", "p.sqlite")
    assert paper["kind"] == "not releasable"
    shown = ballotine("ledger", "show", "p.sqlite")
    assert "nothing is guaranteed" in shown.stdout
    groups = ("--weights", "groups.csv", "--group-budgets", "old=1,young=2")
    by_group = run(ballotine, *base, *groups, "--ledger", "g.sqlite")
    assert {g["group"] if "group" in g else g["name"] for g in by_group["groups"]} == {  # type: ignore[attr-defined]
        "old",
        "young",
    }
    assert "young" in ballotine("ledger", "show", "g.sqlite").stdout
    accounted = run(ballotine, "account", *base[1:], *groups, "--bounds", "tight")
    assert {g["group"]: g["budget"] for g in accounted["groups"]} == {"old": 1.0, "young": 2.0}  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "typed",
    [
        ("-m", "clipped", "--tau", "1.8", "--sigma", "9"),
        ("-m", "binary", "--sigma", "9", "--threshold", "14", "--sigma-threshold", "6"),
        ("-m", "powerset", "--sigma", "9"),
    ],
    ids=lambda typed: typed[1],
)
@pytest.mark.parametrize(
    ("head", "method"),
    [("teacher,group", "weighting"), ("teacher,group", "vanishing"), ("group,copies", "weighting")],
    ids=["weighting", "vanishing", "upsampling"],
)
def test_labels_of_groups(
    ballotine: Command, tmp_path: Path, typed: tuple[str, ...], head: str, method: str
) -> None:
    rows = [f"{i},{'old' if i < 11 else 'young'}" for i in range(21)]
    if head == "group,copies":
        rows = ["old,1", "young,2"]
    (tmp_path / "seats.csv").write_text("\n".join([head, *rows]))
    base = ("labels.npy", *typed, "--delta", "1e-5", "--seed", "1")
    groups = ("--weights", "seats.csv", "--group-budgets", "old=6,young=16", "--individual", method)
    done = run(ballotine, "vote", *base, *groups, "--ledger", "g.sqlite", "--out", "a.npz")
    assert 0 < int(str(done["queries"])) <= 40
    spent = {each["name"]: each for each in done["groups"]}  # type: ignore[attr-defined]
    assert {name: each["budget"] for name, each in spent.items()} == {"old": 6.0, "young": 16.0}
    assert all(0 < each["epsilon"] <= each["budget"] for each in spent.values())
    again = run(ballotine, "vote", *base, *groups, "--ledger", "g.sqlite")
    assert again["queries"] == done["queries"], "the same queries cost nothing more"
    assert "young" in ballotine("ledger", "show", "g.sqlite").stdout
    assert ballotine("ledger", "verify", "g.sqlite").returncode == 0
    accounted = run(ballotine, "account", *base, *groups, "--bounds", "tight")
    assert {g["group"]: g["budget"] for g in accounted["groups"]} == {"old": 6.0, "young": 16.0}  # type: ignore[attr-defined]


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


def signature_fits(path: Path) -> bool:
    """By the library alone, as the documentation shows it."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    key = load_pem_public_key(path.with_name("holder.pub").read_bytes())
    assert isinstance(key, Ed25519PublicKey)
    try:
        key.verify(path.with_name(path.name + ".sig").read_bytes(), path.read_bytes())
    except InvalidSignature:
        return False
    return True


class TestReceipt:
    asked = ("vote", "votes.npy", *CONFIDENT, *BUDGET, "--ledger", "l.sqlite")

    def test_it_tells_what_was_released_and_where_the_ledger_stood(
        self, ballotine: Command, tmp_path: Path
    ) -> None:
        found = run(ballotine, *self.asked, "--out", "a.npz")
        receipt = json.loads((tmp_path / "a.receipt.json").read_text())
        assert receipt["guarantee"]["epsilon"] == found["epsilon"]
        assert receipt["queries"] == {
            "pool": found["pool"],
            "asked": found["queries"],
            "answered": found["answered"],
        }
        with Ledger.existing(tmp_path / "l.sqlite") as ledger:
            head = ledger.head()
        assert receipt["ledger"] == {"id": head.ledger, "seq": head.seq, "hash": head.hash}
        assert receipt["ledger"] == found["ledger"]
        content = (tmp_path / "a.npz").read_bytes()
        assert receipt["answers"] == {"file": "a.npz", "sha256": sha256(content).hexdigest()}
        assert receipt["mechanism"] == json.loads(ConfidentGNMax(8.0, 30.0, 20.0).describe())
        assert receipt["signed_by"] is None
        assert not (tmp_path / "a.receipt.json.sig").exists()

    def test_without_a_file_the_anchor_is_printed(self, ballotine: Command, tmp_path: Path) -> None:
        done = ballotine(*self.asked)
        with Ledger.existing(tmp_path / "l.sqlite") as ledger:
            assert ledger.head().hash in done.stdout
        assert list(tmp_path.glob("*receipt*")) == []
        assert ballotine(*self.asked, "--receipt", "r.json").returncode == 0
        receipt = json.loads((tmp_path / "r.json").read_text())
        assert receipt["answers"] is None
        assert receipt["ledger"]["hash"] in done.stdout  # asking again spent nothing

    def test_a_key_signs_it(self, ballotine: Command, tmp_path: Path) -> None:
        made = ballotine("key", "new").stdout
        done = ballotine(*self.asked, "--out", "a.npz")
        receipt = tmp_path / "a.receipt.json"
        fingerprint = json.loads(receipt.read_text())["signed_by"]
        assert fingerprint in made
        assert fingerprint[:19] in done.stdout
        assert signature_fits(receipt)
        receipt.write_text(receipt.read_text().replace('"format": 1', '"format": 2'))
        assert not signature_fits(receipt)

    @pytest.mark.parametrize(
        ("arguments", "word"),
        [
            (("--out", "a.npz"), "BALLOTINE_KEY_PASSPHRASE"),
            (("--receipt", "r.txt"), ".json"),
            (("--receipt", "no/r.json"), "does not exist"),
            (("--out", "no/a.npz"), "does not exist"),
        ],
    )
    def test_what_cannot_be_written_or_signed_spends_nothing(
        self, ballotine: Command, tmp_path: Path, arguments: tuple[str, ...], word: str
    ) -> None:
        assert ballotine("key", "new", BALLOTINE_KEY_PASSPHRASE="secret").returncode == 0
        done = ballotine(*self.asked, *arguments, BALLOTINE_KEY_PASSPHRASE="")
        assert done.returncode == 2
        assert word in done.stderr
        assert not (tmp_path / "l.sqlite").exists()

    @pytest.mark.parametrize(
        ("folder", "arguments"),
        [
            ("a.npz", ("--out", "a.npz")),
            ("a.receipt.json", ("--out", "a.npz")),
            ("r.json", ("--receipt", "r.json")),
            ("r.json.sig", ("--receipt", "r.json")),
        ],
    )
    def test_a_folder_in_the_place_of_a_file_spends_nothing(
        self, ballotine: Command, tmp_path: Path, folder: str, arguments: tuple[str, ...]
    ) -> None:
        (tmp_path / folder).mkdir()
        before = sorted(tmp_path.iterdir())
        done = ballotine(*self.asked, *arguments)
        assert done.returncode == 6, done.stdout
        assert f"{folder} is a folder" in done.stderr
        assert sorted(tmp_path.iterdir()) == before

    def test_signatures_of_another_key_keep_their_public_half(
        self, ballotine: Command, tmp_path: Path
    ) -> None:
        assert ballotine("key", "new").returncode == 0
        assert ballotine(*self.asked, "--out", "a.npz").returncode == 0
        other = {"BALLOTINE_HOME": str(tmp_path / "other")}
        assert ballotine("key", "new", **other).returncode == 0
        refused = ballotine(*self.asked, "--out", "b.npz", **other)
        assert refused.returncode == 2
        assert "another folder" in refused.stderr
        assert signature_fits(tmp_path / "a.receipt.json")

    def test_a_ledger_that_was_put_back_is_found(self, ballotine: Command, tmp_path: Path) -> None:
        """Else the same budget could be spent again and again."""
        some = (*self.asked, "--queries", "10", "--out")
        assert ballotine(*some, "first.npz").returncode == 0
        shutil.copy(tmp_path / "l.sqlite", tmp_path / "old.sqlite")
        assert ballotine(*self.asked, "--out", "second.npz").returncode == 0
        check = ("ledger", "verify", "l.sqlite", "--card")
        for receipt in ("first.receipt.json", "second.receipt.json"):
            assert ballotine(*check, receipt).returncode == 0
        shutil.copy(tmp_path / "old.sqlite", tmp_path / "l.sqlite")
        assert ballotine(*check, "first.receipt.json").returncode == 0
        found = ballotine(*check, "second.receipt.json")
        assert found.returncode == 5
        assert "older than its card" in found.stderr

    def test_a_seed_of_an_earlier_vote_is_told(self, ballotine: Command, tmp_path: Path) -> None:
        seeded = ballotine(*self.asked, "--queries", "10", "--seed", "1")
        assert seeded.returncode == 0, seeded.stderr
        assert ballotine(*self.asked, "--out", "a.npz").returncode == 0
        place = tmp_path / "a.receipt.json"
        receipt = json.loads(place.read_text())
        assert receipt["guarantee"]["seeded"] is True
        check = ("ledger", "verify", "l.sqlite", "--card", "a.receipt.json")
        assert ballotine(*check).returncode == 0
        receipt["guarantee"]["seeded"] = False
        place.write_text(json.dumps(receipt))
        refused = ballotine(*check)
        assert refused.returncode == 5
        assert "came from a seed" in refused.stderr


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_output_that_knows_no_greek_loses_no_paid_answer(tmp_path: Path, encoding: str) -> None:
    np.save(tmp_path / "votes.npy", np.random.default_rng(0).integers(0, 3, (9, 20)))
    options = "votes.npy -m gnmax --sigma 40 --epsilon 2 --delta 1e-5 --classes 3"
    told = subprocess.run(
        [sys.executable, "-m", "ballotine", "vote", *options.split(), "--ledger", "book.sqlite"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONIOENCODING": encoding, "NO_COLOR": "1", "COLUMNS": "200"},
        capture_output=True,
    )
    assert told.returncode == 0, told.stderr
    assert rb"\u03b5" in told.stdout

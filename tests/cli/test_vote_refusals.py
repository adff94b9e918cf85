"""What ``ballotine vote`` refuses, and that refusing costs nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ballotine.cli.console import RichProgress
from ballotine.ledger import Ledger
from tests.conftest import Command

QUERIES, TEACHERS, CLASSES = 60, 15, 3
GNMAX = ("-m", "gnmax", "--sigma", "4")
THREE = ("--classes", "3")
BUDGET = ("--epsilon", "6", "--delta", "1e-5")
FIXED = ("--mode", "fixed", "--delta", "1e-5", "--queries", "60")


def ballots(queries: int = QUERIES, seed: int = 0) -> np.ndarray:
    draw = np.random.default_rng(seed)
    shares = draw.dirichlet([4.0, 1.0, 0.5], size=queries)
    return np.array([draw.choice(CLASSES, size=TEACHERS, p=share) for share in shares])


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> None:
    np.save(tmp_path / "votes.npy", ballots())
    np.save(tmp_path / "others.npy", ballots(seed=1))


def head_of(path: Path) -> tuple[int, str]:
    """Where the ledger stands; a ledger that was never made stands nowhere."""
    if not path.exists():
        return 0, ""
    with Ledger.existing(path) as ledger:
        head = ledger.head()
        return head.seq, head.hash


def asked_in(path: Path) -> int:
    if not path.exists():
        return 0
    with Ledger.existing(path) as ledger:
        return ledger.spending().asked


class TestFixed:
    """A published ε is about the queries it was computed from, and about no others."""

    def begin(self, ballotine: Command, monkeypatch: pytest.MonkeyPatch) -> None:
        """Ask, and press Ctrl-C when 40 of 60 are answered."""

        @contextmanager
        def stage(_self: object, _name: str, _total: object) -> Iterator[Callable[[int], None]]:
            done = []

            def advance(steps: int) -> None:
                done.append(steps)
                if sum(done) >= 40:
                    raise KeyboardInterrupt

            yield advance

        with monkeypatch.context() as patch:
            patch.setattr("ballotine.voting.saved.CHUNK", 20)
            patch.setattr(RichProgress, "stage", stage)
            ended = ballotine("vote", "votes.npy", *GNMAX, *THREE, *FIXED, "--ledger", "l.sqlite")
        assert ended.returncode != 0

    @pytest.mark.parametrize(
        ("arguments", "word"),
        [
            (("others.npy", *GNMAX, *THREE, *FIXED), "these are not the same"),
            (("votes.npy", "-m", "gnmax", "--sigma", "8", *THREE, *FIXED), "mechanism was fixed"),
            (("votes.npy", *GNMAX, "--classes", "4", *FIXED), "number of classes was fixed"),
            (("votes.npy", *GNMAX, *THREE, *FIXED, "--delta", "1e-6"), "δ was fixed"),
            (("votes.npy", *GNMAX, *THREE, *FIXED, "--queries", "50"), "number of queries was"),
            (("votes.npy", *GNMAX, *THREE, *BUDGET), "in fixed mode"),
        ],
        ids=["file", "sigma", "classes", "delta", "queries", "strict"],
    )
    def test_it_goes_on_with_what_it_was_begun_with_or_not_at_all(
        self,
        ballotine: Command,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        arguments: tuple[str, ...],
        word: str,
    ) -> None:
        self.begin(ballotine, monkeypatch)
        path = tmp_path / "l.sqlite"
        assert asked_in(path) == 40
        head = head_of(path)
        refused = ballotine("vote", *arguments, "--ledger", "l.sqlite")
        assert refused.returncode == 5, refused.stdout
        assert word in refused.stderr
        assert head_of(path) == head
        ended = ballotine(
            "vote", "votes.npy", *GNMAX, *THREE, *FIXED, "--ledger", "l.sqlite", "--json"
        )
        assert ended.returncode == 0, ended.stderr
        found = json.loads(ended.stdout)
        assert (found["queries"], asked_in(path)) == (60, 60)

    @pytest.mark.parametrize("stated", ["100", "61"])
    def test_the_number_that_is_stated_is_the_number_of_queries(
        self, ballotine: Command, tmp_path: Path, stated: str
    ) -> None:
        fixed = ("--mode", "fixed", "--delta", "1e-5", "--queries", stated)
        refused = ballotine("vote", "votes.npy", *GNMAX, *THREE, *fixed, "--ledger", "l.sqlite")
        assert refused.returncode == 2, refused.stdout
        assert f"{stated} queries were fixed beforehand, but the file has 60" in refused.stderr
        assert not (tmp_path / "l.sqlite").exists()

    @pytest.mark.parametrize("last", [[7.5, 7.5, 0.0], [30, 1, 0], [3, 1, 0], [7, 7, 0]])
    def test_counts_whose_cost_cannot_be_published_burn_no_budget(
        self, ballotine: Command, tmp_path: Path, last: list[float]
    ) -> None:
        counts = np.stack([(ballots() == name).sum(axis=1) for name in range(3)], axis=1)
        np.save(tmp_path / "counts.npy", np.vstack([counts[:-1], [last]]))
        refused = ballotine(
            "vote", "counts.npy", "--tallies", *GNMAX, *FIXED, "--ledger", "l.sqlite"
        )
        assert refused.returncode == 3, refused.stdout
        assert "one whole vote each" in refused.stderr
        assert not (tmp_path / "l.sqlite").exists()

    def test_a_strict_ledger_pays_for_no_fixed_queries(
        self, ballotine: Command, tmp_path: Path
    ) -> None:
        some = ("votes.npy", *GNMAX, *THREE, "--queries", "5", "--ledger", "l.sqlite")
        assert ballotine("vote", *some, *BUDGET).returncode == 0
        head = head_of(tmp_path / "l.sqlite")
        refused = ballotine("vote", "votes.npy", *GNMAX, *THREE, *FIXED, "--ledger", "l.sqlite")
        assert refused.returncode == 5
        assert "strict mode, not in fixed mode" in refused.stderr
        assert head_of(tmp_path / "l.sqlite") == head

    def test_the_publication_stays_below_the_ceiling_it_prints(
        self, ballotine: Command, tmp_path: Path
    ) -> None:
        """Answers and publication, added up at the ledger's own order and converted by hand."""
        ended = ballotine(
            "vote", "votes.npy", *GNMAX, *THREE, *FIXED, "--ledger", "l.sqlite", "--json"
        )
        assert ended.returncode == 0, ended.stderr
        ceiling = json.loads(ended.stdout)["budget"]["epsilon"]
        with Ledger.existing(tmp_path / "l.sqlite") as ledger:
            spending = ledger.spending()
            ((_, account),) = spending.accounts.items()
            assert account.order is not None
            order = account.order
            plan = json.loads(ledger.terms.plan)
            cost = float(spending.cost(np.array([order]))[0])
        # Never below 0.6 of α/σ² for each answer; a published number costs α/(2σ²).
        number = order / (2 * plan["sigma"] ** 2)
        assert cost > number + 60 * 0.6 * order / 4.0**2
        assert cost + np.log(1 - 1 / order) - np.log(1e-5 * order) / (order - 1) <= ceiling


def spoilt(kind: str) -> np.ndarray:
    """Votes with one thing wrong; where it says so, far behind the first chunk."""
    votes: Any = ballots()
    if kind == "above the classes in row 3":
        votes[3, 4] = 3
    elif kind == "above the classes in the last row":
        votes = np.tile(ballots(500), (60, 1)).astype(np.uint8)
        votes[-1, 0] = 9
    elif kind == "NaN":
        votes = votes.astype(float)
        votes[3, 4] = np.nan
    elif kind == "NaN in the last row":
        votes = np.tile(ballots(500), (60, 1)).astype(np.float32)
        votes[-1, 0] = np.nan
    elif kind == "negative in the last row":
        votes = np.tile(ballots(500), (60, 1)).astype(np.int8)
        votes[-1, 0] = -1
    elif kind == "beyond any class":
        votes = votes.astype(np.uint64)
        votes[3, 4] = 2**64 - 1
    elif kind == "half votes":
        votes = votes + 0.5
    return votes


@pytest.mark.parametrize(
    "kind",
    [
        "above the classes in row 3",
        "above the classes in the last row",
        "NaN",
        "NaN in the last row",
        "negative in the last row",
        "beyond any class",
        "half votes",
    ],
)
def test_votes_that_cannot_be_counted_burn_no_budget(
    ballotine: Command, tmp_path: Path, kind: str
) -> None:
    np.save(tmp_path / "bad.npy", spoilt(kind))
    loose = ("--epsilon", "1e6", "--delta", "1e-5", "--ledger", "l.sqlite")
    refused = ballotine("vote", "bad.npy", *GNMAX, *THREE, *loose)
    assert refused.returncode == 3, refused.stdout
    assert asked_in(tmp_path / "l.sqlite") == 0
    assert "error: bad.npy" in refused.stderr
    assert "Traceback" not in refused.stderr
    # The same ledger pays for what can be counted.
    ended = ballotine("vote", "votes.npy", *GNMAX, *THREE, *loose)
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize("kind", ["uint64", "uint16", ">i4", "float32"])
def test_ballots_of_any_type_of_number_are_answered(
    ballotine: Command, tmp_path: Path, kind: str
) -> None:
    """Files of unsigned 64-bit numbers used to be paid for and then fail."""
    np.save(tmp_path / "votes.npy", ballots().astype(kind))
    loose = ("--epsilon", "1e6", "--delta", "1e-5", "--sigma", "0.01")
    ended = ballotine("vote", "votes.npy", "-m", "gnmax", *THREE, *loose, "--out", "a.npz")
    assert ended.returncode == 0, ended.stderr
    counts = np.stack([(ballots() == c).sum(axis=1) for c in range(CLASSES)], axis=1)
    clear = np.sort(counts, axis=1)[:, -1] > np.sort(counts, axis=1)[:, -2]
    with np.load(tmp_path / "a.npz") as written:
        assert np.array_equal(written["answers"][clear], counts.argmax(axis=1)[clear])


class TestTallies:
    """Counts that are taken for ballots would be answered with classes that do not exist."""

    counts = np.stack([(ballots() == c).sum(axis=1) for c in range(CLASSES)], axis=1)

    @pytest.fixture(autouse=True)
    def tallies(self, tmp_path: Path) -> None:
        np.save(tmp_path / "counts.npy", self.counts)
        np.save(tmp_path / "few.npy", np.array([[2, 1, 0], [1, 1, 1], [0, 1, 2]]))

    @pytest.mark.parametrize(
        ("arguments", "code", "word"),
        [
            (("counts.npy",), 2, "give it with --classes"),
            (("votes.npy",), 2, "give it with --classes"),
            (("counts.npy", "--classes", "3"), 3, "numbers above 2"),
            (("counts.npy", "--classes", "16"), 3, "all rows have the same sum"),
            (("few.npy", "--classes", "3"), 3, "all rows have the same sum"),
            (("few.npy", "--classes", "3", "--queries", "1"), 3, "all rows have the same sum"),
        ],
        ids=["counts", "ballots", "above", "sums", "few", "the first of few"],
    )
    def test_are_not_taken_for_ballots(
        self, ballotine: Command, tmp_path: Path, arguments: tuple[str, ...], code: int, word: str
    ) -> None:
        refused = ballotine("vote", *arguments, *GNMAX, *BUDGET, "--ledger", "l.sqlite")
        assert refused.returncode == code, refused.stdout
        assert word in refused.stderr
        assert "--tallies" in refused.stderr
        assert asked_in(tmp_path / "l.sqlite") == 0

    def test_are_counted_as_such_when_they_are_named(
        self, ballotine: Command, tmp_path: Path
    ) -> None:
        loose = ("-m", "gnmax", "--sigma", "0.01", "--epsilon", "1e6", "--delta", "1e-5")
        ended = ballotine("vote", "counts.npy", "--tallies", *loose, "--out", "a.npz")
        assert ended.returncode == 0, ended.stderr
        clear = np.sort(self.counts, axis=1)[:, -1] > np.sort(self.counts, axis=1)[:, -2]
        with np.load(tmp_path / "a.npz") as written:
            found = written["answers"]
        assert np.array_equal(found[clear], self.counts.argmax(axis=1)[clear])

    def test_ballots_that_look_like_them_need_a_word(
        self, ballotine: Command, tmp_path: Path
    ) -> None:
        typed = ("vote", "few.npy", *GNMAX, *THREE, "--epsilon", "20", "--delta", "1e-5")
        ended = ballotine(*typed, "--ballots", "--ledger", "l.sqlite")
        assert ended.returncode == 0, ended.stderr
        assert asked_in(tmp_path / "l.sqlite") == 3
        both = ballotine(*typed[:4], "--ballots", "--tallies", *typed[6:])
        assert both.returncode == 2
        # Above the classes nothing helps: such a ballot names nobody.
        above = ballotine(
            "vote", "counts.npy", *GNMAX, *THREE, *BUDGET, "--ballots", "--ledger", "m.sqlite"
        )
        assert above.returncode == 3
        assert asked_in(tmp_path / "m.sqlite") == 0

    def test_one_row_has_no_sum_to_compare(self, ballotine: Command, tmp_path: Path) -> None:
        np.save(tmp_path / "one.npy", np.array([[2, 1, 0, 0, 1]]))
        ended = ballotine("vote", "one.npy", *GNMAX, *THREE, "--epsilon", "9", "--delta", "1e-5")
        assert ended.returncode == 0, ended.stderr


def test_the_advice_on_too_small_a_budget_can_be_followed(
    ballotine: Command, tmp_path: Path
) -> None:
    typed = ("vote", "votes.npy", *GNMAX, *THREE, "--delta", "1e-5", "--ledger", "l.sqlite")
    refused = ballotine(*typed, "--epsilon", "0.001")
    assert refused.returncode == 4
    advice = re.search(r"a budget of ε = ([\d.]+) pays for one answer", refused.stderr)
    assert advice is not None, refused.stderr
    assert asked_in(tmp_path / "l.sqlite") == 0
    ended = ballotine(*typed, "--epsilon", advice[1])
    assert ended.returncode == 0, ended.stderr
    assert asked_in(tmp_path / "l.sqlite") == 1
    more = ballotine(*typed, "--epsilon", "6")
    assert more.returncode == 5, "a ledger that has paid keeps its budget"


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ((*GNMAX, "--bounds", "strict"), "bounds must be one of"),
        ((*GNMAX, "--conversion", "new"), "conversion must be one of"),
        (("-m", "lnmax", "--gamma", "0.1", "--bounds", "exact"), "lnmax has no exact"),
    ],
)
def test_an_analysis_that_does_not_exist_burns_no_budget(
    options: tuple[str, ...], complaint: str, ballotine: Command, tmp_path: Path
) -> None:
    done = ballotine(
        *("vote", "votes.npy", "--mode", "paper", "--ledger", "l.sqlite"),
        *(*THREE, *BUDGET, *options),
    )
    assert done.returncode == 2
    assert complaint in done.stderr
    assert asked_in(tmp_path / "l.sqlite") == 0

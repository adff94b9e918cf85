"""Planning and accounting as a person would type them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from ballotine.privacy import conversion, exact, plan, published, tight
from ballotine.privacy.events import GaussianArgmax
from ballotine.privacy.guarantee import Budget
from ballotine.privacy.orders import DEFAULT_ORDERS
from tests.conftest import Command

CONFIDENT = ("--mechanism", "confident-gnmax", "--threshold", "30", "--sigma-threshold", "20")
COMMON = ("--sigma", "8", "--delta", "1e-5", "--seed", "0", "--json")


@pytest.fixture
def votes(tmp_path: Path) -> np.ndarray:
    """Ballots of 50 teachers on 120 queries with 4 classes, and their tallies as a file."""
    draw = np.random.default_rng(1)
    shares = draw.dirichlet([6.0, 1.0, 1.0, 0.3], size=120)
    ballots = np.array([draw.choice(4, size=50, p=share) for share in shares])
    np.save(tmp_path / "votes.npy", ballots)
    tallies = np.stack([(ballots == label).sum(axis=1) for label in range(4)], axis=1)
    np.save(tmp_path / "tallies.npy", tallies)
    return tallies.astype(float)


def run(ballotine: Command, *arguments: str) -> dict[str, object]:
    done = ballotine("account", *arguments)
    assert done.returncode == 0, done.stderr
    result: dict[str, object] = json.loads(done.stdout)
    return result


def test_exact_costs_of_every_query(ballotine: Command, votes: np.ndarray) -> None:
    total = exact.confident_gnmax(votes, DEFAULT_ORDERS, 8.0, 30.0, 20.0).sum(axis=0)
    expected = conversion.epsilon(DEFAULT_ORDERS, total, 1e-5)[0]
    found = run(ballotine, "votes.npy", *CONFIDENT, *COMMON, "--bounds", "exact")
    assert found["epsilon"] == pytest.approx(expected, abs=2e-6)
    assert found["kind"] == "data-dependent, private"
    assert found["neighbouring"] == "one private record replaced"
    counted = run(ballotine, "tallies.npy", "--tallies", *CONFIDENT, *COMMON, "--bounds", "exact")
    assert counted["epsilon"] == found["epsilon"]


def test_bounds_and_conversions_are_what_they_say(ballotine: Command, votes: np.ndarray) -> None:
    base = ("votes.npy", *CONFIDENT, *COMMON)
    by_tight = run(ballotine, *base, "--bounds", "tight")
    answered = int(str(by_tight["answered"]))
    total = 120 * tight.threshold(DEFAULT_ORDERS, 20.0)
    total = total + answered * tight.gnmax(DEFAULT_ORDERS, 8.0, classes=4)
    expected = conversion.epsilon(DEFAULT_ORDERS, total, 1e-5)[0]
    assert by_tight["epsilon"] == pytest.approx(expected, abs=2e-6)
    assert by_tight["kind"] == "data-independent"

    by_published = run(ballotine, *base, "--bounds", "published", "--conversion", "classic")
    assert by_published["answered"] == answered, "the same seed, the same answers"
    check = 120 * published.threshold(DEFAULT_ORDERS, 20.0)
    most = check + answered * published.gnmax(DEFAULT_ORDERS, 8.0)
    ceiling = conversion.epsilon(DEFAULT_ORDERS, most, 1e-5, "classic")[0]
    floor = conversion.epsilon(DEFAULT_ORDERS, check, 1e-5, "classic")[0]
    assert floor < float(str(by_published["epsilon"])) < ceiling


def test_a_curve_ends_at_the_total(ballotine: Command, votes: np.ndarray, tmp_path: Path) -> None:
    base = ("votes.npy", *CONFIDENT, *COMMON, "--queries", "80")
    found = run(ballotine, *base, "--curve", "curve.csv")
    assert found["queries"] == 80
    lines = (tmp_path / "curve.csv").read_text().splitlines()
    assert lines[0] == "queries,answered,epsilon"
    rows = [line.split(",") for line in lines[1:]]
    values = [float(row[2]) for row in rows]
    assert values == sorted(values)
    assert rows[-1][0] == "80"
    assert values[-1] == pytest.approx(float(str(found["epsilon"])), abs=2e-6)
    assert (tmp_path / "curve.html").is_file()
    assert (tmp_path / "curve.csv").stat().st_mode & 0o077 == 0


def test_private_numbers_come_with_a_warning(ballotine: Command, votes: np.ndarray) -> None:
    done = ballotine("account", "votes.npy", "-m", "gnmax", "--sigma", "8", "--delta", "1e-5")
    assert done.returncode == 0
    assert "may be published only after it is sanitised" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "word"),
    [
        (("missing.npy", "-m", "gnmax", "--sigma", "8"), 3, "no file"),
        (("votes.npy", "-m", "loudest", "--sigma", "8"), 2, "unknown mechanism"),
        (("votes.npy", "-m", "gnmax", "--sigma", "0"), 2, "positive"),
        (
            ("votes.npy", "-m", "confident-gnmax", "--sigma", "8"),
            2,
            "needs sigma_threshold, threshold",
        ),
        (("votes.npy", "-m", "gnmax", "--sigma", "8", "--threshold", "3"), 2, "does not use"),
        (("votes.npy", "-m", "gnmax", "--sigma", "8", "--bounds", "guess"), 2, "bounds must be"),
        (("votes.npy", "-m", "gnmax", "--sigma", "8", "--classes", "3"), 3, "class numbers"),
    ],
)
def test_bad_input(
    ballotine: Command, votes: np.ndarray, arguments: tuple[str, ...], code: int, word: str
) -> None:
    done = ballotine("account", *arguments, "--delta", "1e-5")
    assert done.returncode == code, done.stderr
    assert word in done.stderr


def test_plans_meet_their_budget(ballotine: Command) -> None:
    base = ("plan", "--queries", "200", "--epsilon", "3", "--delta", "1e-5", "--teachers", "80")
    for name in ("gnmax", "confident-gnmax"):
        made = json.loads(ballotine(*base, "-m", name, "--json").stdout)
        assert 2.99 < made["epsilon"] <= 3.0
        assert made["curve"][-1]["queries"] == 200
    assert made["threshold"] == 64
    budget = Budget(3.0, 1e-5)
    sigma = plan.smallest_noise(lambda noise: [(GaussianArgmax(noise, 10), 200)], budget)
    shown = ballotine(*base, "-m", "gnmax").stdout
    assert f"σ = {sigma:.2f}" in shown
    assert ballotine(*base, "-m", "lnmax").returncode == 2


ADVICE = ("plan", "--queries", "100", "--epsilon", "4", "--delta", "1e-5")
ASSUMED = ("--teacher-accuracy", "0.95", "--plurality-accuracy", "0.98", "--classes", "2")


def test_advice_on_noise(ballotine: Command) -> None:
    strict = json.loads(ballotine(*ADVICE, *ASSUMED, "--json").stdout)["recommended"]
    fixed = json.loads(ballotine(*ADVICE, *ASSUMED, "--mode", "fixed", "--json").stdout)
    assert fixed["assumed"] == "simulated votes"
    best = fixed["recommended"]
    assert best in fixed["noises"]
    assert strict["epsilon_strict"] <= 4 < best["epsilon_strict"]
    assert best["epsilon_exact"] < best["epsilon_published"] <= 4
    assert strict["epsilon_published"] is None
    assert best["wrong"] < strict["wrong"]
    assert best["sigma"] < strict["sigma"]
    few = ("--queries", "5", "--teachers", "12", "--mode", "fixed")
    shown = ballotine(*ADVICE, *ASSUMED, *few)
    assert re.search(r"Recommended: σ = \S+, threshold = 9.6", shown.stdout)
    assert "ε published, expected" in shown.stdout.replace("\n", " ")
    assert "less noise can cost little more, or even less" in shown.stdout
    assert "simulated" in shown.stderr


def test_advice_from_votes_that_are_declared_public(
    ballotine: Command, votes: np.ndarray, tmp_path: Path
) -> None:
    given = (*ADVICE, "-m", "gnmax", "--mode", "fixed", "--json", "--public-votes")
    done = ballotine(*given, "votes.npy")
    assert "you declare public" in done.stderr
    made = json.loads(done.stdout)
    assert (made["assumed"], made["teachers"]) == ("public votes", 50)
    # Where the truth is a class that nobody can guess, nearly every answer is wrong.
    wrong = np.argmin(votes, axis=1)
    np.savez(tmp_path / "both.npz", ballots=np.load(tmp_path / "votes.npy"), y=wrong)
    worse = json.loads(ballotine(*given, "both.npz").stdout)
    assert made["noises"][0]["wrong"] < 0.2
    assert worse["noises"][0]["wrong"] > 0.9
    assert made["noises"][0]["epsilon_exact"] == worse["noises"][0]["epsilon_exact"]
    np.savez(tmp_path / "short.npz", ballots=np.load(tmp_path / "votes.npy"), y=wrong[:5])
    for bad in (("short.npz",), ("votes.npy", "--teachers", "51"), ("missing.npy",)):
        assert ballotine(*given, *bad).returncode == 3


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("--mode", "fixed"), "needs assumed votes"),
        (("--threshold", "30"), "needs assumed votes"),
        (("--teacher-accuracy", "0.8"), "together"),
        ((*ASSUMED, "--public-votes", "votes.npy"), "not both"),
        ((*ASSUMED, "--answered", "0.5"), "leave --answered out"),
        ((*ASSUMED, "--mode", "paper"), "strict or fixed"),
        ((*ASSUMED, "-m", "gnmax", "--threshold", "30"), "does not use threshold"),
        ((*ASSUMED, "-m", "lnmax"), "cannot plan"),
        (("--teacher-accuracy", "2", "--plurality-accuracy", "0.9"), "between 0 and 1"),
    ],
)
def test_advice_that_cannot_be_given(
    ballotine: Command, arguments: tuple[str, ...], word: str
) -> None:
    done = ballotine(*ADVICE, *arguments)
    assert done.returncode == 2
    assert word in done.stderr

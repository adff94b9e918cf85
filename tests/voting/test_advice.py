"""Advice on noise, against elections that are held and ledgers that are kept."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import beta

from ballotine.errors import DataError, ParameterError
from ballotine.ledger import Binding, Charge, Ledger, Mode
from ballotine.noise import SeededNoise
from ballotine.privacy import conversion, exact, published
from ballotine.privacy.guarantee import Budget
from ballotine.privacy.orders import DEFAULT_ORDERS
from ballotine.types import ABSTAIN, FloatArray, IntArray
from ballotine.voting import BinaryVoting, ConfidentGNMax, GNMax, LNMax, Mechanism, Tallies
from ballotine.voting.advice import NoiseQuestion, round_sigmas
from ballotine.voting.assumed import SAMPLE, AssumedVotes
from ballotine.voting.publication import plan_publication

TEACHERS, CLASSES, QUERIES = 250, 10, 4000
BUDGET = Budget(3.0, 1e-5)
CHECK = {"threshold": 200.0, "sigma_threshold": 150.0}
FASHION = AssumedVotes.simulated(TEACHERS, CLASSES, 0.74, 0.8)


def question(votes: AssumedVotes = FASHION, confident: bool = True) -> NoiseQuestion:
    if not confident:
        return NoiseQuestion(votes, QUERIES, BUDGET, GNMax)
    return NoiseQuestion(votes, QUERIES, BUDGET, given=CHECK)


def elections(number: int, seed: int) -> tuple[FloatArray, IntArray]:
    """Expected counts and truth: shares of right votes from a Beta, fitted in another way."""
    draw = np.random.default_rng(seed)
    tie = 0.6 / 1.6  # one class has 0.6 of the wrong votes
    size = brentq(lambda s: beta.sf(tie, 0.74 * s, 0.26 * s) - 0.8, 0.1, 100.0)
    right = draw.beta(0.74 * size, 0.26 * size, number)
    truth = draw.integers(0, CLASSES, number)
    counts = np.repeat((TEACHERS * (1 - right) * 0.4 / (CLASSES - 2))[:, None], CLASSES, axis=1)
    counts[np.arange(number), truth] = TEACHERS * right
    counts[np.arange(number), (truth + 3) % CLASSES] = TEACHERS * (1 - right) * 0.6
    return counts, truth


def ballot_boxes(number: int, seed: int) -> tuple[FloatArray, IntArray]:
    """Whole counts and truth: every teacher votes by these shares."""
    counts, truth = elections(number, seed)
    votes = np.random.default_rng(seed).multinomial(TEACHERS, counts / TEACHERS)
    return votes.astype(float), truth


def held(counts: FloatArray, truth: IntArray, sigma: float, confident: bool) -> tuple[float, float]:
    """Shares of answered queries and of wrong answers, with noise drawn for each."""
    draw = np.random.default_rng(1)
    answers = (counts + draw.normal(0, sigma, counts.shape)).argmax(axis=1)
    passed = np.full(len(counts), True)
    if confident:
        passed = counts.max(axis=1) + draw.normal(0, 150, len(counts)) >= 200
    return float(passed.mean()), float(np.mean(answers[passed] != truth[passed]))


@pytest.mark.parametrize("confident", [True, False])
@pytest.mark.parametrize("sigma", [15.0, 40.0, 100.0])
def test_wrong_answers_are_those_of_elections(sigma: float, confident: bool) -> None:
    number = 40_000
    answered, wrong = held(*elections(number, seed=0), sigma, confident)
    row = question(confident=confident).row(sigma)
    error = 4 * np.sqrt(0.25 / number) / np.sqrt(answered)
    assert row.answered == pytest.approx(answered, abs=error)
    assert row.wrong == pytest.approx(wrong, abs=error)
    assert row.wrong_error == row.epsilon_error == 0.0


def test_the_exact_cost_is_that_of_elections() -> None:
    counts, _ = elections(600, seed=2)
    costs = exact.confident_gnmax(counts, DEFAULT_ORDERS, 40.0, 200.0, 150.0)
    total = QUERIES * costs.mean(axis=0)
    expected, order = conversion.epsilon(DEFAULT_ORDERS, total, BUDGET.delta)
    at = np.flatnonzero(order == DEFAULT_ORDERS)[0]
    error = QUERIES * costs[:, at].std() / np.sqrt(len(counts))
    found = question().row(40.0)
    assert abs(found.epsilon_exact - expected) < 4 * error + 0.01 * expected

    # As many queries as it says are affordable, and no more than that, keep the budget.
    asked = found.answers_exact / found.answered
    again = NoiseQuestion(FASHION, round(asked), BUDGET, given=CHECK).row(40.0)
    assert again.epsilon_exact == pytest.approx(BUDGET.epsilon, rel=0.01)


@pytest.mark.parametrize("mechanism", [GNMax(40.0), ConfidentGNMax(40.0, 200.0, 150.0)])
def test_chances_are_those_of_the_law(mechanism: Mechanism) -> None:
    counts, _ = elections(20, seed=8)
    answered, right = mechanism.chances(counts)
    by_law = Mechanism.chances(mechanism, counts)
    assert answered == pytest.approx(by_law[0], abs=1e-9)
    assert right == pytest.approx(by_law[1], abs=1e-6)
    with pytest.raises(ParameterError, match="does not declare the probabilities"):
        BinaryVoting(4.0).chances(counts)


def test_public_votes_are_priced_one_by_one() -> None:
    counts, truth = ballot_boxes(SAMPLE, seed=3)
    row = question(AssumedVotes.public(Tallies(counts), truth)).row(40.0)
    costs = exact.confident_gnmax(counts, DEFAULT_ORDERS, 40.0, 200.0, 150.0)
    expected = conversion.epsilon(DEFAULT_ORDERS, QUERIES * costs.mean(axis=0), BUDGET.delta)[0]
    assert expected <= row.epsilon_exact * (1 + 1e-6)
    assert row.epsilon_exact == pytest.approx(expected, rel=0.01)
    answered, wrong = held(np.tile(counts, (60, 1)), np.tile(truth, 60), 40.0, confident=True)
    assert (row.answered, row.wrong) == pytest.approx((answered, wrong), abs=0.012)


def test_the_standard_error_is_that_of_samples() -> None:
    counts, truth = ballot_boxes(24 * SAMPLE, seed=4)
    rows = [
        question(AssumedVotes.public(Tallies(part), right), confident=False).row(40.0)
        for part, right in zip(np.split(counts, 24), np.split(truth, 24), strict=True)
    ]
    for spread, stated in (
        (np.std([row.wrong for row in rows]), rows[0].wrong_error),
        (np.std([row.epsilon_exact for row in rows]), rows[0].epsilon_error),
    ):
        assert 0.6 < spread / stated < 1.5


def test_without_the_truth_the_most_frequent_vote_is_right() -> None:
    counts, truth = ballot_boxes(SAMPLE, seed=5)
    blind = question(AssumedVotes.public(Tallies(counts)), confident=False)
    seeing = question(AssumedVotes.public(Tallies(counts), truth), confident=False)
    assert blind.row(5.0).wrong < 0.03
    missed = np.mean(counts.argmax(axis=1) != truth)
    assert seeing.row(5.0).wrong == pytest.approx(missed, abs=0.03)


@pytest.mark.parametrize("confident", [True, False])
def test_the_strict_cost_is_what_a_ledger_charges(confident: bool) -> None:
    asked = question(confident=confident)
    row, mechanism = asked.row(60.0), asked.mechanism(60.0)
    events = mechanism.events(CLASSES)
    ledger = Ledger.open(None, Budget(50.0, BUDGET.delta))
    keys = [number.to_bytes(32, "big") for number in range(QUERIES)]
    binding = Binding(Charge.of(events), "ensemble", mechanism.describe())
    grant = ledger.reserve(keys, binding)
    assert grant.ids == keys
    answers = np.where(np.arange(QUERIES) < round(row.answered * QUERIES), 3, ABSTAIN)
    ledger.record(grant, answers, lambda given, _: mechanism.realised(given, CLASSES))
    assert row.epsilon_strict == pytest.approx(ledger.spending().epsilon(), rel=2e-4)
    if not confident:
        stop = Ledger.open(None, BUDGET).spending().affordable(binding)
        assert abs(row.answers_strict - stop) <= 0.002 * stop + 1


def test_less_noise_is_dear_in_strict_mode_and_nearly_free_by_exact_costs() -> None:
    less, more = question().row(40.0), question().row(70.0)
    assert less.wrong < 0.75 * more.wrong
    assert less.epsilon_strict > 1.7 * more.epsilon_strict
    assert less.epsilon_exact < 1.05 * more.epsilon_exact

    def by_theorem_6(sigma: float) -> float:
        counts, _ = elections(2000, seed=6)
        costs = published.gnmax_data_dependent(counts, DEFAULT_ORDERS, sigma)
        passing = (counts.max(axis=1) + np.random.default_rng(7).normal(0, 150, 2000)) >= 200
        check = published.threshold(DEFAULT_ORDERS, 150.0)
        total = QUERIES * ((costs * passing[:, None]).mean(axis=0) + check)
        return conversion.epsilon(DEFAULT_ORDERS, total, BUDGET.delta, "classic")[0]

    assert by_theorem_6(40.0) < by_theorem_6(70.0), "the published analysis prefers less noise"


def test_the_recommendation_in_strict_mode_is_the_smallest_noise() -> None:
    asked = NoiseQuestion(FASHION, 1000, BUDGET)
    best = asked.advise(Mode.STRICT).recommended
    assert best is not None
    assert best.epsilon_strict <= 3.0 < asked.row(0.93 * best.sigma).epsilon_strict
    assert best.sigma_threshold == pytest.approx(3.75 * best.sigma)
    assert best.threshold == 200.0


def test_the_recommendation_in_fixed_mode_errs_rarely_and_is_cheap() -> None:
    asked = NoiseQuestion(AssumedVotes.simulated(100, 2, 0.85, 0.95), 300, Budget(4.5, 1e-5), GNMax)
    advice = asked.advise(Mode.FIXED, [5.0, 10.0, 20.0, 30.0])
    best = advice.recommended
    assert best is not None
    assert best in advice.rows
    published = {row: row.epsilon_published for row in advice.rows}
    assert all((e is None) == (row.epsilon_exact > 4.5) for row, e in published.items())
    kept = {row: e for row, e in published.items() if e is not None and e <= 4.5}
    assert len(kept) < len([e for e in published.values() if e is not None]), "the margin decides"
    assert best.epsilon_exact < kept[best] <= 4.5 < best.epsilon_strict
    fewest = min(row.wrong for row in kept)
    assert best.wrong <= fewest + 0.005
    rivals = [row for row, e in kept.items() if e < kept[best]]
    assert rivals, "more noise would be cheaper"
    assert min(row.wrong for row in rivals) > fewest + 0.005
    again = asked.advise(Mode.FIXED, [30.0, 20.0])
    assert [row.sigma for row in again.rows] == [20.0, 30.0]
    assert again.recommended == again.rows[0]


def test_what_is_expected_to_be_published_is_the_median_of_publications() -> None:
    votes = AssumedVotes.simulated(60, 2, 0.8, 0.9)
    (row,) = NoiseQuestion(votes, 200, Budget(9.0, 1e-5), GNMax).advise(Mode.FIXED, [12.0]).rows
    places = votes.places(200)
    assert len(places) == 200
    assert np.all(places.sum(axis=1) == 60), "two classes: the rest stands behind the runner-up"
    plan, _ = plan_publication(GNMax(12.0), 60, 2, 200, 1e-5)
    way = plan.log_release(GNMax(12.0), 1e-5)
    drawn = [way.release(places, SeededNoise(seed)).epsilon for seed in range(401)]
    assert row.epsilon_published is not None
    below = np.mean(np.array(drawn) <= row.epsilon_published)
    assert abs(below - 0.5) < 4 * 0.5 / np.sqrt(401)


def test_no_noise_keeps_too_small_a_budget() -> None:
    asked = NoiseQuestion(FASHION, 100_000, Budget(0.5, 1e-5), GNMax)
    assert asked.advise(Mode.STRICT, [50.0, 100.0]).recommended is None


@pytest.mark.parametrize("teachers", [2, 50, 250, 999, 5000])
def test_noises_are_round_and_in_proportion(teachers: int) -> None:
    sigmas = round_sigmas(teachers)
    assert 8 <= len(sigmas) <= 13
    assert sigmas == sorted(set(sigmas))
    assert all(0.03 * teachers <= sigma <= 0.5 * teachers for sigma in sigmas)


def test_bad_input() -> None:
    tallies = Tallies(np.array([[5.0, 3.0], [4.0, 4.0]]))
    for truth in (np.array([0]), np.array([0, 2]), np.array([-1, 0]), np.array([0.0, 1.0])):
        with pytest.raises(DataError, match="one class number per query"):
            AssumedVotes.public(tallies, truth)
    for counts in ([[5.0, 3.0]], [[5.0, 3.0], [5.0, 4.0]], [[0.0, 0.0], [0.0, 0.0]]):
        with pytest.raises(DataError, match="at least two queries"):
            AssumedVotes.public(Tallies(np.array(counts)))
    with pytest.raises(ParameterError, match="at least one query"):
        NoiseQuestion(FASHION, 0, BUDGET)
    with pytest.raises(ParameterError, match="does not use threshold"):
        NoiseQuestion(FASHION, 1, BUDGET, GNMax, {"threshold": 3.0})
    with pytest.raises(ParameterError, match="leave sigma out"):
        NoiseQuestion(FASHION, 1, BUDGET, GNMax, {"sigma": 3.0})
    with pytest.raises(ParameterError, match="cannot plan 'lnmax'"):
        NoiseQuestion(FASHION, 1, BUDGET, LNMax)
    with pytest.raises(ParameterError, match="almost no query"):
        NoiseQuestion(FASHION, 1, BUDGET, given={"threshold": 1e6, "sigma_threshold": 10.0}).row(
            5.0
        )
    with pytest.raises(ParameterError, match="paper mode"):
        question().advise(Mode.PAPER)
    with pytest.raises(ParameterError, match="at least 3 teachers"):
        AssumedVotes.simulated(2, 10, 0.8, 0.9)


@pytest.mark.parametrize("queries", [1, 10**7])
def test_extreme_plans_end_at_the_edge_of_the_orders_without_a_word(queries: int) -> None:
    votes = AssumedVotes.simulated(3, 2, 0.8, 0.9)
    row = NoiseQuestion(votes, queries, BUDGET, GNMax).row(100.0)
    assert 0 <= row.epsilon_exact < np.inf

"""What bits of labels cost: against full laws of small elections, and formulas by hand."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import special, stats

from ballotine.noise import QueryNoise, SeededNoise
from ballotine.oracle.ballots import (
    Poll,
    answer_bits,
    check_bits,
    checked_answers,
    counts_cost,
    poll_cost,
)
from ballotine.oracle.divergence import renyi
from ballotine.privacy import multilabel, tight
from ballotine.privacy.events import LabelBits
from ballotine.types import ABSTAIN, IntArray
from ballotine.voting import (
    BinaryVoting,
    ClippedVoting,
    Dependencies,
)
from ballotine.voting.multilabel.ballots import Clipping
from ballotine.voting.multilabel.costs import LabelCheck, LabelCosts
from tests.voting.test_mechanisms import keys

REASON = "a test looks at made-up ballots"
ORDERS = np.array([1.5, 2.0, 4.0, 8.0, 32.0])
VARIANTS: tuple[multilabel.Variant, ...] = ("both", "one-against-complement", "one-against-half")
CLIPPINGS: list[tuple[float | None, multilabel.Norm]] = [
    (None, "l2"),
    (0.6, "l2"),
    (1.2, "l2"),
    (1.8, "l2"),
    (0.8, "l1"),
    (1.5, "l1"),
]


def voting(
    sigma: float, tau: float | None = None, norm: multilabel.Norm = "l2", **options: Any
) -> BinaryVoting | ClippedVoting:
    return (
        BinaryVoting(sigma, **options)
        if tau is None
        else ClippedVoting(sigma, tau, norm, **options)
    )


def neighbours(labels: int, teachers: int, draw: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Ballots of one query, and the same with the last one replaced."""
    ballots = (draw.random((teachers, labels)) < draw.random()).astype(np.int64)
    other = ballots.copy()
    other[-1] = draw.random(labels) < draw.random()
    return ballots, other


def path_law(
    mechanism: BinaryVoting | ClippedVoting, ballots: IntArray
) -> dict[tuple[int, ...], float]:
    """Probabilities of all answers, by walking through everything that labels could have said."""
    teachers, labels = ballots.shape
    lengths = np.linalg.norm(ballots, 1 if mechanism.clipping.norm == "l1" else 2, axis=1)
    tau = mechanism.clipping.tau or np.inf
    counts = (ballots * np.minimum(1.0, tau / np.maximum(lengths, 1e-9))[:, None]).sum(axis=0)
    spread = {"both": 2**0.5, "one-against-complement": 1.0, "one-against-half": 2.0}
    present = stats.norm.cdf(
        (2 * counts - teachers) / (spread[mechanism.variant] * mechanism.sigma)
    )
    passed = np.ones(labels)
    if mechanism.threshold is not None:
        larger = np.maximum(counts, teachers - counts)
        passed = stats.norm.cdf((larger - mechanism.threshold) / mechanism.sigma_threshold)
    chances = np.stack((1 - passed, passed * (1 - present), passed * present))
    law: dict[tuple[int, ...], float] = {}
    for raw in itertools.product((-1, 0, 1), repeat=labels):
        probability = float(np.prod([chances[said + 1, label] for label, said in enumerate(raw)]))
        answer = np.array([raw])
        if mechanism.dependencies is not None:
            answer = mechanism.dependencies.infer(answer)
        where = tuple(answer[0].tolist())
        law[where] = law.get(where, 0.0) + probability
    return {answer: probability for answer, probability in law.items() if probability > 0}


@pytest.mark.parametrize("dependencies", [None, "roots", "leaves"])
@pytest.mark.parametrize(("tau", "norm"), CLIPPINGS)
def test_realised_costs_pay_for_what_was_released(
    dependencies: Any, tau: float | None, norm: multilabel.Norm
) -> None:
    """Σ P^α Q^(1−α) e^(−(α−1)ρ) ≤ 1, where ρ is what each answer is charged.

    This is what a filter needs of costs that depend on the answers, and the largest charge is
    then a cost of the whole.
    """
    draw = np.random.default_rng(5)
    exceeded = False
    for trial in range(12):
        labels, sigma = 3, draw.uniform(0.6, 3.0)
        forest = (
            None
            if dependencies is None
            else Dependencies((None, 0, (0, 1)[trial % 2]), dependencies)
        )
        checked = (
            {} if trial % 3 == 0 else {"threshold": 2.0, "sigma_threshold": draw.uniform(0.6, 3.0)}
        )
        mechanism = voting(
            sigma, tau, norm, variant=VARIANTS[trial % 3], dependencies=forest, **checked
        )
        first, second = (path_law(mechanism, one) for one in neighbours(labels, 2, draw))
        answers = np.array(list(first))
        tallies = mechanism.tally(np.zeros((len(answers), 2, labels), dtype=np.int64), labels)
        charged = mechanism.costs(tallies, answers, ORDERS, "tight").unlock(reason=REASON)
        for p, q in ((first, second), (second, first)):
            log_p, log_q = (np.log([law[tuple(one)] for one in answers.tolist()]) for law in (p, q))
            for share in (1.0, 0.6):
                exponent = (np.subtract(log_p, log_q)[:, None] - share * charged) * (ORDERS - 1)
                moments = special.logsumexp(log_p[:, None] + exponent, axis=0)
                if share == 1.0:
                    assert np.all(moments <= 1e-9)
                else:
                    exceeded |= bool(np.any(moments > 1e-9))
    assert exceeded, "charging 60 % of it must show"


@pytest.mark.parametrize(("tau", "norm"), CLIPPINGS)
def test_clipping_the_whole_ballot_and_asking_a_part_moves_no_more(
    tau: float | None, norm: multilabel.Norm
) -> None:
    """All pairs of ballots on five labels, restricted to all sets of labels."""
    labels = 5
    every = np.array(list(itertools.product((0, 1), repeat=labels)), dtype=float)
    lengths = every.sum(axis=1) if norm == "l1" else np.sqrt(every.sum(axis=1))
    if tau is not None:
        every *= np.minimum(1.0, tau / np.maximum(lengths, 1e-9))[:, None]
    moves = np.abs(every[:, None, :] - every[None, :, :]).reshape(-1, labels)
    sigma = 1.3
    distinct, place = np.unique(moves.round(12), return_inverse=True)
    prices = np.stack([tight.threshold(ORDERS, sigma, 2**0.5 * d) for d in distinct + 1e-12])
    prices[distinct == 0] = 0.0
    each = prices[place.reshape(moves.shape)]
    for size in range(1, labels + 1):
        most = multilabel.squared_sensitivity(size, tau, norm)
        bits = LabelBits(sigma, size, tau, norm).cost(ORDERS)
        for asked in itertools.combinations(range(labels), size):
            chosen = list(asked)
            squares = (moves[:, chosen] ** 2).sum(axis=1)
            assert squares.max() <= most * (1 + 1e-12)
            assert np.all(each[:, chosen].sum(axis=1) <= bits * (1 + 1e-6))
            if size == labels:
                assert squares.max() == pytest.approx(most)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(("tau", "norm"), CLIPPINGS)
def test_data_dependent_costs_are_above_the_truth(
    tau: float | None, norm: multilabel.Norm, variant: multilabel.Variant
) -> None:
    draw = np.random.default_rng(11)
    closest = []
    for checked in [False, True] * 4:
        labels, teachers = int(draw.integers(1, 4)), int(draw.integers(1, 6))
        sigma, threshold, spread = draw.uniform(0.5, 4, 3) * (1, teachers / 4, 1)
        options = {"threshold": threshold, "sigma_threshold": spread} if checked else {}
        mechanism = voting(sigma, tau, norm, variant=variant, **options)
        ballots, _ = neighbours(labels, teachers, draw)
        tallies = mechanism.tally(ballots[np.newaxis], labels)
        poll = Poll(
            labels, tuple((tuple(np.flatnonzero(b).tolist()), 1) for b in ballots), tau, norm
        )
        law = answer_bits(teachers, sigma, variant)
        if checked:
            law = checked_answers(check_bits(teachers, threshold, spread), law)
        truth = poll_cost(poll, law, tuple(ORDERS))
        answers = np.ones((1, labels), dtype=np.int64)
        exact = mechanism.costs(tallies, answers, ORDERS, "exact").unlock(reason=REASON)[0]
        assert np.all(exact >= truth.floor)
        closest.append(float((truth.values / exact).max()))
        everything = mechanism.costs(tallies, answers, ORDERS, "published").unlock(reason=REASON)[0]
        assert np.all(everything >= truth.floor)
        if tau is None:
            whole = counts_cost(poll.counts(), teachers, law, tuple(ORDERS))
            assert exact == pytest.approx(whole.values, rel=1e-9, abs=1e-11)
    assert max(closest) > 0.9


@settings(deadline=None, max_examples=60)
@given(
    st.floats(0.0, 8.0),
    st.floats(0.01, 1.0),
    st.floats(0.0, 1.0),
    st.floats(2.0, 9.0),
    st.sampled_from([0.4, 1.0, 4.0]),
    st.sampled_from([0.4, 1.0, 4.0]),
)
@example(4.9, 1.0, 0.36, 5.5, 0.42, 0.4)  # a third of the move costs more than all of it
def test_a_label_costs_no_more_for_a_smaller_move(
    count: float, largest: float, share: float, threshold: float, sigma: float, spread: float
) -> None:
    """What joins labels needs costs that do not fall with the move, though the check's may."""
    costs = LabelCosts(8, ORDERS, sigma, Clipping(largest), "both", LabelCheck(threshold, spread))
    release = costs._checked(9, LabelCheck(threshold, spread))
    law = checked_answers(check_bits(8, threshold, spread), answer_bits(8, sigma, "both"))
    for room, sign in ((count, -1.0), (8 * largest - count, 1.0)):
        move = min(largest, max(room, 0.0))
        bound = release._worst_of_a_move(np.array([count]), np.array([sign * move]))
        p, q = (law(np.array([one])) for one in (count, count + sign * share * move))
        assert np.all(renyi(p, q, ORDERS)[0] <= bound[0] + 1e-9)
        assert np.all(renyi(q, p, ORDERS)[0] <= bound[1] + 1e-9)


def theorem6_by_hand(
    counts: np.ndarray, teachers: int, sigma: float, tau: float | None, variant: str
) -> np.ndarray:
    """The published, two-sided cost of each label from the formulas of Scalable PATE."""
    d = 1.0 if tau is None else min(1.0, tau)
    m = {"one-against-complement": 2.0, "both": 1.0, "one-against-half": 0.5}[variant]
    costs = np.outer(np.ones(len(counts)), ORDERS * m * d**2 / sigma**2)
    for row, count in enumerate(counts):
        gap = abs(2 * count - teachers) - 2 * d
        if gap < 0:
            continue
        log_q = stats.norm.logsf(gap / (sigma * (2 / m) ** 0.5))
        scale = sigma / (m**0.5 * d)
        mu2 = scale * (-log_q) ** 0.5
        mu1, eps2 = mu2 + 1, mu2 / scale**2
        eps1 = mu1 / scale**2
        if mu2 <= 1 or log_q + eps2 >= 0:
            continue
        limit = (mu2 - 1) * eps2 - mu2 * np.log(mu1 / (mu1 - 1) * mu2 / (mu2 - 1))
        if log_q > limit:
            continue
        q = np.exp(log_q)
        a = (1 - q) / (1 - (q * np.exp(eps2)) ** ((mu2 - 1) / mu2))
        b = np.exp(eps1) / q ** (1 / (mu1 - 1))
        for column, order in enumerate(ORDERS):
            if order <= mu1:
                bound = np.log((1 - q) * a ** (order - 1) + q * b ** (order - 1)) / (order - 1)
                costs[row, column] = min(costs[row, column], bound)
    return costs


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(("tau", "norm"), CLIPPINGS)
def test_published_costs_are_theorem_6_per_label(
    tau: float | None, norm: multilabel.Norm, variant: multilabel.Variant
) -> None:
    draw = np.random.default_rng(2)
    teachers, labels, sigma = 60, 6, 4.0
    common = draw.random((30, 1, labels)) < 0.5
    ballots = (common ^ (draw.random((30, teachers, labels)) < 0.06)).astype(np.int64)
    mechanism = voting(sigma, tau, norm, threshold=55.0, sigma_threshold=6.0, variant=variant)
    tallies = mechanism.tally(ballots, labels)
    answers = mechanism.release(tallies, QueryNoise(SeededNoise(1), keys(30)))
    assert {ABSTAIN} < set(np.unique(answers))
    found = mechanism.costs(tallies, answers, ORDERS, "published").unlock(reason=REASON)
    below = False
    for row, (counts, answer) in enumerate(
        zip(tallies.unlock(reason=REASON), answers, strict=True)
    ):
        answered = answer != ABSTAIN
        by_label = theorem6_by_hand(counts[answered], teachers, sigma, tau, variant).sum(axis=0)
        size = int(answered.sum())
        m = {"one-against-complement": 2.0, "both": 1.0, "one-against-half": 0.5}[variant]
        joint = (
            m * ORDERS * (multilabel.squared_sensitivity(size, tau, norm) if size else 0) / sigma**2
        )
        check = ORDERS * multilabel.squared_sensitivity(labels, tau, norm) / (2 * 36.0)
        below |= bool(np.any(by_label < joint))
        assert found[row] == pytest.approx(check + np.minimum(by_label, joint), rel=1e-9)
    # Clipped counts stay away from n, where Theorem 6 is worth something.
    assert below or tau is not None

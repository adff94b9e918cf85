"""False claims of the multi-winner paper about Binary and τ voting."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ballotine.privacy import multilabel, published
from ballotine.types import FloatArray
from ballotine.verification.case import AnyCase, Case, Effort, Points
from ballotine.verification.cases import label_checks
from ballotine.verification.cases.label_checks import CheckedLabels
from ballotine.verification.cases.multilabel import MULTI_WINNER, truth
from ballotine.verification.elections import Cast, Election

TEACHERS = 50


def camps(size: int, crowd: int) -> Cast:
    """Return two camps of 50 teachers that name different labels, the same number each."""
    first, second = tuple(range(size)), tuple(range(size, 2 * size))
    return ((first, crowd), (second, TEACHERS - crowd))


def one_noise_binary(_: Effort) -> Iterator[Election]:
    """Yield unclipped ballots, one noise against the complement."""
    yield Election(4, camps(2, 9), 0.5, "one-against-complement", None, "l2")


def one_noise_tau(_: Effort) -> Iterator[Election]:
    """Yield clipped ballots, one noise against the complement."""
    yield Election(20, camps(1, 9), 0.8, "one-against-complement", 1.0, "l2")


def two_noises_tau(_: Effort) -> Iterator[Election]:
    """Yield clipped ballots with noise on both counts: the paper's own setting."""
    yield Election(20, camps(4, 1), 9.0, "both", 1.8, "l2")
    yield Election(20, camps(4, 25), 9.0, "both", 1.8, "l2")


def few_uncertain_labels(_: Effort) -> Iterator[Election]:
    """Yield ballots with two undecided labels and eighteen that nobody names."""
    yield Election(20, camps(1, 18), 3.0, "both", 1.0, "l2")


def six_checks(_: Effort) -> Iterator[CheckedLabels]:
    """Yield six labels close to the threshold at once."""
    yield CheckedLabels(6, camps(3, 26), 26.0, 10.0, None, "l2")
    yield CheckedLabels(6, camps(3, 26), 40.0, 10.0, None, "l2")


def binary_claim(election: Election, orders: Points) -> FloatArray:
    """Return kα/σ²: the cost of one binary vote with two noises, for each label."""
    cost: FloatArray = election.labels * published.gnmax(orders, election.sigma)
    return cost


def tau_claim(election: Election, orders: Points) -> FloatArray:
    """ατ²/σ²."""
    return published.gnmax(orders, election.sigma, election.tau or 1.0)


def per_label_minimum(election: Election, orders: Points) -> FloatArray:
    """Return the smaller of Theorem 6 and an equal share of αΔ²/σ², summed over the labels."""
    positive = election.poll.counts()
    pairs = np.stack((positive, election.poll.electorate - positive), axis=1)
    reach = min(1.0, election.tau or 1.0)
    dependent = published.gnmax_data_dependent(pairs, orders, election.sigma, reach)
    joint = multilabel.gaussian(
        orders, election.sigma, election.labels, election.tau, election.norm, election.variant
    )
    cost: FloatArray = np.minimum(dependent, joint / election.labels).sum(axis=0)
    return cost


CASES: tuple[AnyCase, ...] = (
    Case(
        "binary/complement-claim",
        "kα/σ² with one noise against the complement",
        f"{MULTI_WINNER}, Definition 4 with Section 4.1; a margin moves by 2, which costs 2kα/σ²",
        "false",
        1.98,
        one_noise_binary,
        binary_claim,
        truth,
    ),
    Case(
        "binary/check-per-query",
        "α/(2σ_T²) once per query",
        f"{MULTI_WINNER}, Algorithm 2; the check runs for every label, jointly αΔ²/(2σ_T²)",
        "false",
        3.8,
        six_checks,
        lambda query, orders: published.threshold(orders, query.sigma_threshold),
        label_checks.truth,
    ),
    Case(
        "tau-l2/complement-claim",
        "ατ²/σ² with one noise against the complement",
        f"{MULTI_WINNER}, Definition 7 with Section 3.2; it costs 2αΔ²/σ², up to 4ατ²/σ²",
        "false",
        3.9,
        one_noise_tau,
        tau_claim,
        truth,
    ),
    Case(
        "tau-l2/both-claim",
        "ατ²/σ² with noise on both counts",
        f"{MULTI_WINNER}, Section 3.2; it costs αΔ²/σ², up to 2ατ²/σ²",
        "false",
        1.6,
        two_noises_tau,
        tau_claim,
        truth,
    ),
    Case(
        "tau-l2/per-label-minimum",
        "Σ over labels of min(Theorem 6, αΔ²/(kσ²))",
        f"{MULTI_WINNER}, Section 4.1 taken label by label; the joint cost has no equal shares",
        "false",
        1.85,
        few_uncertain_labels,
        per_label_minimum,
        truth,
    ),
)

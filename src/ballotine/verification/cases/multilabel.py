"""Binary and τ voting: k labels at once, each with independent noise."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache, partial

import numpy as np

from ballotine.oracle.ballots import (
    Norm,
    Variant,
    answer_bits,
    counts_cost,
    poll_cost,
    squared_distance,
)
from ballotine.oracle.truth import Truth
from ballotine.privacy import multilabel
from ballotine.types import FloatArray
from ballotine.verification.accuracy import accuracy
from ballotine.verification.case import AnyCase, Axis, Case, Effort, Points
from ballotine.verification.elections import (
    VARIANTS,
    ClippingCase,
    Election,
    fixed_camps,
    random_camps,
    small_elections,
)

MULTI_WINNER = "Private Multi-Winner Voting"
CLIPPINGS: dict[str, tuple[ClippingCase, ...]] = {
    "binary": (ClippingCase(None, "l2"),),
    "tau-l2": tuple(ClippingCase(tau, "l2") for tau in (0.8, 1.0, 1.8)),
    "tau-l1": tuple(ClippingCase(tau, "l1") for tau in (0.8, 1.0, 3.4)),
}
FACTORS = {"complement": "2αΔ²/σ²", "both": "αΔ²/σ²", "half": "αΔ²/(2σ²)"}
SOURCES = {
    "binary": f"{MULTI_WINNER}, Definition 4 and Algorithm 2; Δ² = k, one cost per variant",
    "tau-l2": f"{MULTI_WINNER}, Lemma 3.2; Δ² of clipped ballots for the τ² of the paper",
    "tau-l1": f"{MULTI_WINNER}, Algorithm 3 (Private-kNN); Δ² of clipped ballots",
}
TAUS = Axis("tau", (0.5, 1.0, 1.3, 1.8, 2.5, 3.4, 6.0))


@lru_cache(maxsize=1 << 14)
def truth(election: Election, orders: Points) -> Truth:
    """Return the oracle's exact two-sided cost of a poll's answers."""
    poll = election.poll
    bits = answer_bits(poll.electorate, election.sigma, election.variant)
    return poll_cost(poll, bits, orders, election.teachers)


@lru_cache(maxsize=1 << 13)
def counts_truth(election: Election, orders: Points) -> Truth:
    """Return the same when only the counts of unclipped ballots are known."""
    poll = election.poll
    bits = answer_bits(poll.electorate, election.sigma, election.variant)
    return counts_cost(poll.counts(), poll.electorate, bits, orders)


def gaussian_cost(election: Election, orders: Points) -> FloatArray:
    """Return the data-independent cost of the noisy margins."""
    return multilabel.gaussian(orders, *_settings(election))


def tight_cost(election: Election, orders: Points) -> FloatArray:
    """Return the data-independent cost of the released bits."""
    return _tight(orders, *_settings(election))


# It does not depend on the ballots, so it is computed once.
_tight = lru_cache(maxsize=1 << 12)(multilabel.tight)


def _settings(election: Election) -> tuple[float, int, float | None, Norm, Variant, float]:
    return (
        election.sigma,
        election.labels,
        election.tau,
        election.norm,
        election.variant,
        election.reach,
    )


@lru_cache(maxsize=1 << 13)
def data_dependent_cost(election: Election, orders: Points) -> FloatArray:
    """Return the data-dependent cost of the released bits."""
    poll = election.poll
    return multilabel.data_dependent(
        poll.counts(),
        poll.electorate,
        orders,
        election.sigma,
        election.tau,
        election.norm,
        election.variant,
        election.weight,
    ).ravel()


def clippings_of(mechanism: str, effort: Effort) -> tuple[ClippingCase, ...]:
    """Return the clippings to check."""
    return CLIPPINGS[mechanism][-2:] if effort.quick else CLIPPINGS[mechanism]


def every(effort: Effort, mechanism: str, variant: Variant) -> Iterator[Election]:
    """Return small polls, and large ones with two camps."""
    clippings = clippings_of(mechanism, effort)
    return itertools.chain(
        small_elections(effort, variant, clippings),
        fixed_camps(variant, clippings),
        random_camps(effort, variant, clippings),
    )


def weighted(effort: Effort, mechanism: str) -> Iterator[Election]:
    """Yield small polls of teachers with weight 2.5."""
    for election in small_elections(effort, "both", clippings_of(mechanism, effort)):
        yield replace(election, sigma=3.0 * election.sigma, weight=2.5)


def duplicated(effort: Effort, mechanism: str) -> Iterator[Election]:
    """Yield polls in which two teachers may change their ballots independently."""
    clippings = clippings_of(mechanism, effort)
    small, camps = small_elections(effort, "both", clippings), fixed_camps("both", clippings)
    for election in itertools.chain(small, camps):
        if election.poll.electorate >= 2.0:
            yield replace(election, teachers=2)


@dataclass(frozen=True)
class Ballots:
    """The number of labels, and the norm to which ballots are clipped."""

    labels: int
    norm: Norm


def label_numbers(_: Effort, norm: Norm) -> Iterator[Ballots]:
    """Yield up to twelve labels, and twenty."""
    for labels in (*range(1, 13), 20):
        yield Ballots(labels, norm)


def shipped_distance(ballots: Ballots, taus: Points) -> FloatArray:
    """Return the shipped Δ²."""
    found = [multilabel.squared_sensitivity(ballots.labels, tau, ballots.norm) for tau in taus]
    return np.array(found)


@lru_cache(maxsize=64)
def true_distance(ballots: Ballots, taus: Points) -> Truth:
    """Return Δ² by trying all sizes and overlaps."""
    found = np.array([squared_distance(ballots.labels, tau, ballots.norm) for tau in taus])
    return Truth(found, 1e-12 * found, ("",) * len(taus))


def variant_cases(mechanism: str, variant: str) -> Iterator[AnyCase]:
    """Yield the cases of one mechanism and one noise variant."""
    configurations = partial(every, mechanism=mechanism, variant=VARIANTS[variant])
    yield Case(
        f"{mechanism}/{variant}-gaussian",
        f"{FACTORS[variant]} whatever the ballots",
        SOURCES[mechanism],
        "holds",
        0.97,
        configurations,
        gaussian_cost,
        truth,
    )
    yield Case(
        f"{mechanism}/{variant}-tight",
        "one-bit suprema of all labels, at the worst pair of ballots",
        "independent bits of shifted Gaussians; new",
        "holds",
        0.99,
        configurations,
        tight_cost,
        truth,
    )
    dependent = Case(
        f"{mechanism}/{variant}-data-dependent",
        "divergences of all labels at their counts, at the worst pair of ballots",
        "independent bits of shifted Gaussians; new",
        "holds",
        0.99,
        configurations,
        data_dependent_cost,
        truth,
    )
    yield dependent
    if mechanism == "binary":
        # Without clipping the labels move independently, and the cost is exact.
        yield accuracy(replace(dependent, truth=counts_truth))


def reach_cases(mechanism: str) -> Iterator[AnyCase]:
    """Yield the cases of weighted ballots, and of records that two teachers saw."""
    yield Case(
        f"{mechanism}/weights",
        "divergences of all labels when every teacher weighs 2.5",
        "independent bits of shifted Gaussians; new",
        "holds",
        0.99,
        partial(weighted, mechanism=mechanism),
        data_dependent_cost,
        truth,
    )
    yield Case(
        f"{mechanism}/duplicates",
        "one-bit suprema at twice the shift when two teachers saw a record",
        "convexity of the one-bit supremum in the shift; new",
        "holds",
        0.99,
        partial(duplicated, mechanism=mechanism),
        tight_cost,
        truth,
    )


def distances(mechanism: str, norm: Norm) -> AnyCase:
    """Return the case of Δ² in one norm."""
    return Case(
        f"{mechanism}/sensitivity",
        "Δ², the largest squared distance of two clipped ballots",
        "maximisation over sizes and overlaps; new",
        "holds",
        0.99999,
        partial(label_numbers, norm=norm),
        shipped_distance,
        true_distance,
        TAUS,
    )


CASES: tuple[AnyCase, ...] = (
    *(case for variant in VARIANTS for case in variant_cases("binary", variant)),
    *reach_cases("binary"),
    distances("tau-l2", "l2"),
    *(case for variant in VARIANTS for case in variant_cases("tau-l2", variant)),
    *reach_cases("tau-l2"),
    distances("tau-l1", "l1"),
    *(case for variant in VARIANTS for case in variant_cases("tau-l1", variant)),
    *reach_cases("tau-l1"),
)

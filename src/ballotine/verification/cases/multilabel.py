"""Binary and τ voting: k labels at once, each with noise of its own."""

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
    """The exact two-sided cost of a poll's answers, by the oracle."""
    poll = election.poll
    bits = answer_bits(poll.electorate, election.sigma, election.variant)
    return poll_cost(poll, bits, orders, election.teachers)


@lru_cache(maxsize=1 << 13)
def counts_truth(election: Election, orders: Points) -> Truth:
    """The same when all that is known of unclipped ballots is their counts."""
    poll = election.poll
    bits = answer_bits(poll.electorate, election.sigma, election.variant)
    return counts_cost(poll.counts(), poll.electorate, bits, orders)


def gaussian_cost(election: Election, orders: Points) -> FloatArray:
    """The data-independent cost of the noisy margins."""
    return multilabel.gaussian(
        orders,
        election.sigma,
        election.labels,
        election.tau,
        election.norm,
        election.variant,
        election.reach,
    )


def tight_cost(election: Election, orders: Points) -> FloatArray:
    """The data-independent cost of the released bits."""
    return _tight(
        orders,
        election.sigma,
        election.labels,
        election.tau,
        election.norm,
        election.variant,
        election.reach,
    )


# The ballots make no difference to it, so it is asked for once.
_tight = lru_cache(maxsize=1 << 12)(multilabel.tight)


@lru_cache(maxsize=1 << 13)
def data_dependent_cost(election: Election, orders: Points) -> FloatArray:
    """The data-dependent cost of the released bits."""
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
    """The ways to clip that are tried."""
    return CLIPPINGS[mechanism][-2:] if effort.quick else CLIPPINGS[mechanism]


def every(effort: Effort, mechanism: str, variant: Variant) -> Iterator[Election]:
    """Small polls, and large ones with two camps."""
    clippings = clippings_of(mechanism, effort)
    return itertools.chain(
        small_elections(effort, variant, clippings),
        fixed_camps(variant, clippings),
        random_camps(effort, variant, clippings),
    )


def weighted(effort: Effort, mechanism: str) -> Iterator[Election]:
    """Small polls of teachers that weigh 2.5 each."""
    for election in small_elections(effort, "both", clippings_of(mechanism, effort)):
        yield replace(election, sigma=3.0 * election.sigma, weight=2.5)


def duplicated(effort: Effort, mechanism: str) -> Iterator[Election]:
    """Small polls in which two teachers may change their ballots in different ways."""
    clippings = clippings_of(mechanism, effort)
    small, camps = small_elections(effort, "both", clippings), fixed_camps("both", clippings)
    for election in itertools.chain(small, camps):
        if election.poll.electorate >= 2.0:
            yield replace(election, teachers=2)


@dataclass(frozen=True)
class Ballots:
    """So many labels, clipped in this norm."""

    labels: int
    norm: Norm


def label_numbers(_: Effort, norm: Norm) -> Iterator[Ballots]:
    """Up to twelve labels, and twenty."""
    for labels in (*range(1, 13), 20):
        yield Ballots(labels, norm)


def shipped_distance(ballots: Ballots, taus: Points) -> FloatArray:
    """Δ² as it ships."""
    found = [multilabel.squared_sensitivity(ballots.labels, tau, ballots.norm) for tau in taus]
    return np.array(found)


@lru_cache(maxsize=64)
def true_distance(ballots: Ballots, taus: Points) -> Truth:
    """Δ² by trying all sizes and overlaps."""
    found = np.array([squared_distance(ballots.labels, tau, ballots.norm) for tau in taus])
    return Truth(found, 1e-12 * found, ("",) * len(taus))


def holding(mechanism: str, way: str) -> Iterator[AnyCase]:
    """The cases of one mechanism and one way to add noise."""
    configurations = partial(every, mechanism=mechanism, variant=VARIANTS[way])
    yield Case(
        f"{mechanism}/{way}-gaussian",
        f"{FACTORS[way]} whatever the ballots",
        SOURCES[mechanism],
        "holds",
        0.97,
        configurations,
        gaussian_cost,
        truth,
    )
    yield Case(
        f"{mechanism}/{way}-tight",
        "one-bit suprema of all labels, at the worst pair of ballots",
        "independent bits of shifted Gaussians; new",
        "holds",
        0.99,
        configurations,
        tight_cost,
        truth,
    )
    dependent = Case(
        f"{mechanism}/{way}-data-dependent",
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
        # Without clipping every label can move freely, and the cost is exact.
        yield accuracy(replace(dependent, truth=counts_truth))


def heavier(mechanism: str) -> Iterator[AnyCase]:
    """Weighted ballots, and records that two teachers saw."""
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
    """Δ² of one norm."""
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
    *(case for way in VARIANTS for case in holding("binary", way)),
    *heavier("binary"),
    distances("tau-l2", "l2"),
    *(case for way in VARIANTS for case in holding("tau-l2", way)),
    *heavier("tau-l2"),
    distances("tau-l1", "l1"),
    *(case for way in VARIANTS for case in holding("tau-l1", way)),
    *heavier("tau-l1"),
)

"""The confident check of multi-label votes, which runs once per label."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache, partial

from ballotine.oracle.ballots import (
    Norm,
    Poll,
    answer_bits,
    check_bits,
    checked_answers,
    poll_cost,
)
from ballotine.oracle.truth import Truth
from ballotine.privacy import multilabel
from ballotine.types import FloatArray
from ballotine.verification.case import AnyCase, Case, Effort, Points
from ballotine.verification.cases.multilabel import CLIPPINGS, MULTI_WINNER, clippings_of
from ballotine.verification.elections import Cast, format_cast, small_casts

SIGMA = 2.0
"""The noise of the answers, where answers are released with the checks."""


@dataclass(frozen=True)
class CheckedLabels:
    """The ballots of one query, and the threshold and noise of its checks."""

    labels: int
    cast: Cast = field(metadata={"format": format_cast})
    threshold: float
    sigma_threshold: float
    tau: float | None
    norm: Norm

    @property
    def poll(self) -> Poll:
        """The ballots without threshold and noise."""
        return Poll(self.labels, self.cast, self.tau, self.norm)


@lru_cache(maxsize=1 << 13)
def truth(query: CheckedLabels, orders: Points) -> Truth:
    """Return the oracle's exact two-sided cost of the checks of all labels."""
    poll = query.poll
    return poll_cost(
        poll, check_bits(poll.electorate, query.threshold, query.sigma_threshold), orders
    )


def whole_truth(query: CheckedLabels, orders: Points) -> Truth:
    """Return the exact cost of checks and answers together."""
    poll = query.poll
    check = check_bits(poll.electorate, query.threshold, query.sigma_threshold)
    answer = answer_bits(poll.electorate, SIGMA, "both")
    return poll_cost(poll, checked_answers(check, answer), orders)


def every(effort: Effort, mechanism: str) -> Iterator[CheckedLabels]:
    """Yield small polls with several thresholds, and large ones with two camps."""
    clippings = clippings_of(mechanism, effort)
    for clipping, (labels, cast) in itertools.product(clippings, small_casts(effort.quick)):
        teachers = sum(number for _, number in cast)
        for level in (0.6 * teachers, 1.0 * teachers):
            yield CheckedLabels(labels, cast, level, 0.6, clipping.tau, clipping.norm)
    # Close to the threshold with much noise, and far from it with little.
    fixed = ((40, 40.0, 10.0), (42, 50.0, 0.6))
    for clipping, size, (crowd, level, noise) in itertools.product(clippings, (1, 3, 10), fixed):
        camps = ((tuple(range(size)), crowd), (tuple(range(size, 2 * size)), 50 - crowd))
        yield CheckedLabels(20, camps, level, noise, clipping.tau, clipping.norm)


# It does not depend on the ballots, so it is computed once.
_tight_check = lru_cache(maxsize=1 << 12)(multilabel.tight_check)


def gaussian_cost(query: CheckedLabels, orders: Points) -> FloatArray:
    """Return the joint cost of the noisy counts."""
    return multilabel.joint_check(
        orders, query.sigma_threshold, query.labels, query.tau, query.norm
    )


def tight_cost(query: CheckedLabels, orders: Points) -> FloatArray:
    """Return the joint cost of the released bits."""
    return _tight_check(orders, query.sigma_threshold, query.labels, query.tau, query.norm)


def data_dependent_cost(query: CheckedLabels, orders: Points) -> FloatArray:
    """Return the joint cost of the released bits at these counts."""
    poll = query.poll
    return multilabel.check_data_dependent(
        poll.counts(),
        poll.electorate,
        query.threshold,
        orders,
        query.sigma_threshold,
        query.tau,
        query.norm,
    ).ravel()


def whole_cost(query: CheckedLabels, orders: Points) -> FloatArray:
    """Return the suprema of checks and answers, added up."""
    answer = multilabel.tight(orders, SIGMA, query.labels, query.tau, query.norm)
    cost: FloatArray = tight_cost(query, orders) + answer
    return cost


def cases_of(mechanism: str) -> Iterator[AnyCase]:
    """Yield the cases of one mechanism."""
    configurations = partial(every, mechanism=mechanism)
    yield Case(
        f"{mechanism}/check-gaussian",
        "αΔ²/(2σ_T²) for the checks of all labels",
        f"{MULTI_WINNER}, Algorithm 2; charged jointly",
        "holds",
        0.96,
        configurations,
        gaussian_cost,
        truth,
    )
    yield Case(
        f"{mechanism}/check-tight",
        "one-bit suprema of the checks, at the worst pair of ballots",
        "independent bits of shifted Gaussians; new",
        "holds",
        0.99,
        configurations,
        tight_cost,
        truth,
    )
    yield Case(
        f"{mechanism}/check-data-dependent",
        "divergences of the checks at their counts, at the worst pair of ballots",
        "independent bits of shifted Gaussians; new",
        "holds",
        0.99,
        configurations,
        data_dependent_cost,
        truth,
    )
    yield Case(
        f"{mechanism}/confident",
        "suprema of checks and of answers, added up",
        f"{MULTI_WINNER}, Algorithm 2 as a whole",
        "holds",
        0.94,
        configurations,
        whole_cost,
        whole_truth,
    )


CASES: tuple[AnyCase, ...] = tuple(case for name in CLIPPINGS for case in cases_of(name))

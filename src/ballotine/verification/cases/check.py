"""The threshold check: whether the largest count plus noise reaches a threshold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ballotine.oracle import bits
from ballotine.oracle.truth import Truth, worst_neighbour
from ballotine.privacy import exact, published, tight
from ballotine.types import FloatArray
from ballotine.verification.accuracy import exact_cases
from ballotine.verification.case import AnyCase, Case, Effort, Points
from ballotine.verification.cases.gnmax import SCALABLE


@dataclass(frozen=True)
class CheckedVote:
    """One check; `reach` is how much one record can change the largest count."""

    top: float
    threshold: float
    sigma: float
    reach: float = 1.0


def truth(check: CheckedVote, orders: Points) -> Truth:
    """Return the oracle's exact two-sided cost."""
    return bits.threshold(check.top, check.threshold, check.sigma, orders, check.reach)


def every(effort: Effort) -> Iterator[CheckedVote]:
    """Yield counts from far below to far above the threshold, with several weights and noises."""
    step = 0.5 if effort.quick else 0.2
    for sigma in (0.7, 3.0, 20.0):
        for reach in (0.3, 1.0, 20.0) if effort.quick else (0.3, 0.5, 1.0, 2.0, 5.0, 20.0):
            span = 6.0 * sigma + 2.0 * reach
            for shift in np.arange(-span, span, step * sigma):
                yield CheckedVote(round(500.0 + float(shift), 6), 500.0, sigma, reach)
    draw = effort.draws("check")
    for _ in range(effort.number(200)):
        top, level = draw.uniform(0.0, 500.0, 2).round(1)
        sigma = round(10.0 ** draw.uniform(0.5, 2.5), 2)
        reach = round(10.0 ** draw.uniform(-0.5, 1.3), 2)
        yield CheckedVote(float(top), float(level), float(sigma), float(reach))


def rounded_truth(check: CheckedVote, orders: Points) -> Truth:
    """Return the exact cost of a check on the rounded count."""
    before, moved = np.round(check.top), np.round(check.top + check.reach)
    laws = [bits.log_bit((count - check.threshold) / check.sigma) for count in (before, moved)]
    return worst_neighbour(
        laws[0], laws[1][np.newaxis, :], lambda _: f"rounded top {moved:g}", np.array(orders)
    )


def fractions(_: Effort) -> Iterator[CheckedVote]:
    """Yield a vote of weight 0.1 that changes how the count is rounded."""
    yield CheckedVote(60.45, 80.0, 15.0, 0.1)
    yield CheckedVote(5.45, 8.0, 0.5, 0.1)


@lru_cache(maxsize=1 << 13)
def exact_cost(check: CheckedVote, orders: Points) -> FloatArray:
    """Return the shipped exact cost."""
    return exact.threshold(check.top, check.threshold, orders, check.sigma, check.reach).ravel()


CASES: tuple[AnyCase, ...] = (
    Case(
        "check/published",
        "α s²/(2σ²) whatever the count",
        f"{SCALABLE}, Proposition 8 for one count",
        "holds",
        0.99,
        every,
        lambda check, orders: published.threshold(orders, check.sigma, check.reach),
        truth,
    ),
    Case(
        "check/tight",
        "one-bit supremum whatever the count",
        "one bit of a shifted Gaussian; new",
        "holds",
        0.999,
        every,
        lambda check, orders: tight.threshold(orders, check.sigma, check.reach),
        truth,
    ),
    Case(
        "check/theorem-6",
        "Theorem 6 with the likelier outcome of the check",
        f"{SCALABLE}, Theorem 6; both directions and q·e^ε2 < 1 added",
        "holds",
        0.99,
        every,
        lambda check, orders: published.threshold_data_dependent(
            check.top, check.threshold, orders, check.sigma, check.reach
        ).ravel(),
        truth,
    ),
    *exact_cases(
        "check/exact",
        "the two-sided divergence of the bit itself",
        "Bernoulli laws of a shifted Gaussian; new",
        every,
        exact_cost,
        truth,
    ),
    Case(
        "check/rounded-top",
        "α w²/(2σ²) when the largest count is rounded before the noise",
        "a check on fractional counts; rounding turns a weight into a whole vote",
        "false",
        54.0,
        fractions,
        lambda check, orders: published.threshold(orders, check.sigma, check.reach),
        rounded_truth,
    ),
)

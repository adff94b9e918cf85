"""Envelopes: for each top count, a cost that no tally with this top exceeds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ballotine.oracle import votes
from ballotine.oracle.neighbours import Tally
from ballotine.oracle.truth import Truth
from ballotine.privacy import envelope
from ballotine.types import FloatArray
from ballotine.verification.case import AnyCase, Axis, Case, Effort, Points
from ballotine.verification.configurations import close_race, random_tally, tallies

# An envelope is computed for a single order, and is slow: use few orders.
FEW_ORDERS = Axis("order", (2.0, 6.0, 24.0))
THRESHOLD_SHARE, THRESHOLD_NOISE = 0.6, 2.0


@dataclass(frozen=True)
class EnvelopeCase:
    """The numbers of teachers and classes, and the noise."""

    teachers: int
    classes: int
    sigma: float


@dataclass(frozen=True)
class Covered:
    """A tally that the envelope of its ensemble must cover."""

    tally: Tally
    sigma: float

    @property
    def ensemble(self) -> EnvelopeCase:
        """The parameters of the envelope that must cover this tally."""
        return EnvelopeCase(int(sum(self.tally)), len(self.tally), self.sigma)


SMALL = (EnvelopeCase(9, 3, 2.0),)
MEDIUM = (EnvelopeCase(8, 4, 2.0), EnvelopeCase(8, 2, 2.0), EnvelopeCase(12, 4, 4.0))
LARGE = EnvelopeCase(50, 10, 10.0)


def every(effort: Effort) -> Iterator[Covered]:
    """Yield all tallies of small ensembles, and random ones of a large ensemble."""
    for ensemble in SMALL if effort.quick else (*SMALL, *MEDIUM):
        for tally in tallies(ensemble.teachers, ensemble.classes):
            yield Covered(tally, ensemble.sigma)
    if effort.quick:
        return
    draw = effort.draws("envelope")
    for number in range(100):
        make = close_race if number % 2 else random_tally
        yield Covered(make(draw, LARGE.teachers, LARGE.classes), LARGE.sigma)
    for top in range(LARGE.teachers // 2, LARGE.teachers + 1, 3):
        rest = (0.0,) * (LARGE.classes - 2)
        yield Covered((float(top), float(LARGE.teachers - top), *rest), LARGE.sigma)


@lru_cache(maxsize=256)
def _gnmax(ensemble: EnvelopeCase, order: float) -> FloatArray:
    return envelope.gnmax(ensemble.teachers, ensemble.classes, order, ensemble.sigma)


@lru_cache(maxsize=256)
def _confident(ensemble: EnvelopeCase, order: float) -> FloatArray:
    return envelope.confident_gnmax(
        ensemble.teachers,
        ensemble.classes,
        order,
        ensemble.sigma,
        THRESHOLD_SHARE * ensemble.teachers,
        THRESHOLD_NOISE * ensemble.sigma,
    )


def gnmax_cost(covered: Covered, orders: Points) -> FloatArray:
    """Return the envelope at the tally's top."""
    top = int(covered.tally[0])
    return np.array([_gnmax(covered.ensemble, order)[top] for order in orders])


def confident_cost(covered: Covered, orders: Points) -> FloatArray:
    """Return the envelope of the whole mechanism at the tally's top."""
    top = int(covered.tally[0])
    return np.array([_confident(covered.ensemble, order)[top] for order in orders])


def gnmax_truth(covered: Covered, orders: Points) -> Truth:
    """Return the oracle's exact cost."""
    return votes.gnmax(covered.tally, covered.sigma, orders)


def confident_truth(covered: Covered, orders: Points) -> Truth:
    """Return the oracle's exact cost of the whole mechanism."""
    level = THRESHOLD_SHARE * covered.ensemble.teachers
    noise = THRESHOLD_NOISE * covered.sigma
    return votes.confident_gnmax(covered.tally, covered.sigma, level, noise, orders)


CASES: tuple[AnyCase, ...] = (
    Case(
        "envelope/gnmax",
        "g(top) covers the exact cost of every tally with that top",
        "three cells averaged over the other classes; new",
        "holds",
        0.98,
        every,
        gnmax_cost,
        gnmax_truth,
        FEW_ORDERS,
    ),
    Case(
        "envelope/confident-gnmax",
        f"the same for Confident-GNMax with T = {THRESHOLD_SHARE} n and σ1 = {THRESHOLD_NOISE} σ",
        "three cells averaged over the other classes; new",
        "holds",
        0.98,
        every,
        confident_cost,
        confident_truth,
        FEW_ORDERS,
    ),
)

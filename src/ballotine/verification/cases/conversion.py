"""Conversion of Rényi costs to (ε, δ), on mechanisms whose exact ε is known."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from ballotine.oracle import epsilon as exactly
from ballotine.oracle.truth import Truth
from ballotine.privacy import conversion
from ballotine.privacy.conversion import Method, OrderGridWarning
from ballotine.types import FloatArray
from ballotine.verification.case import AnyCase, Axis, Case, Effort, Points

DELTAS = Axis("delta", (1e-12, 1e-9, 1e-7, 1e-5, 1e-3, 1e-2, 0.1))
EPSILONS = Axis("epsilon", (0.0, 0.1, 0.5, 1.0, 2.0, 4.0, 8.0))
# Dense and wide, so that the check is about the conversion and not the choice of a grid.
GRID = 1.0 + 10.0 ** np.linspace(-3.0, 5.0, 801)
# Covers root finding on the exact profiles, and cancellation in the profiles themselves.
_DOUBT = 1e-9


@dataclass(frozen=True)
class GaussianSum:
    """A Gaussian that one record shifts by `shift` standard deviations."""

    shift: float

    def renyi(self) -> FloatArray:
        """Return α s²/2."""
        cost: FloatArray = GRID * self.shift**2 / 2.0
        return cost

    def epsilon(self, delta: float) -> float:
        """Return the exact ε."""
        return exactly.gaussian_epsilon(delta, self.shift)

    def delta(self, epsilon: float) -> float:
        """Return the exact δ."""
        return exactly.gaussian_delta(epsilon, self.shift)


@dataclass(frozen=True)
class Responses:
    """One bit, released several times by randomised response."""

    strength: float
    times: int

    def renyi(self) -> FloatArray:
        """Return the number of answers times the cost of one."""
        return exactly.response_renyi(GRID, self.strength, self.times)

    def epsilon(self, delta: float) -> float:
        """Return the exact ε."""
        return exactly.response_epsilon(delta, self.strength, self.times)

    def delta(self, epsilon: float) -> float:
        """Return the exact δ."""
        return exactly.response_delta(epsilon, self.strength, self.times)


Known = GaussianSum | Responses


def every(effort: Effort) -> Iterator[Known]:
    """Yield mechanisms from very small to very large ε."""
    shifts = (0.03, 0.3, 1.0, 4.0) if effort.quick else (0.01, 0.03, 0.1, 0.3, 0.6, 1.0, 2.0, 4.0)
    strengths = (0.05, 1.0) if effort.quick else (0.01, 0.05, 0.2, 1.0, 3.0)
    yield from (GaussianSum(shift) for shift in shifts)
    for strength, times in itertools.product(strengths, (1, 10, 400)):
        yield Responses(strength, times)


def converted(method: Method) -> Callable[[Known, Points], FloatArray]:
    """Return a function that gives the ε of the shipped conversion at each δ."""

    def epsilons(known: Known, deltas: Points) -> FloatArray:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OrderGridWarning)
            found = [conversion.epsilon(GRID, known.renyi(), delta, method)[0] for delta in deltas]
        return np.array(found)

    return epsilons


def exact_epsilons(known: Known, deltas: Points) -> Truth:
    """Return the exact ε at each δ."""
    values = np.array([known.epsilon(delta) for delta in deltas])
    return Truth(values, _DOUBT * (1.0 + values), ("",) * values.size)


def proven_deltas(known: Known, epsilons: Points) -> FloatArray:
    """Return the δ of the shipped conversion at each ε; a δ of 1 proves nothing."""
    found = np.array([conversion.delta(GRID, known.renyi(), epsilon) for epsilon in epsilons])
    return np.where(found < 1.0, found, np.inf)


def exact_deltas(known: Known, epsilons: Points) -> Truth:
    """Return the exact δ at each ε."""
    values = np.array([known.delta(epsilon) for epsilon in epsilons])
    return Truth(values, _DOUBT * values + 1e-300, ("",) * values.size)


CASES: tuple[AnyCase, ...] = (
    Case(
        "conversion/improved",
        "ε = ρ + ln(1 − 1/α) − ln(δα)/(α − 1)",
        "Canonne, Kamath and Steinke 2020, Proposition 12",
        "holds",
        0.99,
        every,
        converted("improved"),
        exact_epsilons,
        DELTAS,
    ),
    Case(
        "conversion/classic",
        "ε = ρ + ln(1/δ)/(α − 1)",
        "Mironov 2017, Proposition 3",
        "holds",
        0.99,
        every,
        converted("classic"),
        exact_epsilons,
        DELTAS,
    ),
    Case(
        "conversion/delta",
        "δ = exp((α − 1)(ρ − ε) + …), the improved conversion solved for δ",
        "Canonne, Kamath and Steinke 2020, Proposition 12",
        "holds",
        0.98,
        every,
        proven_deltas,
        exact_deltas,
        EPSILONS,
    ),
)

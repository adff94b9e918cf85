"""A case: one claim, the exact cost to compare it with, and the configurations to check."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

import numpy as np

from ballotine.oracle.truth import Truth
from ballotine.types import FloatArray

Points = tuple[float, ...]
Configuration = TypeVar("Configuration")


@dataclass(frozen=True)
class Axis:
    """The points at which a curve is evaluated."""

    name: str
    points: Points


ORDERS = Axis("order", (1.5, 2.0, 3.0, 4.0, 8.0, 16.0, 32.0, 64.0))


@dataclass(frozen=True)
class Effort:
    """How many configurations to check, and the seed of the random ones.

    Attributes:
        quick: check fewer configurations of every kind.
        seed: determines the random configurations.
    """

    quick: bool
    seed: int

    def draws(self, name: str) -> np.random.Generator:
        """Return a generator that does not depend on which other cases run.

        It only chooses configurations, so it need not be cryptographically secure.
        """
        return np.random.default_rng([self.seed, zlib.crc32(name.encode())])

    def number(self, full: int) -> int:
        """Return the number of random configurations to draw."""
        return max(1, full // 8) if self.quick else full


@dataclass(frozen=True)
class Case(Generic[Configuration]):
    """One claim about one mechanism.

    Attributes:
        name: mechanism/claim, as used on the command line.
        statement: the claim in one line.
        source: where the claim comes from, and what was corrected.
        expected: whether the claim holds, or is a published claim that is false.
        reaches: the ratio of exact cost to claim that some configuration must reach; otherwise
            the check is too weak to notice a wrong claim (or to refute a false one).
        configurations: yields the configurations to check.
        claim: the claimed bound of one configuration at each point of the axis.
        truth: the oracle's exact cost of it.
        axis: the points at which the curves are evaluated.
    """

    name: str
    statement: str
    source: str
    expected: Literal["holds", "false"]
    reaches: float
    configurations: Callable[[Effort], Iterable[Configuration]]
    claim: Callable[[Configuration, Points], FloatArray]
    truth: Callable[[Configuration, Points], Truth]
    axis: Axis = ORDERS

    @property
    def mechanism(self) -> str:
        """The part of the name before the slash."""
        return self.name.partition("/")[0]


AnyCase = Case[Any]

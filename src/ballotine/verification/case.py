"""A case: one claim, the truth it is held against, and the configurations to try."""

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
    """What a cost is a curve over."""

    name: str
    points: Points


ORDERS = Axis("order", (1.5, 2.0, 3.0, 4.0, 8.0, 16.0, 32.0, 64.0))


@dataclass(frozen=True)
class Effort:
    """How much to try.

    Attributes:
        quick: fewer configurations of every kind.
        seed: what the random configurations follow from.
    """

    quick: bool
    seed: int

    def draws(self, name: str) -> np.random.Generator:
        """Return random numbers that do not depend on which other cases run.

        They choose what to try and protect nobody, so they need not be secret.
        """
        return np.random.default_rng([self.seed, zlib.crc32(name.encode())])

    def number(self, full: int) -> int:
        """Return how many random configurations to draw."""
        return max(1, full // 8) if self.quick else full


@dataclass(frozen=True)
class Case(Generic[Configuration]):
    """One claim about one mechanism.

    Attributes:
        name: mechanism/claim, as people select it.
        statement: what is claimed, in one line.
        source: where the claim comes from, and what was corrected.
        expected: whether the claim holds, or is a published one that is false.
        reaches: the ratio of truth to claim that must be reached: below it the oracle would be
            too weak to notice a wrong claim (or to show that a false one is false).
        configurations: what to try.
        claim: the claimed bound of one configuration at each point of the axis.
        truth: what the oracle computes for it.
        axis: what the curves run over.
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
        """The part of the name before the stroke."""
        return self.name.partition("/")[0]


AnyCase = Case[Any]

"""A record's own accountant: what it was shown to pay, vote by vote, over all runs.

Written apart from the product: laws by plain quadrature, one concrete pair of neighbouring
tallies per vote, the conversion from the paper. It prices what was *observed*: whose ballots
counted on a query, with which weight, and what was released. Its prices are those of two tallies
that differ by this record's votes, so they are never above the worst case that a ledger charges.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from scipy.special import ndtr

ORDERS = np.unique(np.concatenate([np.geomspace(1.2, 8.0, 25), np.geomspace(8.0, 300.0, 35)]))


@dataclass(frozen=True)
class Noise:
    """What is added to counts: N(0, scale²), or Laplace noise of that scale."""

    scale: float
    laplace: bool = False

    def below(self, x: np.ndarray) -> np.ndarray:
        if not self.laplace:
            return ndtr(x / self.scale)
        tail = 0.5 * np.exp(-np.abs(x) / self.scale)
        return np.where(x < 0, tail, 1.0 - tail)

    def density(self, x: np.ndarray) -> np.ndarray:
        if not self.laplace:
            return np.exp(-0.5 * (x / self.scale) ** 2) / (self.scale * math.sqrt(2 * math.pi))
        return np.exp(-np.abs(x) / self.scale) / (2 * self.scale)


@cache
def winner_cost(noise: Noise, votes: float, classes: int, moved: float) -> np.ndarray:
    """The divergence when ``moved`` votes change between two tied classes, at every order."""
    high, low = (votes + moved) / 2, (votes - moved) / 2
    rest = [0.0] * (classes - 2)
    one = _law(noise, (high, low, *rest))
    return _divergence(one, one[[1, 0, *range(2, classes)]])


@cache
def check_cost(sigma: float, moved: float) -> np.ndarray:
    """The divergence of one bit whose count lies half of ``moved`` beside the threshold."""
    passed = float(ndtr(moved / (2 * sigma)))
    return _divergence(np.array([passed, 1 - passed]), np.array([1 - passed, passed]))


def epsilon(cost: np.ndarray, delta: float) -> float:
    """Canonne, Kamath and Steinke 2020, Proposition 12, at the best order."""
    if not cost.any():
        return 0.0
    found = cost + np.log1p(-1 / ORDERS) - np.log(delta * ORDERS) / (ORDERS - 1)
    return max(0.0, float(found.min()))


def _law(noise: Noise, counts: tuple[float, ...]) -> np.ndarray:
    reach = (40.0 if noise.laplace else 10.0) * noise.scale
    x = np.linspace(min(counts) - reach, max(counts) + reach, 6001)
    below = np.array([noise.below(x - count) for count in counts])
    law = []
    for place, count in enumerate(counts):
        others = np.delete(below, place, axis=0).prod(axis=0)
        law.append(np.trapezoid(noise.density(x - count) * others, x))
    return np.array(law) / np.sum(law)


def _divergence(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    ratio = np.log(one) - np.log(other)
    terms = np.log(one)[None] + (ORDERS - 1)[:, None] * ratio[None]
    top = terms.max(axis=1)
    return (top + np.log(np.exp(terms - top[:, None]).sum(axis=1))) / (ORDERS - 1)


@dataclass(frozen=True)
class Vote:
    """One query as it was seen from outside.

    Attributes:
        weights: what each teacher's ballot counted.
        classes: how many there are.
        answer: the noise behind the winner; None where only the check was released.
        check: the noise of the check, if there was one.
    """

    weights: tuple[float, ...]
    classes: int
    answer: Noise | None
    check: float | None = None

    def cost(self, teachers: Iterable[int]) -> np.ndarray:
        """What it cost a record that these teachers have seen."""
        moved = sum(self.weights[teacher] for teacher in teachers)
        if moved == 0.0:
            return np.zeros_like(ORDERS)
        total = np.zeros_like(ORDERS)
        if self.check is not None:
            total = total + check_cost(self.check, moved)
        if self.answer is not None:
            votes = max(sum(self.weights), moved)
            total = total + winner_cost(self.answer, votes, self.classes, moved)
        return total


@dataclass
class Accountant:
    """Every record's total, over all ensembles that ever saw it."""

    records: int
    totals: dict[int, np.ndarray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.totals = defaultdict(lambda: np.zeros_like(ORDERS))

    def add(self, seen_by: dict[int, tuple[int, ...]], votes: Iterable[Vote]) -> None:
        """Charge votes to the records, each by the teachers that have it."""
        for vote in votes:
            prices: dict[tuple[int, ...], np.ndarray] = {}
            for record, teachers in seen_by.items():
                if teachers not in prices:
                    prices[teachers] = vote.cost(teachers)
                self.totals[record] = self.totals[record] + prices[teachers]

    def epsilon(self, record: int, delta: float) -> float:
        """What this record has paid."""
        return epsilon(self.totals[record], delta)

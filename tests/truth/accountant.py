"""A separate accountant: follows single records and knows nothing of ledgers or plans.

What a record paid for a query is the exact Rényi divergence of a pair of tallies that differ in
the ballots of the teachers that hold the record, by the laws of `ballotine.oracle`. The pair is
one that these voters can bring about: the other counted ballots are split between two classes in
every way, and the record's own move from one to the other. That is never more than a supremum over
all tallies, and so a claimed cost below it is a false one. For an ε that was computed from the
votes themselves the pair is that of the votes that were cast.

The curves are added up and converted by Prop. 12 of Canonne, Kamath and Steinke, rounded
*downwards*: between two orders the curve is taken at the lower, the price at the higher.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ballotine.oracle import gaussian, laplace
from ballotine.oracle.bits import log_bit
from ballotine.oracle.divergence import renyi

Curve = npt.NDArray[np.float64]
Parameters = tuple[tuple[str, object], ...]
Weights = tuple[float, ...]

ORDERS: Curve = 1.0 + np.geomspace(0.01, 1e4, 400)
_DIGITS = 9
_ROUNDING = 1.0 - 1e-9
"""Laws are exact to about 1e-10: what is called true lies below the truth."""


@dataclass(frozen=True)
class Rule:
    """A mechanism by its public description: its name, its parameters, how many classes."""

    name: str
    parameters: Parameters
    classes: int

    def __getitem__(self, key: str) -> float:
        value = dict(self.parameters)[key]
        assert isinstance(value, (int, float))
        return float(value)


@dataclass(frozen=True)
class Query:
    """One released answer as it was seen from outside.

    Attributes:
        rule: how tallies became answers.
        weights: how far each teacher's ballot moved a count; 0 where it was not counted.
        ballots: what each teacher voted; empty with several labels.
        tally: the counts.
        answered: how many answers it gave: 0 where the mechanism abstained, up to one per label.
    """

    rule: Rule
    weights: Weights
    ballots: tuple[int, ...]
    tally: Weights
    answered: int


@dataclass(frozen=True)
class Paid:
    """What one query was to one record: all that its cost depends on."""

    rule: Rule
    own: Weights
    others: Weights
    answered: int


@dataclass(frozen=True)
class Round:
    """One noised sum of clipped moves, in which a record's teacher moves by up to twice the clip.

    Attributes:
        multiplier: the deviation of the noise on each weight, in clips.
    """

    multiplier: float


@dataclass(frozen=True)
class PaidByVotes:
    """The same where the cost is that of the votes that were cast."""

    rule: Rule
    tally: Weights
    own: tuple[tuple[int, float], ...]
    answered: int


class Record:
    """What was released about one record, as a sum."""

    def __init__(self) -> None:
        self.worst: Counter[Paid | Round] = Counter()
        self.cast: Counter[PaidByVotes] = Counter()

    def add(self, query: Query, teachers: list[int], times: int = 1) -> None:
        """Count a query, or with −1 take one back; ``teachers`` hold the record."""
        own = [t for t in teachers if query.weights[t] > 0]
        if not own:
            return
        others = [w for t, w in enumerate(query.weights) if w > 0 and t not in own]
        mine = tuple(sorted(_round(query.weights[t]) for t in own))
        rest = tuple(sorted(_round(w) for w in others))
        self.worst[Paid(query.rule, mine, rest, query.answered)] += times
        if query.ballots:
            moves = tuple(sorted((query.ballots[t], _round(query.weights[t])) for t in own))
            tally = tuple(_round(count) for count in query.tally)
            self.cast[PaidByVotes(query.rule, tally, moves, query.answered)] += times

    def epsilon(self, delta: float) -> float:
        """A lower bound of what these releases cost at their worst tallies."""
        return _converted(frozenset((+self.worst).items()), delta)

    def epsilon_of_votes(self, delta: float) -> float:
        """A lower bound of what they cost with the votes that were cast."""
        return _converted(frozenset((+self.cast).items()), delta)


@lru_cache(maxsize=1 << 14)
def _converted(paid: frozenset[tuple[Paid | PaidByVotes | Round, int]], delta: float) -> float:
    if not paid:
        return 0.0
    curve = sum((times * cost(one) for one, times in paid), np.zeros(len(ORDERS)))
    price = np.log1p(-1.0 / ORDERS) - np.log(delta * ORDERS) / (ORDERS - 1.0)
    between = curve[:-1] + np.minimum(price[:-1], price[1:])
    # Below the first order the price alone is larger than this; beyond the last it is hardly 0.
    ends = (price[0], curve[-1] - 1e-3)
    return max(0.0, float(min(between.min(), *ends)))


@lru_cache(maxsize=1 << 14)
def cost(paid: Paid | PaidByVotes | Round) -> Curve:
    """The curve of one query, or round, for one record."""
    if isinstance(paid, Round):  # a Gaussian moved by two of its clips
        return _ROUNDING * 2.0 * ORDERS / paid.multiplier**2
    pairs = _cast_pairs(paid) if isinstance(paid, PaidByVotes) else _worst_pairs(paid)
    curves = [_two_sided(paid.rule, here, there, paid) for here, there in pairs]
    worst: Curve = np.max(curves, axis=0) * _ROUNDING
    worst.setflags(write=False)
    return worst


def _worst_pairs(paid: Paid) -> list[tuple[Weights, Weights]]:
    """The other voters split between two classes in every way; the record's own votes move."""
    moved, total = sum(paid.own), sum(paid.others)
    empty = (0.0,) * (_cells(paid.rule) - 2)
    pairs = []
    for first in _sums(paid.others):
        here = (moved + first, total - first, *empty)
        there = (first, moved + total - first, *empty)
        pairs.append((here, there))
    if len(paid.own) > 1 and empty:
        # Votes of one record may come from two classes and meet in a third.
        one, rest = paid.own[0], moved - paid.own[0]
        pairs += [
            ((one, rest, total, *empty[1:]), (0.0, 0.0, total + moved, *empty[1:])),
        ]
    return pairs


def _cast_pairs(paid: PaidByVotes) -> list[tuple[Weights, Weights]]:
    """The tally that was cast, against the record's teachers voting for any one class instead."""
    without = list(paid.tally)
    for choice, weight in paid.own:
        without[choice] -= weight
    moved = sum(weight for _, weight in paid.own)
    pairs = []
    for choice in range(paid.rule.classes):
        other = list(without)
        other[choice] += moved
        pairs.append((paid.tally, tuple(_round(count) for count in other)))
    return pairs


def _two_sided(rule: Rule, here: Weights, there: Weights, paid: Paid | PaidByVotes) -> Curve:
    """The larger direction, of what was released: check and answer, or the whole at once."""
    if isinstance(paid, PaidByVotes) and rule.name == "confident-gnmax":
        laws = [(1, _whole(rule, here), _whole(rule, there))]
    else:
        laws = _released(rule, here, there, answered=paid.answered)
    forth = sum((n * renyi(p, q, ORDERS)[0] for n, p, q in laws), np.zeros(len(ORDERS)))
    back = sum((n * renyi(q, p, ORDERS)[0] for n, p, q in laws), np.zeros(len(ORDERS)))
    return np.maximum(forth, back)


def _released(
    rule: Rule, here: Weights, there: Weights, *, answered: int
) -> list[tuple[int, Curve, Curve]]:
    """How often each law was drawn from, under both tallies.

    Of labels the record's ballot moves each by as much, and the others may be split alike.
    """
    if rule.name == "lnmax":
        gamma = rule["gamma"]
        return [(1, laplace.argmax_law(here, gamma), laplace.argmax_law(there, gamma))]
    assert rule.name in _KNOWN, rule.name
    sigma, asked = rule["sigma"], rule.classes if rule.name in _BY_LABEL else 1
    checked = "threshold" in dict(rule.parameters)
    times = answered if checked else asked
    laws = [(times, gaussian.argmax_law(here, sigma), gaussian.argmax_law(there, sigma))]
    return [*laws, (asked, _check(rule, here), _check(rule, there))] if checked else laws


_BY_LABEL = ("binary", "clipped")
_KNOWN = ("gnmax", "confident-gnmax", "interactive-gnmax", "powerset", *_BY_LABEL)


def _cells(rule: Rule) -> int:
    """How many counts there are: of classes, of sets, of a label and of its absence."""
    if rule.name in _BY_LABEL:
        return 2
    return 1 << rule.classes if rule.name == "powerset" else rule.classes


def _check(rule: Rule, counts: Weights) -> Curve:
    # A student that knows nothing expects as many votes for every class.
    expected = sum(counts) / rule.classes if rule.name == "interactive-gnmax" else 0.0
    return log_bit((max(counts) - expected - rule["threshold"]) / rule["sigma_threshold"])


def _whole(rule: Rule, counts: Weights) -> Curve:
    """The law of abstaining or of each class."""
    below, above = _check(rule, counts)
    return np.concatenate([[below], above + gaussian.argmax_law(counts, rule["sigma"])])


def _sums(weights: Weights) -> list[float]:
    """Every sum that some of these weights have."""
    kinds = Counter(weights)
    steps = [[w * number for number in range(times + 1)] for w, times in kinds.items()]
    return sorted({_round(math.fsum(some)) for some in itertools.product(*steps)})


def _round(value: float) -> float:
    return round(float(value), _DIGITS)

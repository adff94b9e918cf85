"""True costs of multi-label votes: k-hot ballots, clipped or not, released label by label.

A label is one bit of a Gaussian in every noise variant, and labels are independent given the
ballots. So the divergences of the labels add up for each pair of neighbours; the cost is the
largest sum over all ballots that one teacher may have cast and may cast instead.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from scipy.special import log_ndtr

from ballotine.oracle.divergence import renyi
from ballotine.oracle.truth import Truth, largest
from ballotine.types import FloatArray

Ballot = tuple[int, ...]
"""The labels that a teacher names."""

Norm = Literal["l2", "l1"]
Variant = Literal["one-against-complement", "both", "one-against-half"]
Bits = Callable[[FloatArray], FloatArray]
"""From positive counts, shape (…), to log-probabilities, shape (…, outcomes)."""


@dataclass(frozen=True)
class Poll:
    """The ballots of one query, and how they are clipped and weighted.

    Attributes:
        labels: the number of labels.
        cast: each ballot, with the number of teachers that cast it.
        tau: the largest norm of a ballot; None: ballots are not clipped.
        norm: the norm that `tau` limits.
        weight: the weight of each teacher.
    """

    labels: int
    cast: tuple[tuple[Ballot, int], ...]
    tau: float | None = None
    norm: Norm = "l2"
    weight: float = 1.0

    @property
    def electorate(self) -> float:
        """The total weight of all ballots."""
        return self.weight * sum(number for _, number in self.cast)

    def vector(self, ballot: Ballot) -> FloatArray:
        """Return what one ballot adds to the counts."""
        return self.weight * clipped(ballot, self.labels, self.tau, self.norm)

    def counts(self) -> FloatArray:
        """Return the positive count of each label."""
        total = np.zeros(self.labels)
        for ballot, number in self.cast:
            total += number * self.vector(ballot)
        return total

    def alternatives(self) -> list[Ballot]:
        """Return the ballots a teacher may change to.

        For up to four labels that is every ballot; for more, the ballots cast, none and all.
        """
        if self.labels <= 4:
            return every_ballot(self.labels)
        everything = tuple(range(self.labels))
        return [*(ballot for ballot, _ in self.cast), (), everything]

    def changes(self, teachers: int) -> list[tuple[str, FloatArray]]:
        """Return every change of the counts by this many teachers, each with a description."""
        voters = [ballot for ballot, number in self.cast for _ in range(min(number, teachers))]
        found = []
        for old in sorted(set(itertools.combinations(voters, teachers))):
            for new in itertools.product(self.alternatives(), repeat=teachers):
                move = sum(
                    self.vector(after) - self.vector(before)
                    for before, after in zip(old, new, strict=True)
                )
                found.append(
                    (f"with {_format_ballots(new)} for {_format_ballots(old)}", np.asarray(move))
                )
        return found


def every_ballot(labels: int) -> list[Ballot]:
    """Return all subsets of the labels."""
    sizes = range(labels + 1)
    return [one for size in sizes for one in itertools.combinations(range(labels), size)]


@lru_cache(maxsize=1 << 12)
def clipped(ballot: Ballot, labels: int, tau: float | None, norm: Norm) -> FloatArray:
    """Return the ballot as a vector, scaled down to a norm of at most τ."""
    vector = np.zeros(labels)
    vector[list(ballot)] = 1.0
    if tau is not None and ballot:
        length = math.sqrt(len(ballot)) if norm == "l2" else float(len(ballot))
        vector *= min(1.0, tau / length)
    vector.setflags(write=False)
    return vector


def squared_distance(labels: int, tau: float, norm: Norm) -> float:
    """Return the largest squared distance of two clipped ballots, by trying sizes and overlaps."""
    worst = 0.0
    for first, second in itertools.product(range(labels + 1), repeat=2):
        for shared in range(max(0, first + second - labels), min(first, second) + 1):
            start = first - shared
            one = clipped(tuple(range(first)), labels, tau, norm)
            two = clipped(tuple(range(start, start + second)), labels, tau, norm)
            worst = max(worst, float(((one - two) ** 2).sum()))
    return worst


def answer_bits(electorate: float, sigma: float, variant: Variant) -> Bits:
    """Return the law of a label's answer: absent, present."""

    def law(positive: FloatArray) -> FloatArray:
        margin = 2.0 * positive - electorate
        if variant == "one-against-complement":
            position = margin / sigma
        elif variant == "both":
            position = margin / (math.sqrt(2.0) * sigma)
        else:
            position = (positive - electorate / 2.0) / sigma
        return np.stack((log_ndtr(-position), log_ndtr(position)), axis=-1)

    return law


def check_bits(electorate: float, threshold: float, sigma: float) -> Bits:
    """Return the law of a label's check: the larger of its two counts is below T, or not."""

    def law(positive: FloatArray) -> FloatArray:
        position = (np.maximum(positive, electorate - positive) - threshold) / sigma
        return np.stack((log_ndtr(-position), log_ndtr(position)), axis=-1)

    return law


def checked_answers(check: Bits, answer: Bits) -> Bits:
    """Return the law of a label that is answered only if its check passes."""

    def law(positive: FloatArray) -> FloatArray:
        bit = check(positive)
        return np.concatenate((bit[..., :1], bit[..., 1:] + answer(positive)), axis=-1)

    return law


def poll_cost(poll: Poll, bits: Bits, orders: Sequence[float], teachers: int = 1) -> Truth:
    """Return the two-sided cost of releasing all labels of one poll.

    Args:
        poll: the ballots.
        bits: the law of one label, given its positive count.
        orders: Rényi orders above 1.
        teachers: the number of teachers that saw the record; each may cast another ballot.
    """
    grid = np.array(orders)
    before = poll.counts()
    changes = poll.changes(teachers)
    after = before + np.array([move for _, move in changes])
    p = np.broadcast_to(bits(before), (*after.shape, bits(before).shape[-1]))
    return largest(
        [_summed(p, bits(after), grid), _summed(bits(after), p, grid)],
        lambda i: changes[i][0],
        grid,
    )


def counts_cost(
    counts: FloatArray, electorate: float, bits: Bits, orders: Sequence[float]
) -> Truth:
    """Return the two-sided cost when only the counts of unclipped ballots are known.

    The teacher that changes may have cast any ballot that fits the counts: each label can lose a
    vote if it has one, and gain one if some teacher did not name it.
    """
    grid = np.array(orders)
    before = bits(counts)
    tables = []
    for reverse in (False, True):
        moves = []
        for step in (-1.0, 1.0):
            after = bits(np.clip(counts + step, 0.0, electorate))
            moves.append(renyi(after, before, grid) if reverse else renyi(before, after, grid))
        tables.append(np.maximum(*moves).sum(axis=0, keepdims=True))
    return largest(tables, lambda _: "with each label's worst move", grid)


def format_ballot(ballot: Ballot) -> str:
    """Return a ballot as a set; several consecutive labels as a range."""
    if len(ballot) > 3 and ballot[-1] - ballot[0] == len(ballot) - 1:
        return f"{{{ballot[0]}–{ballot[-1]}}}"
    return "{" + ", ".join(map(str, ballot)) + "}"


def _format_ballots(ballots: Sequence[Ballot]) -> str:
    return " and ".join(map(format_ballot, ballots))


def _summed(p: FloatArray, q: FloatArray, orders: FloatArray) -> FloatArray:
    """Return divergences of independent labels, added up: shape (changes, m)."""
    changes, labels, outcomes = p.shape
    parts = renyi(p.reshape(-1, outcomes), q.reshape(-1, outcomes), orders)
    total: FloatArray = parts.reshape(changes, labels, orders.size).sum(axis=1)
    return total

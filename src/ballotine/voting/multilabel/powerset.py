"""Powerset voting: the answer is the set of labels with the largest noisy count (multi-winner).

Noise is added to every allowed set, those that nobody cast included: an argmax over observed
sets alone would show who cast them. There may be 2^500 sets, so those without votes are not
enumerated. Of M independent noises only the largest matters. It is drawn from its own law, and
if it wins, each of the M sets is equally likely to be the one that had it.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import ClassVar

import numpy as np
from scipy.special import log_ndtr, ndtri_exp

from ballotine.errors import DataError, ParameterError
from ballotine.ledger import Events
from ballotine.noise import QueryNoise, positive
from ballotine.privacy import powerset, published
from ballotine.privacy.events import Event
from ballotine.privacy.reach import ONE_VOTE, Reach
from ballotine.types import FloatArray, IntArray
from ballotine.voting.electorate import Electorate
from ballotine.voting.gnmax import NOISE, argmax_event
from ballotine.voting.mechanism import AuditDefault, Bounds, Mechanism
from ballotine.voting.multilabel.ballots import ByteArray, SubsetTallies, require_labels
from ballotine.voting.parameters import parameter
from ballotine.voting.tally import Tallies

# The cost of an argmax does not depend on the number of classes beyond two; this one fits
# wherever an event is stored.
_MOST_CLASSES = 1 << 62
# A set is chosen by a fraction with so many bits more than there are sets: no set is then
# likelier than another by more than one part in 2^128.
_SPARE_BITS = 128


MOST_LABELS = 10**9
"""More than anybody has."""


@dataclass(frozen=True)
class PowersetVoting(Mechanism):
    """Answer with the set of labels that wins a noisy argmax over all allowed sets.

    Attributes:
        sigma: standard deviation of the noise on each set's count, in votes.
        tau: how many labels a set may name at most. A ballot that names more keeps its first
            ones; `cast_labels` with ``most`` keeps the most probable ones instead. It does not
            make an answer cheaper, but leaves fewer sets that nobody meant. None: no limit.
    """

    sigma: float = field(metadata=NOISE)
    tau: int | None = field(
        default=None, metadata=parameter("Most labels that a set may name.", above=0)
    )
    name: ClassVar[str] = "powerset"
    multilabel: ClassVar[bool] = True
    analyses: ClassVar[frozenset[Bounds]] = frozenset({"published", "tight", "exact"})
    individual: ClassVar[bool] = True
    audit: ClassVar[AuditDefault | None] = AuditDefault({"sigma": 2.0}, queries=10)

    def __post_init__(self) -> None:
        positive(self.sigma)
        if self.tau is not None:
            if not (1 <= self.tau <= MOST_LABELS and float(self.tau).is_integer()):
                raise ParameterError(
                    f"tau must be a whole number of labels, from 1 to {MOST_LABELS}"
                )
            object.__setattr__(self, "tau", int(self.tau))

    @property
    def most_labels(self) -> int | None:
        """As many as a set may name."""
        return self.tau

    def events(self, classes: int, reach: Reach = ONE_VOTE) -> Events:
        """One noisy argmax over the allowed sets."""
        allowed = powerset.allowed_subsets(classes, self.tau)
        return (argmax_event(self.sigma, min(allowed, _MOST_CLASSES), reach),)

    def realised(self, answers: IntArray, classes: int, reach: Reach = ONE_VOTE) -> Counter[Event]:
        """Every query was answered."""
        (argmax,) = self.events(classes, reach)
        return Counter({argmax: len(answers)})

    def tally(self, ballots: IntArray, classes: int) -> SubsetTallies:
        """Count equal ballots of shape (queries, teachers, labels)."""
        require_labels(ballots, classes)
        return SubsetTallies.from_ballots(ballots, self.tau)

    def weigh(self, ballots: IntArray, classes: int, electorate: Electorate) -> SubsetTallies:
        """Add up the weights of equal ballots."""
        require_labels(ballots, classes)
        return SubsetTallies.from_ballots(ballots, self.tau, electorate)

    def require(self, tallies: Tallies) -> None:
        """Counts of sets, cut to as many labels as are charged for."""
        self._own(tallies)

    def release(self, tallies: Tallies, noise: QueryNoise) -> IntArray:
        """Each query draws as many numbers as it could need, whatever was cast."""
        reason = "releasing a noisy argmax over sets of labels"
        subsets = self._own(tallies)
        counts, sets = subsets.unlock(reason=reason), subsets.unlock_sets(reason=reason)
        order = _order(subsets.labels, self.tau)
        listed = counts > 0.0
        noisy = np.where(listed, counts + noise.gaussian(self.sigma, counts.shape[1]), -np.inf)
        winners = np.argmax(noisy, axis=1)
        bits = order.allowed.bit_length() + _SPARE_BITS
        unlisted = [order.allowed - int(number) for number in np.count_nonzero(listed, axis=1)]
        largest = self._largest(unlisted, noise)
        fractions = noise.integers(bits)
        rows = np.arange(len(counts))
        answers = np.unpackbits(sets[rows, winners], axis=1, count=subsets.labels).astype(np.int64)
        for row in np.flatnonzero(largest > noisy[rows, winners]).tolist():
            place = (fractions[row] * unlisted[row]) >> bits
            answers[row] = order.unlisted(place, sets[row, listed[row]])
        return answers

    def _largest(self, unlisted: list[int], noise: QueryNoise) -> FloatArray:
        """The largest noise among the sets without votes: σ Φ⁻¹(u^(1/M)).

        With E = −ln u this is σ Φ⁻¹(e^(−E/M)). E has all its digits where it is small, which is
        where the largest maxima come from; u itself would lose them next to 1.
        """
        drawn = noise.exponential(1)[:, 0]
        number = np.array([float(sets) for sets in unlisted])
        with np.errstate(divide="ignore"):
            largest: FloatArray = self.sigma * ndtri_exp(-drawn / number)
        return largest

    def _published(
        self, tallies: Tallies, answers: IntArray, orders: FloatArray, reach: Reach
    ) -> FloatArray:
        """Theorem 6 over all neighbours, sets without votes included."""
        del answers
        if reach != ONE_VOTE:
            raise self._unpriced("published")
        counts, allowed = self._open(tallies)
        return _theorem6(counts, allowed, orders, self.sigma)

    def _exact(self, tallies: Tallies, orders: FloatArray, reach: Reach) -> FloatArray:
        if reach.teachers > 1:
            raise self._unpriced("exact")
        counts, allowed = self._open(tallies)
        return powerset.data_dependent(counts, allowed, orders, self.sigma, reach.weight)

    def _open(self, tallies: Tallies) -> tuple[FloatArray, int]:
        """The counts of sets, and how many sets are allowed."""
        subsets = self._own(tallies)
        counts = subsets.unlock(reason="pricing a noisy argmax for the data holder")
        return counts, powerset.allowed_subsets(subsets.labels, self.tau)

    def _unpriced(self, bounds: Bounds) -> ParameterError:
        return ParameterError(
            f"{self.name} has no {bounds} data-dependent cost for this group of records; use "
            "the tight, data-independent one"
        )

    def _own(self, tallies: Tallies) -> SubsetTallies:
        if not isinstance(tallies, SubsetTallies) or tallies.most != self.tau:
            raise DataError(f"{self.name} needs tallies made by its own tally()")
        return tallies


def _theorem6(counts: FloatArray, allowed: int, orders: FloatArray, sigma: float) -> FloatArray:
    """Theorem 6 at the neighbour with the largest q, where the sets without votes add to q.

    That neighbour has moved a vote from the top set to the runner-up, which may be a set without
    votes: docs/proofs/two-sided.md. The other sets without votes stand together as one whose
    count gives it their part of the union bound.
    """
    listed = min(max(counts.shape[1], 2), allowed)
    ranked = -np.sort(-np.pad(counts, ((0, 0), (0, listed - counts.shape[1]))), axis=1)
    # Without a clear winner no data-dependent bound is left: see there.
    costs = np.tile(published.gnmax(orders, sigma), (len(counts), 1))
    clear = ranked[:, 0] - ranked[:, 1] >= 2.0
    moved = ranked[clear]
    if not len(moved):
        return costs
    moved[:, 0] -= 1.0
    moved[:, 1] += 1.0
    if allowed > listed:
        spread = math.sqrt(2.0) * sigma
        log_part = math.log(allowed - listed) + log_ndtr(-moved[:, 0] / spread)
        # A part of one half or more leaves nothing of the bound; a tie says the same.
        gap = -spread * ndtri_exp(np.minimum(log_part, math.log(0.5))) * (1.0 - 1e-12)
        # Counts below nothing are gaps like others: all are raised alike.
        crowd = moved[:, 0] - np.maximum(gap, 0.0)
        raised = np.hstack((moved, crowd[:, np.newaxis]))
        moved = raised - np.minimum(raised.min(axis=1, keepdims=True), 0.0)
    costs[clear] = published.gnmax_data_dependent(moved, orders, sigma, two_sided=False)
    return costs


class SetOrder:
    """All allowed sets of labels in one fixed order: by size, then by their largest labels."""

    def __init__(self, labels: int, most: int | None = None) -> None:
        self._labels = labels
        self._most = labels if most is None else min(most, labels)
        self.allowed = powerset.allowed_subsets(labels, most)

    def unlisted(self, place: int, listed: ByteArray) -> IntArray:
        """One of the sets that are not listed, each for one place below their number.

        Sets before place M keep theirs; where one of them is listed, one of the last sets,
        which have no place of their own, stands in for it.

        Args:
            place: from 0 to M − 1, where M sets are not listed.
            listed: the listed sets, packed, all different.
        """
        found = self.at(place)
        if not np.any(np.all(np.packbits(found.astype(bool)) == listed, axis=1)):
            return found
        number = self.allowed - len(listed)
        taken = sorted(
            self.place(np.flatnonzero(np.unpackbits(one, count=self._labels))) for one in listed
        )
        free = [spare for spare in range(number, self.allowed) if spare not in taken]
        return self.at(free[taken.index(place)])

    def at(self, place: int) -> IntArray:
        """The set at a place, as 0/1 per label."""
        answer = np.zeros(self._labels, dtype=np.int64)
        size = bisect_right(self._starts, place) - 1
        rest = place - self._starts[size]
        for number in range(size, 0, -1):
            # The largest label whose sets of this many smaller ones all come before.
            label = bisect_right(self._binomials[number], rest) - 1
            rest -= self._binomials[number][label]
            answer[label] = 1
        return answer

    def place(self, members: IntArray) -> int:
        """Where the set of these labels, in rising order, stands."""
        before: int = self._starts[len(members)]
        for number, label in enumerate(members.tolist(), start=1):
            before += self._binomials[number][label]
        return before

    @cached_property
    def _starts(self) -> list[int]:
        """The places at which sets of 0, 1, … labels begin."""
        sizes = (math.comb(self._labels, size) for size in range(self._most))
        return list(accumulate(sizes, initial=0))

    @cached_property
    def _binomials(self) -> list[list[int]]:
        """For each n and label, how many sets of n labels use only smaller labels."""
        rows = [[1] * self._labels]
        for _ in range(self._most):
            rows.append(list(accumulate(rows[-1][:-1], initial=0)))
        return rows


@lru_cache(maxsize=4)
def _order(labels: int, most: int | None) -> SetOrder:
    """The same order for every chunk of queries: hundreds of labels take a while to prepare."""
    return SetOrder(labels, most)

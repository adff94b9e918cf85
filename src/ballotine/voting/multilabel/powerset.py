"""Powerset voting: the answer is the set of labels with the largest noisy count (multi-winner).

Noise is added to every allowed set, including those without votes: an argmax over observed sets
alone would reveal which sets were cast. There may be 2^500 sets, so those without votes are not
enumerated. Of their M independent noises only the largest matters. It is drawn from its own law,
and if it wins, each of the M sets is equally likely to be the one that had it.
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
from ballotine.noise import QueryNoise, check_noise_scale
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

# The cost of an argmax does not depend on the number of classes beyond two; this number can be
# stored in any event.
_MAX_CLASSES = 1 << 62
# A set is chosen by a fraction with this many extra bits: then no set is likelier than another by
# more than one part in 2^128.
_SPARE_BITS = 128

MAX_LABELS = 10**9


@dataclass(frozen=True)
class PowersetVoting(Mechanism):
    """Answer with the set of labels that wins a noisy argmax over all allowed sets.

    Attributes:
        sigma: standard deviation of the noise on each set's count, in votes.
        tau: the largest number of labels in a set. A ballot that names more keeps the first ones;
            `cast_labels` with ``most`` keeps the most probable ones instead. A limit does not
            reduce the cost, but leaves fewer sets without votes. None: no limit.
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
        check_noise_scale(self.sigma)
        if self.tau is not None:
            if not (1 <= self.tau <= MAX_LABELS and float(self.tau).is_integer()):
                raise ParameterError(
                    f"tau must be a whole number of labels, from 1 to {MAX_LABELS}"
                )
            object.__setattr__(self, "tau", int(self.tau))

    @property
    def most_labels(self) -> int | None:
        """The largest number of labels in a set."""
        return self.tau

    def events(self, classes: int, reach: Reach = ONE_VOTE) -> Events:
        """Return one noisy argmax over the allowed sets."""
        allowed = powerset.allowed_subsets(classes, self.tau)
        return (argmax_event(self.sigma, min(allowed, _MAX_CLASSES), reach),)

    def realised(self, answers: IntArray, classes: int, reach: Reach = ONE_VOTE) -> Counter[Event]:
        """Return an argmax for every query: all are answered."""
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
        """Refuse tallies that are not counts of sets with the same limit on labels."""
        self._own(tallies)

    def release(self, tallies: Tallies, noise: QueryNoise) -> IntArray:
        """Return winning sets; each query draws as many numbers as it could need."""
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
        """Return the largest noise among the sets without votes: σ Φ⁻¹(u^(1/M)).

        With E = −ln u this is σ Φ⁻¹(e^(−E/M)). Small values of E, from which the largest maxima
        come, have full precision; u itself would lose it near 1.
        """
        drawn = noise.exponential(1)[:, 0]
        number = np.array([float(sets) for sets in unlisted])
        with np.errstate(divide="ignore"):
            largest: FloatArray = self.sigma * ndtri_exp(-drawn / number)
        return largest

    def _published(
        self, tallies: Tallies, answers: IntArray, orders: FloatArray, reach: Reach
    ) -> FloatArray:
        """Return the cost by Theorem 6 over all neighbours, including sets without votes."""
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
        """Return the counts of sets, and how many sets are allowed."""
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
    """Return Theorem 6 at the neighbour with the largest q, to which sets without votes add.

    In that neighbour one vote moved from the top set to the runner-up, which may be a set without
    votes: docs/proofs/two-sided.md. The other sets without votes are represented by a single set
    whose count gives it their part of the union bound.
    """
    listed = min(max(counts.shape[1], 2), allowed)
    ranked = -np.sort(-np.pad(counts, ((0, 0), (0, listed - counts.shape[1]))), axis=1)
    # Without a clear winner there is no data-dependent bound: see the proof.
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
        # A part of one half or more makes the bound vacuous, as does a tie.
        gap = -spread * ndtri_exp(np.minimum(log_part, math.log(0.5))) * (1.0 - 1e-12)
        # Only differences matter: all counts are raised so that none is negative.
        crowd = moved[:, 0] - np.maximum(gap, 0.0)
        raised = np.hstack((moved, crowd[:, np.newaxis]))
        moved = raised - np.minimum(raised.min(axis=1, keepdims=True), 0.0)
    costs[clear] = published.gnmax_data_dependent(moved, orders, sigma, two_sided=False)
    return costs


class SetOrder:
    """All allowed sets of labels in a fixed order: by size, then by their largest labels."""

    def __init__(self, labels: int, most: int | None = None) -> None:
        self._labels = labels
        self._most = labels if most is None else min(most, labels)
        self.allowed = powerset.allowed_subsets(labels, most)

    def unlisted(self, place: int, listed: ByteArray) -> IntArray:
        """Return one of the M sets that are not listed; each has one place from 0 to M − 1.

        Sets before place M keep their place. If one of them is listed, an unlisted set from place
        M on takes its place.

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
        """Return the set at a place, as 0/1 per label."""
        answer = np.zeros(self._labels, dtype=np.int64)
        size = bisect_right(self._starts, place) - 1
        rest = place - self._starts[size]
        for number in range(size, 0, -1):
            # The largest label such that all sets of this size with smaller labels come before.
            label = bisect_right(self._binomials[number], rest) - 1
            rest -= self._binomials[number][label]
            answer[label] = 1
        return answer

    def place(self, members: IntArray) -> int:
        """Return the place of the set of these labels, which are in increasing order."""
        before: int = self._starts[len(members)]
        for number, label in enumerate(members.tolist(), start=1):
            before += self._binomials[number][label]
        return before

    @cached_property
    def _starts(self) -> list[int]:
        """The first places of sets of 0, 1, … labels."""
        sizes = (math.comb(self._labels, size) for size in range(self._most))
        return list(accumulate(sizes, initial=0))

    @cached_property
    def _binomials(self) -> list[list[int]]:
        """For each n and label, the number of sets of n labels that are all smaller."""
        rows = [[1] * self._labels]
        for _ in range(self._most):
            rows.append(list(accumulate(rows[-1][:-1], initial=0)))
        return rows


@lru_cache(maxsize=4)
def _order(labels: int, most: int | None) -> SetOrder:
    """Return the order of sets, cached because hundreds of labels take a while to prepare."""
    return SetOrder(labels, most)

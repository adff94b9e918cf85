"""Assumed votes for planning: simulated, or cast by teachers of public records.

Votes of teachers whose records are to be protected are private, even on public queries.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ballotine.agreement import Agreement, agreement
from ballotine.errors import DataError, ParameterError
from ballotine.types import FloatArray, IntArray
from ballotine.voting.tally import Tallies

SAMPLE = 500
"""How many public votes are priced: enough to compare noise levels."""
MIN_TEACHERS = 3
"""With fewer teachers, no class in the closest race would have a whole vote."""
PUBLIC = "votes that are assumed, simulated or declared public"


@dataclass(frozen=True, eq=False)
class AssumedVotes:
    """Votes that stand in for the private ones.

    Attributes:
        kinds: shares of votes with the right class first, and how often they occur.
        teachers: the number of teachers.
        sampled: whether they are a sample of public votes, so that means have an error.
    """

    kinds: Agreement
    teachers: int
    sampled: bool

    @classmethod
    def simulated(
        cls, teachers: int, classes: int, teacher_accuracy: float, plurality_accuracy: float
    ) -> AssumedVotes:
        """Simulate votes from the assumed accuracies of one teacher and of the plurality."""
        if teachers < MIN_TEACHERS:
            raise ParameterError(f"simulating votes needs at least {MIN_TEACHERS} teachers")
        kinds = agreement(teacher_accuracy, plurality_accuracy, classes)
        return cls(kinds, teachers, sampled=False)

    @classmethod
    def public(cls, tallies: Tallies, truth: IntArray | None = None) -> AssumedVotes:
        """Use the votes of teachers that learned from public records only.

        Args:
            tallies: counts of at least two queries; of more than `SAMPLE`, a sample is taken.
            truth: the right class of each query; by default the most frequent vote.
        """
        counts = tallies.unlock(reason=PUBLIC)
        right = counts.argmax(axis=1) if truth is None else np.asarray(truth)
        _same_queries(counts, right)
        teachers = np.unique(counts.sum(axis=1))
        if len(counts) < 2 or teachers.size != 1 or teachers[0] < 1:
            raise DataError(
                "public votes need at least two queries, with the same number of teachers on each"
            )
        chosen = np.random.default_rng(0).permutation(len(counts))[:SAMPLE]
        counts, right = counts[chosen], right[chosen]
        others = np.arange(counts.shape[1]) != right[:, None]
        first = counts[~others].reshape(-1, 1)
        votes = np.hstack([first, counts[others].reshape(len(counts), -1)]) / teachers[0]
        weights = np.full(len(votes), 1 / len(votes))
        return cls(Agreement(votes, weights), int(teachers[0]), sampled=True)

    @property
    def classes(self) -> int:
        """The number of classes."""
        return int(self.kinds.votes.shape[1])

    @property
    def counts(self) -> FloatArray:
        """Votes by class, the right class first."""
        return self.teachers * self.kinds.votes

    def mean(self, values: FloatArray) -> FloatArray:
        """Return the expectation of a value given for each kind of query."""
        return np.asarray(self.kinds.weights @ values)

    def error(self, values: FloatArray) -> float:
        """Return the standard error of that expectation; 0 if votes are not a sample."""
        if not self.sampled:
            return 0.0
        return float(np.std(values, ddof=1) / math.sqrt(len(values)))

    def places(self, queries: int) -> IntArray:
        """Return the top count and runner-up of this many queries, in whole votes."""
        last = np.round(np.cumsum(self.kinds.weights) * queries).astype(np.int64)
        times = np.diff(last, prepend=0)
        ordered = np.sort(self.counts, axis=1)[:, ::-1]
        top = np.maximum(np.round(ordered[:, 0]), -(-self.teachers // self.classes))
        rest = self.teachers - top
        # After rounding, the runner-up still has its share of the rest, and at most the top count.
        least = np.ceil(rest / (self.classes - 1))
        second = np.clip(np.round(ordered[:, 1]), least, np.minimum(top, rest))
        return np.repeat(np.stack([top, second], axis=1).astype(np.int64), times, axis=0)


def _same_queries(counts: FloatArray, right: IntArray) -> None:
    fitting = right.shape == counts.shape[:1] and right.dtype.kind in "iu"
    if not fitting or np.any((right < 0) | (right >= counts.shape[1])):
        raise DataError("the truth must be one class number per query")

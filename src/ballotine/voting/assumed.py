"""Votes that are assumed before any vote is seen: simulated, or of public teachers.

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
"""Public votes that are priced: enough to compare noises."""
FEWEST = 3
"""With fewer teachers no class of the closest race would hold a whole vote."""
PUBLIC = "votes that are assumed, simulated or declared public"


@dataclass(frozen=True, eq=False)
class AssumedVotes:
    """Votes that stand in for the private ones.

    Attributes:
        kinds: shares of votes, the right class first, and how often they occur.
        teachers: how many vote.
        sampled: they are a sample of public votes, so means of them have an error.
    """

    kinds: Agreement
    teachers: int
    sampled: bool

    @classmethod
    def simulated(
        cls, teachers: int, classes: int, teacher_accuracy: float, plurality_accuracy: float
    ) -> AssumedVotes:
        """From how often a teacher and the most frequent vote are assumed to be right."""
        if teachers < FEWEST:
            raise ParameterError(f"votes can be simulated for {FEWEST} teachers or more")
        kinds = agreement(teacher_accuracy, plurality_accuracy, classes)
        return cls(kinds, teachers, sampled=False)

    @classmethod
    def public(cls, tallies: Tallies, truth: IntArray | None = None) -> AssumedVotes:
        """From votes of teachers that learnt from public records only.

        Args:
            tallies: of such teachers, at least two; beyond `SAMPLE` queries a sample is taken.
            truth: the right class of each query; without it, the most frequent vote is right.
        """
        counts = tallies.unlock(reason=PUBLIC)
        right = counts.argmax(axis=1) if truth is None else np.asarray(truth)
        _same_queries(counts, right)
        teachers = np.unique(counts.sum(axis=1))
        if len(counts) < 2 or teachers.size != 1 or teachers[0] < 1:
            raise DataError("public votes need two queries or more, and as many teachers on each")
        chosen = np.random.default_rng(0).permutation(len(counts))[:SAMPLE]
        counts, right = counts[chosen], right[chosen]
        others = np.arange(counts.shape[1]) != right[:, None]
        first = counts[~others].reshape(-1, 1)
        votes = np.hstack([first, counts[others].reshape(len(counts), -1)]) / teachers[0]
        weights = np.full(len(votes), 1 / len(votes))
        return cls(Agreement(votes, weights), int(teachers[0]), sampled=True)

    @property
    def classes(self) -> int:
        """How many there are."""
        return int(self.kinds.votes.shape[1])

    @property
    def counts(self) -> FloatArray:
        """Votes by class, the right one first."""
        return self.teachers * self.kinds.votes

    def mean(self, values: FloatArray) -> FloatArray:
        """The expectation of what each kind of query gives."""
        return np.asarray(self.kinds.weights @ values)

    def error(self, values: FloatArray) -> float:
        """The standard error of that expectation; none where votes are not a sample."""
        if not self.sampled:
            return 0.0
        return float(np.std(values, ddof=1) / math.sqrt(len(values)))

    def places(self, queries: int) -> IntArray:
        """Top count and runner-up of so many queries, in whole votes."""
        last = np.round(np.cumsum(self.kinds.weights) * queries).astype(np.int64)
        times = np.diff(last, prepend=0)
        ordered = np.sort(self.counts, axis=1)[:, ::-1]
        top = np.maximum(np.round(ordered[:, 0]), -(-self.teachers // self.classes))
        rest = self.teachers - top
        # Rounded, the runner-up still holds its share of the rest, and no more than the top.
        least = np.ceil(rest / (self.classes - 1))
        second = np.clip(np.round(ordered[:, 1]), least, np.minimum(top, rest))
        return np.repeat(np.stack([top, second], axis=1).astype(np.int64), times, axis=0)


def _same_queries(counts: FloatArray, right: IntArray) -> None:
    fitting = right.shape == counts.shape[:1] and right.dtype.kind in "iu"
    if not fitting or np.any((right < 0) | (right >= counts.shape[1])):
        raise DataError("the truth needs one class number for each query")

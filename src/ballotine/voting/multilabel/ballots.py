"""Ballots that name several labels: how they are cast, clipped and counted.

A ballot is a row of 0/1, one entry per label. Two tallies come from such ballots: how often
each label was named (Binary and Clipped voting), and how often each set of labels was cast
(Powerset voting). Both are private.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ballotine.errors import DataError, ParameterError
from ballotine.privacy.multilabel import Norm
from ballotine.privacy.multilabel.ballots import scales
from ballotine.privacy.powerset import allowed_subsets
from ballotine.privacy.private import Private, Sealed
from ballotine.privacy.reach import LARGEST_WEIGHT, SMALLEST_WEIGHT
from ballotine.types import FloatArray, IntArray
from ballotine.voting.electorate import Electorate
from ballotine.voting.tally import Tallies

ByteArray = npt.NDArray[np.uint8]
"""0/1 entries, or sets of labels packed eight labels to the byte."""

# Ballot entries counted at once: they are bytes, and become floats only so many at a time.
_ENTRIES = 1 << 20
_ROUNDING = 1e-9


def cast_labels(
    probabilities: npt.ArrayLike, thresholds: npt.ArrayLike = 0.5, most: int | None = None
) -> ByteArray:
    """Turn the probabilities that teachers give to labels into ballots.

    A label is named when its probability is above its threshold. A missing probability (NaN, or
    −1) names nothing: the ballot is cast all the same, because the number of teachers is public
    and must not change.

    Args:
        probabilities: shape (…, labels).
        thresholds: one for all labels, or one per label. A threshold tuned on private records
            spends privacy that nobody accounts for: take it from public data.
        most: name at most so many labels, the most probable ones (the first in label order
            among equals); None: no limit.

    Returns:
        Ballots of 0/1, in the shape of the probabilities.
    """
    chances = np.asarray(probabilities, dtype=np.float64)
    limits = np.asarray(thresholds, dtype=np.float64)
    if chances.ndim == 0 or limits.shape not in {(), chances.shape[-1:]}:
        raise DataError("give one threshold for all labels, or one for each of them")
    if not np.all((limits >= 0.0) & (limits <= 1.0)):
        raise ParameterError("thresholds must lie between 0 and 1")
    missing = np.isnan(chances) | (chances == -1.0)
    chances = np.where(missing, -1.0, chances)
    if not np.all(missing | ((chances >= 0.0) & (chances <= 1.0))):
        raise DataError("probabilities must lie between 0 and 1, or be missing (NaN or -1)")
    named = chances > limits
    if most is not None:
        _require_whole(most, "most")
        rank = np.argsort(np.argsort(-chances, axis=-1, kind="stable"), axis=-1, kind="stable")
        named &= rank < most
    return named.astype(np.uint8)


@dataclass(frozen=True)
class Clipping:
    """How ballots are made small before they are counted.

    Attributes:
        tau: the largest norm a ballot keeps; None: ballots count as they are.
        norm: which norm that is.
    """

    tau: float | None = None
    norm: Norm = "l2"

    def __post_init__(self) -> None:
        scales(1, self.tau, self.norm)
        if self.tau is not None and not SMALLEST_WEIGHT <= self.tau <= LARGEST_WEIGHT:
            raise ParameterError(
                f"tau must lie between {SMALLEST_WEIGHT:g} and {LARGEST_WEIGHT:g} votes"
            )

    def scales(self, labels: int) -> FloatArray:
        """What a ballot that names 0, 1, …, k labels counts for each of them."""
        return np.concatenate(([0.0], scales(labels, self.tau, self.norm)))


UNCLIPPED = Clipping()


class LabelTallies(Tallies):
    """How often each label was named, shape (queries, labels): private.

    Counts are of clipped ballots. The number of teachers and the clipping are public.
    """

    __slots__ = ("clipping", "teachers")
    multilabel: ClassVar[bool] = True

    def __init__(
        self, counts: npt.ArrayLike, teachers: float, clipping: Clipping = UNCLIPPED
    ) -> None:
        """Take counts that were clipped and added up already.

        Args:
            counts: clipped positive counts V¹, shape (queries, labels).
            teachers: how many ballots there are for each query, or what they weigh together.
            clipping: how they were clipped. It is believed, and costs rest on it.
        """
        values = np.asarray(counts, dtype=np.float64)
        if values.ndim != 2 or values.shape[1] < 1:
            raise DataError("label tallies need the shape (queries, labels)")
        if not teachers > 0:
            raise DataError("label tallies need at least one teacher")
        most = teachers * float(clipping.scales(1)[1])
        if not np.all((values >= 0.0) & (values <= most * (1.0 + _ROUNDING))):
            raise DataError("a label counts less than nothing, or more than all ballots together")
        Private.__init__(self, np.minimum(values, most))
        self.teachers = teachers
        self.clipping = clipping

    @classmethod
    def from_ballots(
        cls,
        ballots: npt.NDArray[Any],
        clipping: Clipping,
        electorate: Electorate | None = None,
    ) -> LabelTallies:
        """Clip ballots of shape (queries, teachers, labels) and add them up.

        Args:
            ballots: 0 and 1.
            clipping: how they are made small.
            electorate: what each of them counts; None: everybody has one vote.
        """
        _require_ballots(ballots)
        queries, teachers, labels = ballots.shape
        scale, weights = clipping.scales(labels), _weights(electorate, ballots)
        counts = np.empty((queries, labels))
        for rows in _parts(ballots):
            part = ballots[rows].astype(np.float64)
            sizes = part @ np.ones(labels)
            each = scale[sizes.astype(np.int64)]
            if weights is not None:
                each *= weights[rows]
            counts[rows] = np.matmul(each[:, np.newaxis, :], part)[:, 0, :]
        return cls(counts, teachers if electorate is None else electorate.votes, clipping)


class SubsetTallies(Tallies):
    """How often each set of labels was cast, for the sets that were cast at all: private.

    Counts have the shape (queries, listed) with as many columns as sets could have been cast,
    so the shape says nothing about the votes; a count of 0 lists nothing. The sets of a query
    come in a fixed order. The number of teachers, of labels and the limit are public.
    """

    __slots__ = ("_sets", "labels", "most", "teachers")
    multilabel: ClassVar[bool] = True

    def __init__(
        self, counts: FloatArray, sets: ByteArray, teachers: float, labels: int, most: int | None
    ) -> None:
        """Take sets that were counted already.

        Args:
            counts: votes of each listed set, shape (queries, listed).
            sets: the listed sets, packed by `numpy.packbits`, shape (queries, listed, bytes).
            teachers: how many ballots there are for each query, or what they weigh together.
            labels: how many labels there are.
            most: how many labels a set may name at most; None: no limit.
        """
        if counts.ndim != 2 or sets.shape != (*counts.shape, -(-labels // 8)):
            raise DataError("subset tallies need as many sets as counts")
        if not np.all(np.isfinite(counts)) or np.any(counts < 0.0):
            raise DataError("tallies must be finite and not negative")
        Private.__init__(self, counts)
        self._sets = Sealed(sets)
        self.teachers = teachers
        self.labels = labels
        self.most = most

    @classmethod
    def from_ballots(
        cls,
        ballots: npt.NDArray[Any],
        most: int | None = None,
        electorate: Electorate | None = None,
    ) -> SubsetTallies:
        """Count equal ballots of shape (queries, teachers, labels).

        A ballot that names more than ``most`` labels keeps the first of them in label order;
        `cast_labels` keeps the most probable ones, where probabilities are known.

        Args:
            ballots: 0 and 1.
            most: how many labels a set may name at most; None: no limit.
            electorate: what each ballot counts; None: everybody has one vote.
        """
        _require_ballots(ballots)
        queries, teachers, labels = ballots.shape
        listed, weights = (
            min(teachers, allowed_subsets(labels, most)),
            _weights(electorate, ballots),
        )
        counts = np.zeros((queries, listed))
        sets = np.zeros((queries, listed, -(-labels // 8)), dtype=np.uint8)
        for rows in _parts(ballots):
            part = ballots[rows] != 0
            if most is not None:
                part &= np.cumsum(part, axis=2, dtype=np.int32) <= most
            packed = np.packbits(part, axis=2)
            order = _order_of_sets(packed)
            packed = np.take_along_axis(packed, order[:, :, np.newaxis], axis=1)
            first = np.ones(packed.shape[:2], dtype=bool)
            first[:, 1:] = np.any(packed[:, 1:] != packed[:, :-1], axis=2)
            run = np.cumsum(first, axis=1) - 1
            query = np.broadcast_to(np.arange(len(run))[:, np.newaxis], run.shape)
            each = 1.0 if weights is None else np.take_along_axis(weights[rows], order, axis=1)
            np.add.at(counts[rows], (query, run), each)
            sets[rows][query[first], run[first]] = packed[first]
        votes = teachers if electorate is None else electorate.votes
        return cls(counts, sets, votes, labels, most)

    @property
    def classes(self) -> int:
        """The number of labels (public)."""
        return self.labels

    def unlock_sets(self, *, reason: str) -> ByteArray:
        """The listed sets themselves, packed, for code that states why it may see them."""
        return self._sets.unlock(reason=reason)


def _parts(ballots: npt.NDArray[Any]) -> Iterator[slice]:
    """Queries to count together, so that memory stays small however many there are."""
    queries, teachers, labels = ballots.shape
    step = max(1, _ENTRIES // (teachers * labels))
    return (slice(start, start + step) for start in range(0, queries, step))


def _order_of_sets(packed: ByteArray) -> IntArray:
    """A fixed order of each query's sets in which equal ones are side by side."""
    queries, teachers, width = packed.shape
    padded = np.zeros((queries, teachers, -(-width // 8) * 8), dtype=np.uint8)
    padded[:, :, :width] = packed
    words = np.moveaxis(padded.view(">u8").astype(np.uint64), 2, 0)
    # The last key counts most for lexsort, and the first word is the most significant one.
    order: IntArray = np.lexsort(words[::-1], axis=1)
    return order


def _weights(electorate: Electorate | None, ballots: npt.NDArray[Any]) -> FloatArray | None:
    """What each ballot counts, shape (queries, teachers); None where everybody has one vote."""
    return None if electorate is None else electorate.weights(len(ballots))


def require_labels(ballots: npt.NDArray[Any], labels: int) -> None:
    """Refuse ballots for another number of labels."""
    if ballots.ndim == 3 and ballots.shape[2] != labels:
        raise DataError(f"ballots must hold an entry for each of {labels} labels")


def _require_ballots(ballots: npt.NDArray[Any]) -> None:
    if ballots.ndim != 3 or 0 in ballots.shape[1:]:
        raise DataError("ballots of labels need the shape (queries, teachers, labels)")
    if ballots.dtype.kind not in "biu" or (
        ballots.size and not (ballots.min() >= 0 and ballots.max() <= 1)
    ):
        raise DataError("ballots of labels must hold 0 and 1 only")


def _require_whole(number: float, name: str) -> None:
    if not (float(number).is_integer() and number >= 1):
        raise ParameterError(f"{name} must be a whole number of labels, at least 1")

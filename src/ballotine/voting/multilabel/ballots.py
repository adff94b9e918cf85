"""Ballots of several labels: how they are cast, clipped and counted.

A ballot is a row of 0/1, one entry per label. There are two kinds of tallies: how often each label
was named (Binary and Clipped voting), and how often each set of labels was cast (Powerset voting).
Both are private.
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

# Ballot entries converted from bytes to floats at once.
_ENTRIES = 1 << 20
_ROUNDING = 1e-9


def cast_labels(
    probabilities: npt.ArrayLike, thresholds: npt.ArrayLike = 0.5, most: int | None = None
) -> ByteArray:
    """Turn teachers' probabilities of labels into ballots.

    A ballot names a label if its probability exceeds its threshold. A missing probability (NaN, or
    −1) names nothing; the ballot is still cast, because the number of teachers is public and must
    not change.

    Args:
        probabilities: shape (…, labels).
        thresholds: one for all labels, or one per label. A threshold tuned on private records
            spends privacy that is not accounted for: choose it on public data.
        most: name at most this many labels, the most probable ones (ties in label order); None:
            no limit.

    Returns:
        Ballots of 0/1, in the shape of the probabilities.
    """
    chances = np.asarray(probabilities, dtype=np.float64)
    limits = np.asarray(thresholds, dtype=np.float64)
    if chances.ndim == 0 or limits.shape not in {(), chances.shape[-1:]}:
        raise DataError("give one threshold for all labels, or one per label")
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
    """How ballots are clipped before they are counted.

    Attributes:
        tau: the largest norm of a ballot; None: ballots are not clipped.
        norm: which norm.
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
        """Return what a ballot counts for each label it names, if it names 0, 1, …, k labels."""
        return np.concatenate(([0.0], scales(labels, self.tau, self.norm)))


UNCLIPPED = Clipping()


class LabelTallies(Tallies):
    """How often each label was named, shape (queries, labels): private.

    The counts are of clipped ballots. The number of teachers and the clipping are public.
    """

    __slots__ = ("clipping", "teachers")
    multilabel: ClassVar[bool] = True

    def __init__(
        self, counts: npt.ArrayLike, teachers: float, clipping: Clipping = UNCLIPPED
    ) -> None:
        """Accept counts of ballots that were already clipped.

        Args:
            counts: clipped positive counts V¹, shape (queries, labels).
            teachers: the number of ballots on each query, or their total weight.
            clipping: how they were clipped. This is not checked, and costs depend on it.
        """
        values = np.asarray(counts, dtype=np.float64)
        if values.ndim != 2 or values.shape[1] < 1:
            raise DataError("label tallies need the shape (queries, labels)")
        if not teachers > 0:
            raise DataError("label tallies need at least one teacher")
        most = teachers * float(clipping.scales(1)[1])
        if not np.all((values >= 0.0) & (values <= most * (1.0 + _ROUNDING))):
            raise DataError("the count of a label is negative, or larger than that of all ballots")
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
            clipping: how they are clipped.
            electorate: the weights of the ballots; None: one vote each.
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

    Counts have the shape (queries, listed), with as many columns as there could be different sets,
    so the shape reveals nothing about the votes; columns with a count of 0 are unused. The sets of
    a query are in a fixed order. The numbers of teachers and labels and the limit are public.
    """

    __slots__ = ("_sets", "labels", "most", "teachers")
    multilabel: ClassVar[bool] = True

    def __init__(
        self, counts: FloatArray, sets: ByteArray, teachers: float, labels: int, most: int | None
    ) -> None:
        """Accept sets that were already counted.

        Args:
            counts: votes for each listed set, shape (queries, listed).
            sets: the listed sets, packed by `numpy.packbits`, shape (queries, listed, bytes).
            teachers: the number of ballots on each query, or their total weight.
            labels: the number of labels.
            most: the largest number of labels in a set; None: no limit.
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

        A ballot that names more than ``most`` labels keeps the first ones in label order;
        `cast_labels` keeps the most probable ones, if probabilities are known.

        Args:
            ballots: 0 and 1.
            most: the largest number of labels in a set; None: no limit.
            electorate: the weights of the ballots; None: one vote each.
        """
        _require_ballots(ballots)
        queries, teachers, labels = ballots.shape
        listed = min(teachers, allowed_subsets(labels, most))
        weights = _weights(electorate, ballots)
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
        """The number of labels: public."""
        return self.labels

    def unlock_sets(self, *, reason: str) -> ByteArray:
        """Return the listed sets, packed, for code that states why it may see them."""
        return self._sets.unlock(reason=reason)


def _parts(ballots: npt.NDArray[Any]) -> Iterator[slice]:
    """Return slices of queries to count together, so that memory stays small."""
    queries, teachers, labels = ballots.shape
    step = max(1, _ENTRIES // (teachers * labels))
    return (slice(start, start + step) for start in range(0, queries, step))


def _order_of_sets(packed: ByteArray) -> IntArray:
    """Return a fixed order of each query's sets in which equal sets are adjacent."""
    queries, teachers, width = packed.shape
    padded = np.zeros((queries, teachers, -(-width // 8) * 8), dtype=np.uint8)
    padded[:, :, :width] = packed
    words = np.moveaxis(padded.view(">u8").astype(np.uint64), 2, 0)
    # For lexsort the last key is the primary one; here the first word is most significant.
    order: IntArray = np.lexsort(words[::-1], axis=1)
    return order


def _weights(electorate: Electorate | None, ballots: npt.NDArray[Any]) -> FloatArray | None:
    """Return the weight of each ballot, shape (queries, teachers); None if each is one vote."""
    return None if electorate is None else electorate.weights(len(ballots))


def require_labels(ballots: npt.NDArray[Any], labels: int) -> None:
    """Refuse ballots for another number of labels."""
    if ballots.ndim == 3 and ballots.shape[2] != labels:
        raise DataError(f"ballots must have an entry for each of {labels} labels")


def _require_ballots(ballots: npt.NDArray[Any]) -> None:
    if ballots.ndim != 3 or 0 in ballots.shape[1:]:
        raise DataError("ballots of labels need the shape (queries, teachers, labels)")
    if ballots.dtype.kind not in "biu" or (
        ballots.size and not (ballots.min() >= 0 and ballots.max() <= 1)
    ):
        raise DataError("ballots of labels must contain only 0 and 1")


def _require_whole(number: float, name: str) -> None:
    if not (float(number).is_integer() and number >= 1):
        raise ParameterError(f"{name} must be a whole number of labels, at least 1")

"""Labels as the road counts them: class numbers, or a 0/1 matrix, and the names behind them."""

from __future__ import annotations

import numbers
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.multiclass import check_classification_targets

from ballotine.data.target import label_matrix
from ballotine.errors import DataError, ParameterError
from ballotine.teachers import Cast
from ballotine.types import IntArray, Labels
from ballotine.voting import Mechanism, cast_labels

Thresholds = float | npt.ArrayLike


def encode_classes(y: Labels, given: Any) -> tuple[IntArray, Labels]:
    """Class numbers, and the classes: from the public list if there is one.

    Args:
        y: one class per record.
        given: the classes, or None.
    """
    check_classification_targets(y)
    classes = np.unique(y if given is None else np.asarray(given))
    if len(classes) < 2:
        raise DataError("a vote needs at least two classes, and the labels hold one class")
    codes = np.searchsorted(classes, y)
    if np.any(classes[np.minimum(codes, len(classes) - 1)] != y):
        raise DataError("some private labels are not among the given classes")
    return codes.astype(np.int64), classes


def encode_labels(y: Labels, given: Any) -> tuple[IntArray, Labels]:
    """A matrix of 0, 1 and −1 (unknown), and the names of its columns.

    Args:
        y: shape (records, labels).
        given: how many labels there are, their names, or None.
    """
    number = None if given is None else given if isinstance(given, numbers.Integral) else len(given)
    matrix = label_matrix(y, None if number is None else int(number), "the private data")
    if given is None or isinstance(given, numbers.Integral):
        return matrix, np.arange(matrix.shape[1])
    names = np.asarray(given)
    if len(np.unique(names)) < len(names):
        raise ParameterError("classes name a label twice")
    return matrix, names


def caster(mechanism: Mechanism, thresholds: Thresholds | None, labels: int) -> Cast:
    """How a teacher's probabilities become its ballot.

    Args:
        mechanism: one with several labels; powerset voting may limit how many are named.
        thresholds: what a probability must exceed: one number, or one per label; None: 0.5.
        labels: how many labels there are.
    """
    limits = np.asarray(0.5 if thresholds is None else thresholds, dtype=np.float64)
    cast = partial(cast_labels, thresholds=limits, most=mechanism.most_labels)
    cast(np.zeros((1, labels)))  # what is wrong with the thresholds is said now
    return cast


def variant_of(mechanism: Mechanism, thresholds: Thresholds | None) -> str:
    """What tells ballots of labels apart beside the teachers: part of an ensemble's name."""
    if not mechanism.multilabel:
        return ""
    limits = np.atleast_1d(np.asarray(0.5 if thresholds is None else thresholds, dtype=np.float64))
    return f"labels above {limits.tolist()}, at most {mechanism.most_labels}"

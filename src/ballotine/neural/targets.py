"""The targets of a network: classes, or labels of which some are unknown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from ballotine.errors import DataError, ParameterError
from ballotine.neural.training import MISSING
from ballotine.types import FloatArray, IntArray, Labels


@dataclass(frozen=True)
class Targets:
    """Classes or labels as numbers.

    Attributes:
        codes: class numbers; or rows of 0, 1 and MISSING.
        classes: the values that the numbers stand for.
        multilabel: whether there are several labels per record.
        outputs: the number of logits a network needs.
    """

    codes: torch.Tensor
    classes: Labels
    multilabel: bool
    outputs: int


def read_targets(y: Any, records: int) -> Targets:
    """Check targets and number them.

    Args:
        y: one class per record; or 0 and 1 per label, with −1 or NaN where it is not known.
        records: the expected number of records.
    """
    y = as_targets(y, records)
    if y.ndim == 2 and y.shape[1] > 1:
        return _labels(y)
    y = column_or_1d(y, warn=True)
    if y.dtype.kind == "f" and not np.all(np.isfinite(y)):
        raise ValueError("Input y contains NaN or infinity.")
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    return Targets(torch.from_numpy(codes.astype(np.int64)), classes, False, len(classes))


def as_targets(y: Any, records: int) -> Labels:
    """Return targets as an array; a wrong number raises."""
    if y is None:
        raise ValueError("a classifier requires y to be passed, but the target y is None")
    given: Labels = np.asarray(y)
    if len(given) != records:
        raise ValueError(f"inconsistent numbers of samples: X has {records}, y has {len(given)}")
    return given


def _labels(y: Labels) -> Targets:
    numbers = np.asarray(y, dtype=np.float64)
    filled = np.where(np.isnan(numbers), MISSING, numbers)
    if not np.all(np.isin(filled, (MISSING, 0, 1))):
        raise DataError("labels must be 0 or 1, or -1 (NaN) where unknown")
    codes = torch.from_numpy(filled.astype(np.int64))
    return Targets(codes, np.array([0, 1]), True, filled.shape[1])


def check_thresholds(thresholds: Any) -> None:
    """Raise unless thresholds are a probability or "own"."""
    named = isinstance(thresholds, str)
    if thresholds != "own" if named else not 0.0 < float(thresholds) < 1.0:
        raise ParameterError(
            f"thresholds must be 'own' or a probability between 0 and 1, got {thresholds!r}"
        )


def own_thresholds(probabilities: FloatArray, codes: IntArray) -> FloatArray:
    """Return per label the threshold with the best balanced accuracy on these records.

    All thresholds between two adjacent probabilities are equivalent: the middle of the widest
    best gap is used, and 0.5 for a label that has only one value in these records.

    Args:
        probabilities: of each label, shape (records, labels).
        codes: 0, 1, or MISSING where a label is not known.
    """
    columns = zip(probabilities.T, codes.T, strict=True)
    return np.array([_threshold(chances, known) for chances, known in columns])


def _threshold(chances: FloatArray, codes: IntArray) -> float:
    chances, codes = chances[codes != MISSING], codes[codes != MISSING]
    positives = int(codes.sum())
    if positives in (0, len(codes)):
        return 0.5
    order = np.argsort(chances, kind="stable")
    ranked, truth = chances[order], codes[order]
    # A cut before position i predicts the positions from i on as positive.
    found = np.append(np.cumsum(truth[::-1])[::-1], 0) / positives
    spared = np.append(0, np.cumsum(1 - truth)) / (len(codes) - positives)
    edges = np.concatenate(([0.0], ranked, [1.0]))
    gaps = np.diff(edges)
    score = np.where(gaps > 0, found + spared, -1.0)
    best = np.flatnonzero(score >= score.max() - 1e-12)
    cut = int(best[np.argmax(gaps[best])])
    return float((edges[cut] + edges[cut + 1]) / 2)

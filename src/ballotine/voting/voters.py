"""Voters: the interface through which a session gets ballots.

Teachers trained here, votes in a file and models trained elsewhere all implement it. Ballots are
private; a session fetches and validates them before anything is charged, and only its answers are
released.
"""

from __future__ import annotations

import copy
import hashlib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from ballotine.errors import ParameterError
from ballotine.task import task_kind
from ballotine.types import IntArray, Labels, Matrix
from ballotine.voting.content_digest import digest
from ballotine.voting.multilabel.ballots import cast_labels
from ballotine.voting.tally import Tallies


class Voters(Protocol):
    """A source of ballots on rows."""

    @property
    def identity(self) -> bytes:
        """Identifies the voters: the same identity means the same ballots on the same rows."""

    def __len__(self) -> int:
        """Return the number of voters: public and fixed."""

    def ballots(self, rows: Matrix) -> Tallies | IntArray:
        """Return class numbers, shape (rows, voters), or 0/1 per label; or their counts."""


@dataclass(frozen=True, eq=False)
class CastBallots:
    """Ballots that were cast already; rows are positions among them.

    Attributes:
        identity: identifies the voters.
        cast: shape (queries, voters), or (queries, voters, labels).
    """

    identity: bytes
    cast: Matrix = field(repr=False)

    def __len__(self) -> int:
        return int(self.cast.shape[1])

    def ballots(self, rows: Matrix) -> IntArray:
        """Return the ballots at these positions."""
        some: IntArray = self.cast[rows]
        return some


@dataclass(frozen=True, eq=False)
class FittedModels:
    """Models that were trained elsewhere, one per share of the private records.

    The guarantee rests on how they were trained, which only their owner knows: each record must
    have been seen by at most one of them.

    Attributes:
        models: fitted classifiers with ``predict``; for several labels it returns 0 and 1, or
            probabilities that ``threshold`` turns into them. They are copied: a model that is
            retrained later is a different voter, and does not vote here.
        classes: the classes, as public knowledge, in the order of answers; or the labels' names.
        multilabel: whether a row may have several labels.
        threshold: what a label's probability must exceed, if models return probabilities.
    """

    models: Sequence[Any] = field(repr=False)
    classes: Labels
    multilabel: bool = False
    threshold: float | None = None
    identity: bytes = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "classes", np.asarray(self.classes))
        if not self.models:
            raise ParameterError("an ensemble needs at least one model")
        if len(set(self.classes.tolist())) != len(self.classes) or len(self.classes) < 2:
            raise ParameterError("give at least two classes (or labels), each of them once")
        if self.threshold is not None and not 0.0 <= self.threshold <= 1.0:
            raise ParameterError(f"the threshold must be between 0 and 1, got {self.threshold}")
        try:
            object.__setattr__(self, "models", tuple(copy.deepcopy(list(self.models))))
            object.__setattr__(self, "identity", self._name())
        except Exception:
            raise ParameterError(
                "the models cannot be identified, because they cannot be pickled"
            ) from None

    def __len__(self) -> int:
        return len(self.models)

    def ballots(self, rows: Matrix) -> IntArray:
        """Return every model's ballot on every row.

        A model that fails, or predicts an unknown class, votes for the first class (with several
        labels, for none): the number of voters is public and must not change.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the text may depend on private records
            return np.stack([self._cast(model, rows) for model in self.models], axis=1)

    def _cast(self, model: Any, rows: Matrix) -> IntArray:
        try:
            return self._labels(model, rows) if self.multilabel else self._class(model, rows)
        except Exception:  # the message may contain a private value
            if len(rows) > 1:  # a row's ballot may not depend on other rows
                parts = [self._cast(model, rows[place : place + 1]) for place in range(len(rows))]
                return np.concatenate(parts)
        tail = task_kind(several=self.multilabel).tail(len(self.classes))
        return np.zeros((len(rows), *tail), dtype=np.int64)

    def _class(self, model: Any, rows: Matrix) -> IntArray:
        numbers = {name: number for number, name in enumerate(self.classes.tolist())}
        found = np.asarray(model.predict(rows)).reshape(len(rows)).tolist()
        return np.array([numbers.get(name, 0) for name in found], dtype=np.int64)

    def _labels(self, model: Any, rows: Matrix) -> IntArray:
        found = np.asarray(model.predict(rows), dtype=np.float64)
        found = found.reshape(len(rows), len(self.classes))
        return cast_labels(found, self._threshold).astype(np.int64)

    @property
    def _threshold(self) -> float:
        return 0.5 if self.threshold is None else self.threshold

    def _name(self) -> bytes:
        """Return a digest of everything that determines a ballot."""
        seal = hashlib.sha256(b"ballotine/fitted/1\0")
        for model in self.models:
            seal.update(digest(model))
        seal.update(repr((self.classes.tolist(), self.multilabel, self.threshold)).encode())
        return seal.digest()

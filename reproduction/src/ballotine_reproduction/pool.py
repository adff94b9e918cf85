"""The rows that an experiment works on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

from ballotine.types import FloatArray, IntArray, Matrix
from ballotine_reproduction.cache import digest

Encoder: TypeAlias = Callable[[Matrix], FloatArray]


@dataclass(frozen=True, eq=False)
class Pool:
    """Private rows for teachers, public rows to ask about, and test rows to evaluate models on.

    Attributes:
        name: what titles call the set.
        X: private rows.
        y: their classes, or 0/1 labels of shape (rows, labels).
        X_public: rows to ask about.
        y_public: their truth, for evaluation only.
        X_test: rows that students are evaluated on.
        y_test: their truth.
        shape: of one image; empty for tables.
        label_names: of the columns of y, where rows have several labels.
        notes: what readers of a table should know about the rows.
    """

    name: str
    X: Matrix = field(repr=False)
    y: IntArray = field(repr=False)
    X_public: Matrix = field(repr=False)
    y_public: IntArray = field(repr=False)
    X_test: Matrix = field(repr=False)
    y_test: IntArray = field(repr=False)
    shape: tuple[int, ...] = ()
    label_names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """Channels, height and width of one image."""
        channels, height, width = self.shape
        return channels, height, width

    @cached_property
    def digest(self) -> bytes:
        """Changes with the name and with any row or label."""
        arrays = (self.X, self.y, self.X_public, self.y_public, self.X_test, self.y_test)
        return digest(self.name, *arrays)

    def encoded(self, encode: Encoder) -> Pool:
        """The same rows with other features."""
        private, public, test = map(encode, (self.X, self.X_public, self.X_test))
        return replace(self, X=private, X_public=public, X_test=test, shape=())

    def held_out(self, asked: IntArray, held_out: IntArray) -> Pool:
        """Some public rows stay public, others take the place of the test rows.

        Args:
            asked: positions of the public rows that stay, in the order of asking.
            held_out: positions of the public rows to evaluate on.
        """
        return replace(
            self,
            X_public=self.X_public[asked],
            y_public=self.y_public[asked],
            X_test=self.X_public[held_out],
            y_test=self.y_public[held_out],
        )

"""The specification of a run's data, and the data set it describes: private, public and test rows.

A guarantee must state what was learnt from which data, so every data set records the origin of
its classes, its preprocessing and its public rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from ballotine.data.identity import Records
from ballotine.data.layout import ImageShape
from ballotine.data.partition import secret_permutation
from ballotine.data.schema import Schema, check_classes
from ballotine.errors import DataError, ParameterError
from ballotine.task import Task, task_kind
from ballotine.types import IntArray, Labels, Matrix

ClassesFrom = Literal["schema", "public labels", "private labels"]
PreprocessingFrom = Literal["schema", "public data", "none"]
PublicFrom = Literal["public file", "rows of the private file", "named set"]
TestFrom = Literal["test file", "public file", "rows of the private file", "named set"]
Amount = int | float


@dataclass(frozen=True)
class DataSpec:
    """What to load: a named set, or files.

    Attributes:
        source: a named set; excludes `private`, `public` and `test`.
        private: file of private records.
        public: file of public rows; without it `public_rows` of `private` become public.
        test: file of labelled public rows for evaluation.
        target: name of the label column; the schema may name it instead.
        targets: names of the labels, if a record may have several: the columns that hold 0
            and 1, or the names of the columns of the array y.
        schema: public schema, or the path of its TOML file.
        classes: the classes, as a public fact; the schema may list them instead.
        public_rows: rows to make public: a number, or a fraction of the pool. The pool is
            the canonical test part of a named set that has one, else the whole set or file.
        test_rows: rows to set aside for testing, from the same pool (or from `public`). Rows
            taken from `private` are no longer protected.
        public_labels: whether labels of public rows may be used for evaluation and to learn
            which classes there are; None means: if they exist.
        split_seed: determines the choice of rows; keep it to get the same rows again.
        group_column: column of the private file that names each record's group, for individual
            budgets; it is not a feature.
        groups: file that names the group of each record instead: one column or array, in the
            order of the private file or of the training rows of the named set.
        data_folder: folder of the files of named sets; the default is BALLOTINE_DATA.
        download: whether a named set may be downloaded.
    """

    source: str | None = None
    private: str | Path | None = None
    public: str | Path | None = None
    test: str | Path | None = None
    target: str | None = None
    targets: tuple[str, ...] | None = None
    schema: str | Path | Schema | None = None
    classes: tuple[str | int, ...] | None = None
    public_rows: Amount | None = None
    test_rows: Amount | None = None
    public_labels: bool | None = None
    split_seed: int = 0
    group_column: str | None = None
    groups: str | Path | None = None
    data_folder: str | Path | None = None
    download: bool = True

    def __post_init__(self) -> None:
        files = (self.private, self.public, self.test)
        if self.source is None and self.private is None:
            raise ParameterError("name a data set (source) or give a file of private records")
        if self.source is not None and any(file is not None for file in files):
            raise ParameterError("give either source (a named set) or files, not both")
        if self.split_seed < 0:
            raise ParameterError("split_seed must not be negative")
        if self.group_column is not None and self.groups is not None:
            raise ParameterError("give the groups as a column or as a file, not both")
        if self.group_column is not None and self.source is not None:
            raise ParameterError("a named set has no column of groups: give a file of groups")
        _check_targets(self.targets, self.target, self.classes)
        for name in ("public_rows", "test_rows"):
            _check_amount(name, getattr(self, name))
        if self.classes is not None:
            try:
                check_classes(self.classes)
            except ValueError as error:
                raise ParameterError(str(error)) from None


@dataclass(frozen=True, eq=False)
class Dataset:
    """The rows of a run.

    Attributes:
        name: the named set, or the name of the private file.
        records: identifies the private records, independently of the schema.
        X_private: features of the private records; y_private: the positions of their classes, or,
            with several labels per record, 0, 1 and −1 (unknown), shape (records, labels).
        X_public: features of the public rows, to be answered in this order.
        y_public: labels of the public rows for evaluation, or None.
        X_test: features of labelled rows for testing, or None; y_test: their labels.
        classes: the classes, in the order of their positions; or the labels' names.
        classes_from: where the set of classes comes from.
        preprocessing_from: where ranges, levels and fills come from; "none": arrays as given.
        public_from: where the public rows come from. Rows taken from the private file are no
            longer protected: the guarantee is about the rows that stay private.
        test_from: where the test rows come from, if there are any. Measurements on rows taken
            from the private file are released without protection for these rows.
        feature_names: names of the features, or None.
        image_shape: (channels, height, width) if rows are images, else None; a row holds its
            numbers in that order.
        origin: where a named set came from, or "files".
        verified: whether a named set matched a pinned checksum; None for files.
        notes: messages for the user; they do not depend on private rows.
        groups: the name of each private record's group, if records have groups.
    """

    name: str
    records: Records
    X_private: Matrix
    y_private: IntArray
    X_public: Matrix
    y_public: IntArray | None
    X_test: Matrix | None
    y_test: IntArray | None
    classes: tuple[str | int, ...]
    classes_from: ClassesFrom
    preprocessing_from: PreprocessingFrom
    public_from: PublicFrom
    test_from: TestFrom | None = None
    feature_names: tuple[str, ...] | None = None
    image_shape: ImageShape | None = None
    origin: str = "files"
    verified: bool | None = None
    notes: tuple[str, ...] = ()
    groups: Labels | None = None

    @property
    def task(self) -> Task:
        """What records are labelled with: one class, or several labels."""
        return task_kind(several=self.y_private.ndim == 2)(self.classes)

    @property
    def n_features(self) -> int:
        """The number of features."""
        return int(self.X_private.shape[1])

    def fingerprint(self, salt: bytes) -> str:
        """Return the fingerprint of the private records, for any order, file format and schema."""
        return self.records.fingerprint(salt)


def split(n: int, sizes: Sequence[int], seed: int) -> list[IntArray]:
    """Choose disjoint groups of the given sizes from n rows, and return the rest too.

    The choice depends on the seed and on n only, never on the content of the rows.

    Returns:
        One array of positions per size, in random order, then the remaining ones, ascending.
    """
    if min(sizes, default=0) < 0 or sum(sizes) > n:
        raise DataError(f"{n} rows cannot be split into {' + '.join(map(str, sizes))}")
    order = secret_permutation(n, f"ballotine rows {seed}".encode())
    *groups, rest = np.split(order, np.cumsum(sizes))
    return [*groups, np.sort(rest)]


def amount_of(rows: Amount | None, pool: int) -> int:
    """Return a number of rows, given as a number or as a fraction of the pool."""
    if rows is None:
        return 0
    return rows if isinstance(rows, int) else round(rows * pool)


def need_rows(public: int, private: int) -> None:
    """Raise DataError unless there are public and private rows."""
    if public < 1:
        raise DataError("the public pool is empty: there is nothing to answer")
    if private < 1:
        raise DataError("no private rows are left to learn from")


def _check_targets(
    targets: tuple[str, ...] | None, target: str | None, classes: tuple[str | int, ...] | None
) -> None:
    if targets is None:
        return
    if target is not None or classes is not None:
        raise ParameterError(
            "targets are labels of 0 and 1: give neither target nor classes with them"
        )
    if not targets or not all(name.strip() for name in targets):
        raise ParameterError("targets must name at least one label")
    if len(set(targets)) < len(targets):
        raise ParameterError("targets must not name a label twice")


def _check_amount(name: str, rows: Amount | None) -> None:
    if rows is None:
        return
    if isinstance(rows, bool) or not isinstance(rows, int | float):
        raise ParameterError(f"{name} must be a number of rows or a fraction")
    if isinstance(rows, int) and rows < 0:
        raise ParameterError(f"{name} must not be negative")
    if isinstance(rows, float) and not 0 <= rows < 1:
        raise ParameterError(f"{name} must be a whole number of rows or a fraction below 1")

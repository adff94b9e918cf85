"""Load a data set from its specification, whatever the source."""

from __future__ import annotations

import numpy as np

from ballotine.data.dataset import Dataset, DataSpec, PreprocessingFrom, amount_of, need_rows, split
from ballotine.data.encode import Encoder
from ballotine.data.from_files import from_files
from ballotine.data.groups import check_length, read_groups
from ballotine.data.identity import records_of
from ballotine.data.layout import channels_last
from ballotine.data.named.fetch import Progress
from ballotine.data.named.sets import NamedSet, get
from ballotine.data.rows import as_table
from ballotine.data.schema import Schema
from ballotine.data.sources import Arrays
from ballotine.data.target import label_words
from ballotine.errors import ParameterError
from ballotine.task import task_kind
from ballotine.types import IntArray, Matrix

PUBLIC_SHARE, TEST_SHARE = 0.25, 0.15
"""The default shares of public and test rows of a named set without a canonical split."""

POOL_SHARE = 0.9
"""The default share of a canonical test part that becomes public; the rest is for testing."""


def load(spec: DataSpec, progress: Progress | None = None) -> Dataset:
    """Load the data that a specification names.

    Raises:
        DataError: the data cannot be used as given.
        DataUnavailableError: a named set is not available.
        ParameterError: the specification contradicts itself.
    """
    if spec.source is not None:
        named = get(spec.source, spec.data_folder, download=spec.download, progress=progress)
        return _from_named(named, spec)
    return from_files(spec)


def _from_named(named: NamedSet, spec: DataSpec) -> Dataset:
    given = (spec.schema, spec.target, spec.targets, spec.classes)
    if any(part is not None for part in given):
        raise ParameterError(
            "a named set brings its own schema, targets and classes: leave these out"
        )
    groups = None if spec.groups is None else read_groups(spec.groups)
    if groups is not None:
        check_length(groups, len(named.X), f"the set '{named.entry.name}'")
    private, public, test, kept = _named_parts(named, spec)
    task = task_kind(several=named.y.ndim == 2)(named.classes)
    words = label_words(task.decode(private[1]))
    records = records_of(_as_published(named, private[0]), words)
    preprocessing: PreprocessingFrom = "schema"
    if not named.scaled:
        private, public, test = _scaled_by_public(named, private, public, test)
        preprocessing = "public data"
    return Dataset(
        name=named.entry.name,
        records=records,
        X_private=private[0],
        y_private=private[1],
        X_public=public[0],
        y_public=None if spec.public_labels is False else public[1],
        X_test=test[0] if len(test[1]) else None,
        y_test=test[1] if len(test[1]) else None,
        classes=named.classes,
        classes_from="schema",
        preprocessing_from=preprocessing,
        public_from="named set",
        test_from="named set" if len(test[1]) else None,
        feature_names=named.feature_names,
        image_shape=named.entry.image_shape,
        origin=named.origin,
        verified=named.verified,
        notes=named.notes,
        groups=None if groups is None else groups[kept],
    )


_Labelled = tuple[Matrix, IntArray]


def _as_published(named: NamedSet, X: Matrix) -> Matrix:
    """Return rows in the published layout, by which records are identified."""
    shape = named.entry.image_shape
    return X if shape is None else channels_last(X, shape)


def _named_parts(
    named: NamedSet, spec: DataSpec
) -> tuple[_Labelled, _Labelled, _Labelled, IntArray]:
    """Return private, public and test rows, and which rows of the set stay private."""
    X, y = named.X, named.y.astype(np.int64)
    if named.X_test is None or named.y_test is None:
        public_rows = PUBLIC_SHARE if spec.public_rows is None else spec.public_rows
        test_rows = TEST_SHARE if spec.test_rows is None else spec.test_rows
        sizes = [amount_of(public_rows, len(X)), amount_of(test_rows, len(X))]
        public, test, rest = split(len(X), sizes, spec.split_seed)
        need_rows(len(public), len(rest))
        return (X[rest], y[rest]), (X[public], y[public]), (X[test], y[test]), rest
    pool, pool_y = named.X_test, named.y_test.astype(np.int64)
    public_rows = POOL_SHARE if spec.public_rows is None else spec.public_rows
    n_public = amount_of(public_rows, len(pool))
    n_test = (
        len(pool) - n_public if spec.test_rows is None else amount_of(spec.test_rows, len(pool))
    )
    public, test, _ = split(len(pool), [n_public, max(n_test, 0)], spec.split_seed)
    need_rows(len(public), len(X))
    parts = (X, y), (pool[public], pool_y[public]), (pool[test], pool_y[test])
    return (*parts, np.arange(len(X)))


def _scaled_by_public(named: NamedSet, *parts: _Labelled) -> tuple[_Labelled, _Labelled, _Labelled]:
    """Scale a numeric table into [0, 1] by the range of its public rows only."""
    names = named.feature_names or [f"x{index}" for index in range(named.X.shape[1])]
    tables = [as_table(Arrays(X), names, None, named.entry.name) for X, _ in parts]
    encoder = Encoder(Schema.from_public(tables[1], where="the public data"))
    private, public, test = (
        (encoder.transform(table), y) for table, (_, y) in zip(tables, parts, strict=True)
    )
    return private, public, test

"""Load the rows of a run from the user's own files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from ballotine.data.dataset import (
    ClassesFrom,
    Dataset,
    DataSpec,
    PreprocessingFrom,
    PublicFrom,
    TestFrom,
    amount_of,
    need_rows,
    split,
)
from ballotine.data.encode import Encoder
from ballotine.data.groups import check_length, read_groups
from ballotine.data.rows import ArrayRows, Rows, TableRows, as_table
from ballotine.data.schema import MAX_LEVELS, Schema
from ballotine.data.sources import read_arrays, source_kind
from ballotine.data.table import require_columns
from ballotine.data.target import Classes, ClassTarget, LabelTarget, Target
from ballotine.errors import DataError, ParameterError
from ballotine.text import printable, quoted
from ballotine.types import Matrix

_PRIVATE, _PUBLIC, _TEST = "the private data", "the public data", "the test data"


def from_files(spec: DataSpec) -> Dataset:
    """Read the private, public and test files, and split off public or test rows if needed."""
    given = spec.schema
    schema = given if isinstance(given, Schema | None) else Schema.from_file(given)
    sources = _sources(spec, schema)
    private, public, test, public_from = _split(spec, *sources)
    encoder, preprocessing_from = _encoder(schema, private, public)
    use_labels = _may_use_labels(spec, public)
    classes, classes_from = _classes(spec, schema, private, public if use_labels else None)
    X_private, y_private, records = private.arrays(encoder, classes, identify=True)
    X_public, y_public, _ = public.arrays(encoder, classes if use_labels else None)
    X_test, y_test, _ = test.arrays(encoder, classes) if test else (None, None, None)
    _check_widths(X_private, X_public, X_test)
    assert y_private is not None
    assert records is not None
    assert spec.private is not None
    return Dataset(
        name=printable(Path(spec.private).stem),
        records=records,
        X_private=X_private,
        y_private=y_private,
        X_public=X_public,
        y_public=y_public,
        X_test=X_test,
        y_test=y_test,
        classes=classes,
        classes_from=classes_from,
        preprocessing_from=preprocessing_from,
        public_from=public_from,
        test_from=_test_from(spec, sources[2] is not None, test, public_from),
        feature_names=encoder.feature_names if encoder else None,
        notes=_remarks(encoder, public) if preprocessing_from == "schema" else (),
        groups=private.grouped(),
    )


def _check_widths(X_private: Matrix, X_public: Matrix, X_test: Matrix | None) -> None:
    for X, where in ((X_public, _PUBLIC), (X_test, _TEST)):
        if X is not None and X.shape[1] != X_private.shape[1]:
            raise DataError(
                f"{_PRIVATE} has {X_private.shape[1]} features, but {where} has {X.shape[1]}"
            )


_Sources = tuple[Any, Any, Any]
"""Private, public and test rows of the same kind; the latter two may be None."""


def _sources(spec: DataSpec, schema: Schema | None) -> _Sources:
    kinds = {source_kind(path) for path in (spec.private, spec.public, spec.test) if path}
    if schema is not None or kinds == {"table"}:
        private, public, test = _table_sources(spec, schema)
    elif kinds == {"arrays"}:
        private, public, test = _array_sources(spec)
    else:
        raise DataError("some files hold feature arrays and some named columns; use one kind")
    if spec.groups is not None:
        groups = read_groups(spec.groups)
        check_length(groups, private.count(), _PRIVATE)
        private = replace(private, groups=groups)
    return private, public, test


def _array_sources(spec: DataSpec) -> _Sources:
    if spec.group_column is not None:
        raise ParameterError("feature arrays have no column of groups: give a file of groups")
    several = None if spec.targets is None else LabelTarget(spec.targets)

    def rows(path: str | Path | None, where: str) -> ArrayRows | None:
        if path is None:
            return None
        arrays = read_arrays(path)
        return ArrayRows.from_arrays(arrays.X, arrays.y, where, several)

    test = rows(spec.test, _TEST)
    assert spec.private is not None
    arrays = read_arrays(spec.private)
    if test is None and arrays.X_test is not None:
        test = ArrayRows.from_arrays(arrays.X_test, arrays.y_test, _TEST, several)
    private = ArrayRows.from_arrays(arrays.X, arrays.y, _PRIVATE, several)
    return private, rows(spec.public, _PUBLIC), test


def _table_sources(spec: DataSpec, schema: Schema | None) -> _Sources:
    target = _target(spec, schema)
    _check_features(schema, target, spec.group_column)

    def rows(path: str | Path | None, where: str, needed: tuple[str, ...]) -> TableRows | None:
        if path is None:
            return None
        if source_kind(path) == "arrays":
            assert schema is not None
            table = as_table(read_arrays(path), list(schema.columns), target, where)
            source = TableRows.from_table(table, target, where)
        else:
            source = TableRows.from_file(path, target, where)
        require_columns(source.names, needed, where)
        return replace(source, column=spec.group_column)

    grouped = () if spec.group_column is None else (spec.group_column,)
    return (
        rows(spec.private, _PRIVATE, (*target.columns, *grouped)),
        rows(spec.public, _PUBLIC, ()),
        rows(spec.test, _TEST, target.columns),
    )


def _check_features(schema: Schema | None, target: Target, column: str | None) -> None:
    features = schema.columns if schema else {}
    for name in (*target.columns, *([column] if column else ())):
        if name in features:
            raise ParameterError(f"column '{printable(name)}' cannot be a feature of the schema")
    if column in target.columns:
        raise ParameterError(f"column '{printable(column)}' cannot name both groups and labels")


def _target(spec: DataSpec, schema: Schema | None) -> Target:
    if spec.targets is not None:
        if schema is not None and (schema.target is not None or schema.classes is not None):
            raise ParameterError("with several targets the schema names neither target nor classes")
        return LabelTarget(spec.targets)
    return ClassTarget((_target_column(spec, schema),))


def _target_column(spec: DataSpec, schema: Schema | None) -> str:
    named = schema.target if schema else None
    if spec.target is not None and named is not None and spec.target != named:
        raise ParameterError(
            f"the target is '{printable(spec.target)}' in the run and "
            f"'{printable(named)}' in the schema"
        )
    target = spec.target or named
    if target is not None:
        return target
    assert spec.private is not None
    if source_kind(spec.private) == "arrays":
        return "y"
    raise ParameterError("no column holds the labels: name the target in the run or the schema")


def _split(
    spec: DataSpec, private: Rows, public: Rows | None, test: Rows | None
) -> tuple[Rows, Rows, Rows | None, PublicFrom]:
    if public is None:
        if not spec.public_rows:
            raise DataError(
                "there are no public rows to answer: give a public file, "
                "or say how many rows of the private file become public (public_rows)"
            )
        n = private.count()
        sizes = [amount_of(spec.public_rows, n), 0 if test else amount_of(spec.test_rows, n)]
        chosen, held, rest = split(n, sizes, spec.split_seed)
        need_rows(len(chosen), len(rest))
        test = private.select(held, _TEST) if len(held) else test
        public = private.select(chosen, _PUBLIC)
        return private.select(rest, _PRIVATE), public, test, "rows of the private file"
    if spec.public_rows is not None:
        raise ParameterError("public_rows is for data without a public file of its own")
    if spec.test_rows and test is None:
        n = public.count()
        held, rest = split(n, [amount_of(spec.test_rows, n)], spec.split_seed)
        need_rows(len(rest), 1)
        if len(held):
            test, public = public.select(held, _TEST), public.select(rest, _PUBLIC)
    return private, public, test, "public file"


def _test_from(
    spec: DataSpec, given: bool, test: Rows | None, public_from: PublicFrom
) -> TestFrom | None:
    """Return where the test rows come from.

    Args:
        spec: names the files.
        given: whether a file held test rows, before any were set aside.
        test: the test rows.
        public_from: where the public rows come from, and test rows that are split off with them.
    """
    if test is None:
        return None
    if spec.test is not None:
        return "test file"
    # Without a test file, given test rows are the arrays X_test and y_test of the private file.
    return "rows of the private file" if given else public_from


def _encoder(
    schema: Schema | None, private: Rows, public: Rows
) -> tuple[Encoder | None, PreprocessingFrom]:
    if not (isinstance(private, TableRows) and isinstance(public, TableRows)):
        return None, "none"
    if schema is not None:
        return Encoder(schema), "schema"
    _same_columns(private, public)
    table = public.table().select(list(public.features))
    return Encoder(Schema.from_public(table, where=_PUBLIC)), "public data"


def _same_columns(private: TableRows, public: TableRows) -> None:
    mine, theirs = set(private.features), set(public.features)
    absent = [name for name in public.names if name in theirs - mine]
    if absent or mine - theirs:
        parts = [f"{_PRIVATE} has no {quoted(absent)}"] if absent else []
        # Their names are not shown: without a header they would be cells of a private record.
        parts += [f"{_PUBLIC} lacks {len(mine - theirs)} of its columns"] if mine - theirs else []
        raise DataError(
            f"the columns differ: {', and '.join(parts)}; give both files the same columns, or a "
            "schema, and start every CSV file with a header line"
        )


def _classes(
    spec: DataSpec, schema: Schema | None, private: Rows, labelled_public: Rows | None
) -> tuple[Classes, ClassesFrom]:
    if spec.targets is not None:
        return spec.targets, "schema"
    declared = spec.classes or (schema.classes if schema else None)
    if declared:
        return declared, "schema"
    origin: ClassesFrom = "public labels" if labelled_public else "private labels"
    found = (labelled_public or private).found_classes()
    if len(found) < 2:
        raise DataError("the labels name fewer than two classes; list the classes in a schema")
    if len(found) > MAX_LEVELS:
        raise DataError(
            "the target looks like a quantity, not like a class; name another column, or list the "
            "classes in a schema"
        )
    return found, origin


def _may_use_labels(spec: DataSpec, public: Rows) -> bool:
    if spec.public_labels is False:
        return False
    labelled = public.labelled
    if spec.public_labels and not labelled:
        raise DataError(f"{_PUBLIC} should be labelled, but labels are missing")
    return labelled


def _remarks(encoder: Encoder | None, public: Rows) -> tuple[str, ...]:
    assert encoder is not None
    assert isinstance(public, TableRows)
    return tuple(encoder.remarks(public.selected(), _PUBLIC))

"""Read data files: CSV and Parquet in batches, NumPy archives as arrays or columns.

CSV is read as text and parsed by the schema afterwards, so that the meaning of a column never
depends on the rows in the first block of the file.
"""

from __future__ import annotations

import csv
import stat
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from ballotine.archives import check_cells, load_array, open_archive, reading_errors
from ballotine.data.table import as_column, require_columns
from ballotine.errors import DataError
from ballotine.text import printable
from ballotine.types import Labels, Matrix

_DELIMITER = {".csv": ",", ".tsv": "\t"}
_BLOCK = 8 << 20
_LONGEST_HEADER = 64 << 20
_BATCH_ROWS = 65_536
_ARRAY_KEYS = {"X", "y", "X_test", "y_test"}


@dataclass(frozen=True, eq=False)
class Arrays:
    """Features, and labels if there are any, as in a NumPy file."""

    X: Matrix
    y: Labels | None = None
    X_test: Matrix | None = None
    y_test: Labels | None = None


def source_kind(path: str | Path) -> Literal["table", "arrays"]:
    """Return whether a file holds named columns or a feature matrix."""
    path = _existing(path)
    suffix = path.suffix.lower()
    if suffix in _DELIMITER or suffix == ".parquet":
        return "table"
    if suffix == ".npy":
        return "arrays"
    if suffix == ".npz":
        with _archive(path) as archive:
            return "arrays" if "X" in archive.files else "table"
    raise DataError(
        f"{_display_name(path)} has an unknown extension; "
        "Ballotine reads .csv, .tsv, .parquet, .npz and .npy"
    )


def column_names(path: str | Path) -> list[str]:
    """Return the columns of a table file without reading its rows."""
    path = _existing(path)
    suffix = path.suffix.lower()
    if suffix in _DELIMITER:
        names = _csv_header(path, _DELIMITER[suffix])
    elif suffix == ".parquet":
        with _arrow_errors(path), pyarrow.parquet.ParquetFile(path) as file:
            check_cells(file.metadata.num_rows, file.metadata.num_columns, path.stat().st_size)
            names = list(file.schema_arrow.names)
    else:
        with _archive(path) as archive:
            names = list(archive.files)
    if not names:
        raise DataError(f"{_display_name(path)} is empty: it has no columns")
    require_columns(names, [], _display_name(path))
    return names


def read_batches(path: str | Path) -> Iterator[pa.Table]:
    """Yield the rows of a table file in batches that fit into memory.

    Raises:
        DataError: the file is missing, empty, ragged or otherwise unreadable.
    """
    path = _existing(path)
    names = column_names(path)
    suffix = path.suffix.lower()
    if suffix in _DELIMITER:
        batches = _csv_batches(path, names, _DELIMITER[suffix])
    elif suffix == ".parquet":
        batches = _parquet_batches(path)
    else:
        batches = _npz_columns(path)
    rows = 0
    for batch in batches:
        rows += batch.num_rows
        if batch.num_rows:
            yield batch
    if not rows:
        raise DataError(f"{_display_name(path)} is empty: it has columns but no rows")


def read_table(path: str | Path) -> pa.Table:
    """Return all rows of a table file at once."""
    return pa.concat_tables(read_batches(path))


def read_arrays(path: str | Path) -> Arrays:
    """Return the arrays of an .npz (X, y, X_test, y_test) or the features of an .npy file."""
    path = _existing(path)
    if path.suffix.lower() == ".npy":
        with _numpy_errors(path):
            return Arrays(load_array(path))
    with _archive(path) as archive:
        if "X" not in archive.files or not set(archive.files) <= _ARRAY_KEYS:
            raise DataError(
                f"{_display_name(path)} should hold X and y (and X_test, y_test) and nothing else, "
                "or only named columns"
            )
        return Arrays(**{name: archive[name] for name in archive.files})


def _csv_header(path: Path, delimiter: str) -> list[str]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = iter(lambda: file.readline(_LONGEST_HEADER), "")
            for record in csv.reader(lines, delimiter=delimiter):
                if record:
                    return record
    except UnicodeDecodeError:
        raise DataError(f"{_display_name(path)} is not UTF-8 text") from None
    except csv.Error:
        raise DataError(f"the header line of {_display_name(path)} cannot be read as CSV") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        raise DataError(f"{_display_name(path)} cannot be read: {reason}") from None
    return []


def _csv_batches(path: Path, names: list[str], delimiter: str) -> Iterator[pa.Table]:
    ragged: list[tuple[int, int]] = []

    def refuse(row: Any) -> str:
        ragged.append((row.expected_columns, row.actual_columns))
        return "error"

    try:
        with pyarrow.csv.open_csv(
            path,
            read_options=pyarrow.csv.ReadOptions(block_size=_BLOCK),
            parse_options=pyarrow.csv.ParseOptions(
                delimiter=delimiter, newlines_in_values=True, invalid_row_handler=refuse
            ),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
            ),
        ) as reader:
            for batch in reader:
                yield pa.Table.from_batches([batch])
    except (pa.ArrowException, OSError) as error:
        reason = _csv_problem(error, ragged)
        raise DataError(f"{_display_name(path)} cannot be read: {reason}") from None


def _csv_problem(error: Exception, ragged: list[tuple[int, int]]) -> str:
    # The library's message quotes the row, which may be private, so it is not repeated.
    if ragged:
        expected, actual = ragged[0]
        return f"a row has {actual} cells where the header has {expected}"
    return "it is not UTF-8 text" if "UTF8" in str(error) else "it is not well-formed CSV"


def _parquet_batches(path: Path) -> Iterator[pa.Table]:
    with _arrow_errors(path), pyarrow.parquet.ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=_BATCH_ROWS):
            batch.validate(full=True)  # invalid texts would fail later, somewhere else
            yield pa.Table.from_batches([batch])


def _npz_columns(path: Path) -> Iterator[pa.Table]:
    with _archive(path) as archive:
        columns = {name: as_column(archive[name], _display_name(path)) for name in archive.files}
    if len({len(column) for column in columns.values()}) > 1:
        raise DataError(f"the columns of {_display_name(path)} differ in length")
    yield pa.table(columns)


@contextmanager
def _archive(path: Path) -> Iterator[Any]:
    with _numpy_errors(path), open_archive(path) as archive:
        yield archive


def _numpy_errors(path: Path) -> AbstractContextManager[None]:
    return reading_errors(
        lambda reason: DataError(f"{_display_name(path)} cannot be read as a NumPy file: {reason}"),
        "it is damaged, or holds pickled objects, which are never loaded",
    )


def _arrow_errors(path: Path) -> AbstractContextManager[None]:
    return reading_errors(
        lambda reason: DataError(
            f"{_display_name(path)} cannot be read as a Parquet file: {reason}"
        ),
        "it is damaged",
    )


def _existing(path: str | Path) -> Path:
    path = Path(path)
    try:
        found = path.stat()
    except FileNotFoundError:
        raise DataError(f"{_display_name(path)} does not exist") from None
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or "it is not a valid file name"
        raise DataError(f"{_display_name(path)} cannot be read: {reason}") from None
    if not stat.S_ISREG(found.st_mode):
        raise DataError(f"{_display_name(path)} is not a file")
    return path


def _display_name(path: Path) -> str:
    return printable(path.name, 80)

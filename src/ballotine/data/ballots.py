"""Saved ballots or tallies: .npy, .npz or Parquet files, read in chunks.

Ballots have the shape (queries, teachers) and hold class numbers, or (queries, teachers,
labels) and hold 0/1 (or probabilities); tallies have the shape (queries, classes) and hold
counts. A .npy file is memory-mapped; Parquet is read page by page, with one column per teacher
(or class), or, for labels, one per teacher and label, a teacher's labels next to each other.
An .npz file is loaded whole, because its arrays are compressed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from ballotine.archives import check_cells, load_array, open_archive, reading_errors
from ballotine.errors import DataError
from ballotine.types import Matrix

CHUNK_CELLS = 8_000_000
CHUNK_ROWS = 16_384
"""Costs at every order are computed per chunk, so rows are limited even where they are short."""
BUFFER = 1 << 14
"""Bytes of a Parquet column read at once: there may be thousands of columns."""
ARRAY_NAMES = ("ballots", "votes", "tallies", "counts")
TRUTH_NAME = "y"
MAX_VALUE = 2**53
"""The largest ballot or count: floats represent every whole number up to here."""


@dataclass(frozen=True)
class VoteFile:
    """A file of ballots or tallies; rows are queries.

    Attributes:
        path: the path of the file.
        queries: the number of rows.
        columns: the number of teachers (ballots) or classes (tallies).
        labels: the number of labels of a ballot; None for single classes and tallies.
    """

    path: Path
    queries: int
    columns: int
    labels: int | None = None

    def digest(self) -> bytes:
        """Return the SHA-256 of the file: files with the same content are the same votes."""
        with self.path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").digest()

    def chunks(self, most: int | None = None) -> Iterator[Matrix]:
        """Yield the first ``most`` rows (default: all) in chunks."""
        left = self.queries if most is None else min(most, self.queries)
        for block in self._blocks():
            rows = self._shaped(np.asarray(block[: min(left, len(block))]))
            left -= len(rows)
            if len(rows):
                yield _checked(rows, self.path)
            if left <= 0:
                return
        raise DataError(f"{self.path} holds fewer rows than it declares: it is damaged")

    def _blocks(self) -> Iterator[Any]:
        step = min(CHUNK_ROWS, max(1, CHUNK_CELLS // (self.columns * (self.labels or 1))))
        if self.path.suffix == ".parquet":
            return _parquet_blocks(self.path, step)
        return _array_blocks(self.path, step)

    def _shaped(self, rows: Matrix) -> Matrix:
        if self.labels is None or rows.ndim == 3:
            return rows
        return rows.reshape(len(rows), self.columns, self.labels)


def open_votes(path: str | Path, labels: int | None = None) -> VoteFile:
    """Open a file of ballots or tallies without reading all of it.

    Args:
        path: the file.
        labels: the number of labels of each ballot, for tables with a teacher's labels in
            adjacent columns; arrays with three axes do not need it.
    """
    where = Path(path)
    _require_file(where)
    shape = _shape(where)
    if len(shape) not in (2, 3) or 0 in shape:
        raise DataError(
            f"{where} has the shape {shape}; votes need (queries, teachers) with class numbers, "
            "(queries, teachers, labels) with 0/1, or (queries, classes) with counts"
        )
    if len(shape) == 3:
        if labels not in (None, shape[2]):
            raise DataError(f"{where} has ballots of {shape[2]} labels, not {labels}")
        return VoteFile(where, shape[0], shape[1], shape[2])
    if labels is None:
        return VoteFile(where, shape[0], shape[1])
    if shape[1] % labels:
        raise DataError(f"{where} has {shape[1]} columns: not {labels} labels for each teacher")
    return VoteFile(where, shape[0], shape[1] // labels, labels)


def _require_file(path: Path) -> None:
    try:
        found = path.is_file()
    except (OSError, ValueError):  # not a valid file name
        found = False
    if not found:
        raise DataError(f"there is no file {path}")


def _shape(path: Path) -> tuple[int, ...]:
    if path.suffix != ".parquet":
        shape: tuple[int, ...] = _array(path).shape
        return shape
    with _file_errors(path, "Parquet"):
        facts = pq.read_metadata(path)
        check_cells(facts.num_rows, facts.num_columns, path.stat().st_size)
    return (facts.num_rows, facts.num_columns)


def read_truth(path: Path) -> Matrix | None:
    """Return the true classes, the array ``y`` of an .npz file of votes; None if there is none."""
    if path.suffix != ".npz":
        return None
    with _file_errors(path, "a NumPy file of numbers"), open_archive(path) as archive:
        return np.asarray(archive[TRUTH_NAME]) if TRUTH_NAME in archive.files else None


def _file_errors(path: Path, what: str) -> AbstractContextManager[None]:
    return reading_errors(
        lambda reason: DataError(f"{path} cannot be read as {what}: {reason}"), "it is damaged"
    )


def _array(path: Path) -> Any:
    with _file_errors(path, "a NumPy file of numbers"):
        if path.suffix == ".npy":
            return load_array(path, mapped=True)
        if path.suffix == ".npz":
            with open_archive(path) as archive:
                return archive[_name(archive.files, path)]
    raise DataError(f"{path} has an unknown extension; votes come as .npy, .npz or .parquet")


def _name(names: list[str], path: Path) -> str:
    if len(names) == 1:
        return names[0]
    found = [name for name in ARRAY_NAMES if name in names]
    if len(found) != 1:
        raise DataError(
            f"{path} holds {len(names)} arrays; the array of votes, and no other, must be named "
            f"{' or '.join(ARRAY_NAMES)}"
        )
    return found[0]


def _array_blocks(path: Path, step: int) -> Iterator[Any]:
    whole = _array(path)
    if not (isinstance(whole, np.memmap) and whole.flags.c_contiguous):
        yield from (whole[start : start + step] for start in range(0, len(whole), step))
        return
    # Map each block separately, so that its memory is freed with it.
    with path.open("rb") as stream:
        for start in range(0, len(whole), step):
            shape = (min(step, len(whole) - start), *whole.shape[1:])
            place = whole.offset + start * whole.strides[0]
            yield np.memmap(stream, whole.dtype, "r", place, shape)


def _parquet_blocks(path: Path, step: int) -> Iterator[Matrix]:
    # Reading ahead would load whole row groups, and one of them may be the whole file.
    with (
        _file_errors(path, "Parquet of numbers"),
        pq.ParquetFile(path, pre_buffer=False, buffer_size=BUFFER) as file,
    ):
        for batch in file.iter_batches(batch_size=step):
            yield np.column_stack([column.to_numpy(zero_copy_only=False) for column in batch])


def _checked(rows: Matrix, path: Path) -> Matrix:
    if rows.dtype.kind not in "iufb":
        raise DataError(f"{path} must hold numbers")
    if rows.dtype.kind == "f" and not np.all(np.isfinite(rows)):
        raise DataError(f"{path} holds values that are not finite")
    if float(rows.max()) > MAX_VALUE:
        raise DataError(f"{path} holds values that are too large for ballots or counts")
    if np.any(rows < 0):
        raise DataError(f"{path} holds negative values; ballots and counts are 0 or more")
    return rows

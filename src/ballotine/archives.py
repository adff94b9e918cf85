"""Read untrusted NumPy files and archives; headers are checked before memory is allocated.

A header of a hundred bytes can declare a petabyte, and a compressed file can unpack to a
thousand times its size. The memory that a file may claim is limited by the file's size.
"""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from ballotine.errors import BallotineError

MAX_RATIO = 100
ALWAYS_ALLOWED = 64 << 20
"""An archive may unpack to this multiple of its size, or to this many bytes."""

MAX_CELLS_PER_BYTE = 1000
"""A compressed table may hold this many cells per byte."""

MAX_EMPTY_LENGTH = 1 << 20
"""The largest length of the other axes of an empty array."""

_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


class OversizedError(ValueError):
    """A file declares more content than its size allows."""


class Header(NamedTuple):
    """The header of an array file, and the offset of its data."""

    shape: tuple[int, ...]
    fortran_order: bool
    dtype: np.dtype[Any]
    start: int


def read_header(stream: BinaryIO, size: int) -> Header:
    """Read the header of an .npy file or archive member.

    Args:
        stream: positioned at the beginning.
        size: the size of the whole file in bytes.

    Raises:
        ValueError: it is not an array of plain values.
        OversizedError: it declares more values than the file can hold.
    """
    version = np.lib.format.read_magic(stream)
    if version not in _HEADERS:
        raise ValueError("an array with named fields, or of a newer format")
    shape, fortran_order, dtype = _HEADERS[version](stream)
    start = stream.tell()
    if dtype.hasobject or dtype.itemsize == 0 or any(length < 0 for length in shape):
        raise ValueError("not an array of plain values")
    values = math.prod(shape)
    # With an axis of length 0, the other axes could declare any length.
    if values * dtype.itemsize > size - start or (not values and max(shape) > MAX_EMPTY_LENGTH):
        raise OversizedError("it declares more values than it holds")
    return Header(shape, fortran_order, dtype, start)


def load_array(path: Path, *, mapped: bool = False) -> Any:
    """Load the array of an .npy file, in memory or memory-mapped; never a pickle.

    Raises:
        ValueError: it is not an array of plain values, or its header is forged.
    """
    with path.open("rb") as stream:
        header = read_header(stream, path.stat().st_size)
        if not mapped or 0 in header.shape:
            stream.seek(0)
            return np.lib.format.read_array(stream, allow_pickle=False)
    order: Any = "F" if header.fortran_order else "C"
    return np.memmap(path, header.dtype, "r", header.start, header.shape, order)


@contextmanager
def open_archive(path: Path) -> Iterator[Any]:
    """Open an .npz file, whose arrays are read by name; never pickles.

    Raises:
        ValueError: a member is not an array of plain values, or its header is forged.
        zipfile.BadZipFile: it is not an archive.
    """
    with path.open("rb") as stream:
        check_archive(stream, arrays_only=True)
        with np.load(stream, allow_pickle=False) as archive:
            yield archive


@contextmanager
def reading_errors(make_error: Callable[[str], BallotineError], default: str) -> Iterator[None]:
    """Turn any exception while an untrusted file is read into an error about the file.

    Args:
        make_error: makes the error from a reason.
        default: the reason for all other exceptions than oversized files and system errors. The
            libraries' own messages may quote the file, which may be private.
    """
    try:
        yield
    except BallotineError:
        raise
    except OversizedError as problem:
        raise make_error(str(problem)) from None
    except OSError as problem:
        raise make_error(problem.strerror or default) from None
    except Exception:
        raise make_error(default) from None


def check_cells(rows: int, columns: int, size: int) -> None:
    """Refuse a file that declares far more cells than its size allows, as only forged files do.

    Raises:
        OversizedError: it declares too many cells.
    """
    if rows < 0 or rows * max(1, columns) > max(ALWAYS_ALLOWED, MAX_CELLS_PER_BYTE * size):
        raise OversizedError("it declares far more rows than it can hold")


def check_archive(stream: BinaryIO, *, arrays_only: bool = False) -> None:
    """Refuse a zip archive that unpacks to far more than its size, or holds forged arrays.

    Args:
        stream: the archive.
        arrays_only: also refuse members that are not arrays.

    Raises:
        ValueError: a member that should be an array is not one.
        OversizedError: the archive unpacks to far more than its size.
        zipfile.BadZipFile: it is not an archive.
    """
    size = stream.seek(0, io.SEEK_END)
    stream.seek(0)
    with zipfile.ZipFile(stream) as archive:
        members = archive.infolist()
        # The reader never returns more than a member declares, so the declared sizes bound it.
        if sum(member.file_size for member in members) > max(ALWAYS_ALLOWED, MAX_RATIO * size):
            raise OversizedError(
                f"it unpacks to more than {MAX_RATIO} times its size; store it uncompressed"
            )
        for member in members:
            if arrays_only or member.filename.endswith(".npy"):
                with archive.open(member) as content:
                    read_header(content, member.file_size)  # type: ignore[arg-type]
    stream.seek(0)

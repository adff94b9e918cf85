"""NumPy files and archives from strangers, judged by their own headers before any memory is taken.

A header of a hundred bytes can declare a petabyte, and a compressed file can unpack to a
thousand times its size. What a file may ask for is bounded by what it holds.
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

MOST_TIMES = 100
ALWAYS_ALLOWED = 64 << 20
"""An archive may unpack to so many times its size, or to so many bytes."""

MOST_CELLS = 1000
"""A packed table may hold so many cells for each of its bytes."""

LONGEST_OF_NOTHING = 1 << 20
"""How long the other axes of an empty array may be."""

_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


class OversizedError(ValueError):
    """A file asks for more memory than it can fill."""


class Header(NamedTuple):
    """What an array file says about itself, and where its numbers begin."""

    shape: tuple[int, ...]
    fortran_order: bool
    dtype: np.dtype[Any]
    start: int


def read_header(stream: BinaryIO, size: int) -> Header:
    """The header of an .npy file or member.

    Args:
        stream: at its beginning.
        size: how many bytes there are in all.

    Raises:
        ValueError: it is no array of plain values.
        OversizedError: it declares more values than there are bytes for.
    """
    version = np.lib.format.read_magic(stream)
    if version not in _HEADERS:
        raise ValueError("an array with named fields, or of a later format")
    shape, fortran_order, dtype = _HEADERS[version](stream)
    start = stream.tell()
    if dtype.hasobject or dtype.itemsize == 0 or any(length < 0 for length in shape):
        raise ValueError("not an array of plain values")
    values = math.prod(shape)
    # With an axis of length 0, any length of the others would be free of charge.
    if values * dtype.itemsize > size - start or (not values and max(shape) > LONGEST_OF_NOTHING):
        raise OversizedError("it declares more values than it holds")
    return Header(shape, fortran_order, dtype, start)


def load_array(path: Path, *, mapped: bool = False) -> Any:
    """The array of an .npy file, in memory or mapped; never a pickle.

    Raises:
        ValueError: it is no array of plain values, or a forged one.
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
    """The arrays of an .npz file by name; never pickles.

    Raises:
        ValueError: a member is no array of plain values, or a forged one.
        zipfile.BadZipFile: no archive.
    """
    with path.open("rb") as stream:
        check_archive(stream, arrays_only=True)
        with np.load(stream, allow_pickle=False) as archive:
            yield archive


@contextmanager
def blamed(on: Callable[[str], BallotineError], otherwise: str) -> Iterator[None]:
    """Reading a stranger's file can fail anywhere in a library: then the file is to blame.

    Args:
        on: makes the error from a reason.
        otherwise: the reason, where the file does not ask for too much memory. What the library
            says may quote the file, which may be private.
    """
    try:
        yield
    except BallotineError:
        raise
    except OversizedError as problem:
        raise on(str(problem)) from None
    except OSError as problem:
        raise on(problem.strerror or otherwise) from None
    except Exception:
        raise on(otherwise) from None


def check_cells(rows: int, columns: int, size: int) -> None:
    """Refuse a file that declares far more cells than bytes, as only a forged one would.

    Raises:
        OversizedError: it does.
    """
    if rows < 0 or rows * max(1, columns) > max(ALWAYS_ALLOWED, MOST_CELLS * size):
        raise OversizedError("it declares far more rows than it can hold")


def check_archive(stream: BinaryIO, *, arrays_only: bool = False) -> None:
    """Refuse a zip archive that unpacks to far more than it is, or holds forged arrays.

    Args:
        stream: the archive.
        arrays_only: refuse members that are no arrays, too.

    Raises:
        ValueError: a member that should be an array is none.
        OversizedError: an archive made to fill the memory.
        zipfile.BadZipFile: no archive.
    """
    size = stream.seek(0, io.SEEK_END)
    stream.seek(0)
    with zipfile.ZipFile(stream) as archive:
        members = archive.infolist()
        # The reader never hands out more than a member declares, so declarations bound it.
        if sum(member.file_size for member in members) > max(ALWAYS_ALLOWED, MOST_TIMES * size):
            raise OversizedError(
                f"it unpacks to more than {MOST_TIMES} times its size; store it uncompressed"
            )
        for member in members:
            if arrays_only or member.filename.endswith(".npy"):
                with archive.open(member) as content:
                    read_header(content, member.file_size)  # type: ignore[arg-type]
    stream.seek(0)

"""NumPy files and archives from strangers, judged by their own headers before any memory is taken.

A header of a hundred bytes can declare a petabyte, and a compressed file can unpack to a
thousand times its size. What a file may ask for is bounded by what it holds.
"""

from __future__ import annotations

import io
import math
import zipfile
from typing import Any, BinaryIO, NamedTuple

import numpy as np

MOST_TIMES = 100
ALWAYS_ALLOWED = 64 << 20
"""An archive may unpack to so many times its size, or to so many bytes."""

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


def check_archive(stream: BinaryIO) -> None:
    """Refuse a zip archive that unpacks to far more than it is, or holds forged arrays.

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
            if member.filename.endswith(".npy"):
                with archive.open(member) as content:
                    read_header(content, member.file_size)  # type: ignore[arg-type]
    stream.seek(0)

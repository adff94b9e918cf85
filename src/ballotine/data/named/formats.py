"""Small decoders for the file formats of public data sets.

They read bytes and return arrays; nothing is unpacked to disk, and no code is run.
"""

from __future__ import annotations

import io
import struct
import tarfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ballotine.errors import DataError

Bytes = npt.NDArray[np.uint8]
_PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_AR_SIGNATURE = b"!<arch>\n"
_AR_HEADER = 60


def idx(data: bytes) -> Bytes:
    """Decode an array of bytes in the IDX format of the MNIST family."""
    if len(data) < 4 or data[:3] != b"\0\0\x08":
        raise DataError("this is not an IDX file of bytes")
    dimensions = data[3]
    start = 4 + 4 * dimensions
    shape = struct.unpack(f">{dimensions}I", data[4:start]) if len(data) >= start else (-1,)
    if len(data) - start != int(np.prod(shape, dtype=np.int64)):
        raise DataError("this IDX file is truncated")
    return np.frombuffer(data, np.uint8, offset=start).reshape(shape)


def unpack_planes(planes: Bytes) -> Bytes:
    """Decode RGB images (n, height, width, 3) from planes (G, R−G, B−G) of row differences."""
    green, red, blue = np.cumsum(planes, axis=2, dtype=np.uint8)
    return np.stack([red + green, green, blue + green], axis=-1)


def png_rgb(data: bytes) -> Bytes:
    """Decode an 8-bit RGB PNG without interlacing, as (height, width, 3)."""
    chunks = _png_chunks(data)
    width, height, depth, colour, _, _, interlace = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    if (depth, colour, interlace) != (8, 2, 0):
        raise DataError("only 8-bit RGB PNG files without interlacing are supported")
    raw = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8)
    if raw.size != height * (1 + 3 * width):
        raise DataError("this PNG file is truncated")
    lines = raw.reshape(height, 1 + 3 * width)
    return _unfilter(lines[:, 0], lines[:, 1:].reshape(height, width, 3))


def tar_members(archive: bytes | Path, names: list[str]) -> list[bytes]:
    """Return the contents of named members of a tar archive, read in place."""
    try:
        stream = io.BytesIO(archive) if isinstance(archive, bytes) else archive.open("rb")
        with stream, tarfile.open(fileobj=stream, mode="r:*") as tar:
            files = [tar.extractfile(name) for name in names]
            contents = [file.read() for file in files if file is not None]
    except (KeyError, tarfile.TarError, OSError, EOFError):
        contents = []
    if len(contents) < len(names):
        raise DataError(f"the archive does not hold {', '.join(names)}")
    return contents


def deb_payload(path: Path) -> bytes:
    """Return the data.tar of a Debian package, which is an `ar` archive of three members."""
    data = path.read_bytes()
    if not data.startswith(_AR_SIGNATURE):
        raise DataError(f"{path.name} is not a Debian package")
    at = len(_AR_SIGNATURE)
    while at + _AR_HEADER <= len(data):
        header = data[at : at + _AR_HEADER]
        size = int(header[48:58])
        at += _AR_HEADER
        if header[:16].startswith(b"data.tar"):
            return data[at : at + size]
        at += size + size % 2
    raise DataError(f"{path.name} holds no data archive")


def _png_chunks(data: bytes) -> dict[bytes, bytes]:
    if not data.startswith(_PNG_SIGNATURE):
        raise DataError("this is not a PNG file")
    chunks: dict[bytes, list[bytes]] = {b"IHDR": [], b"IDAT": []}
    at = len(_PNG_SIGNATURE)
    while at + 8 <= len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        if kind in chunks:
            chunks[kind].append(data[at + 8 : at + 8 + length])
        at += 12 + length
    return {kind: b"".join(parts) for kind, parts in chunks.items()}


def _unfilter(filters: Bytes, lines: Bytes) -> Bytes:
    """Undo the line filters; lines that depend only on their left neighbour are vectorised."""
    out = lines.copy()
    left = filters == 1
    out[left] = np.cumsum(lines[left], axis=1, dtype=np.uint8)
    above = np.zeros_like(out[0])
    for row in range(len(out)):
        if filters[row] == 2:
            out[row] = lines[row] + above
        elif filters[row] in {3, 4}:
            predict = _average if filters[row] == 3 else _paeth
            _walk(lines[row], above, out[row], predict)
        above = out[row]
    return out


def _walk(line: Bytes, above: Bytes, out: Bytes, predict: Callable[[int, int, int], int]) -> None:
    for channel in range(line.shape[1]):
        up = above[:, channel].tolist()
        left = corner = 0
        values = []
        for delta, over in zip(line[:, channel].tolist(), up, strict=True):
            left = (delta + predict(left, over, corner)) & 255
            corner = over
            values.append(left)
        out[:, channel] = values


def _average(left: int, over: int, corner: int) -> int:
    del corner
    return (left + over) // 2


def _paeth(left: int, over: int, corner: int) -> int:
    guess = left + over - corner
    distances = (abs(guess - left), abs(guess - over), abs(guess - corner))
    return (left, over, corner)[distances.index(min(distances))]

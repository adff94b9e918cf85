"""Every test gets its own cache and no data folder, independent of the machine."""

import io
import os
import struct
import tarfile
import zlib
from pathlib import Path
from types import SimpleNamespace

import pytest

REAL_DATA = os.environ.get("BALLOTINE_DATA")


@pytest.fixture(autouse=True)
def _isolated(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
    monkeypatch.delenv("BALLOTINE_DATA", raising=False)


@pytest.fixture
def real_data() -> Path:
    """The folder of real data sets, for tests that need it."""
    if not REAL_DATA:
        pytest.skip("needs a folder of real data sets: set BALLOTINE_DATA")
    return Path(REAL_DATA)


@pytest.fixture(scope="session")
def encode() -> SimpleNamespace:
    """Encoders of the formats that Ballotine only decodes."""
    return SimpleNamespace(idx=encode_idx, png=encode_png, deb=encode_deb, tar=encode_tar)


def encode_idx(array):
    head = struct.pack(">BBBB", 0, 0, 8, array.ndim) + struct.pack(f">{array.ndim}I", *array.shape)
    return head + array.tobytes()


def encode_png(pixels, filters, depth=8):
    """A PNG whose line r uses filter filters[r], following the specification byte by byte."""
    height, width, _ = pixels.shape
    raw = bytearray()
    for r in range(height):
        raw.append(filters[r])
        for x in range(width):
            for c in range(3):
                value = int(pixels[r, x, c])
                a = int(pixels[r, x - 1, c]) if x else 0
                b = int(pixels[r - 1, x, c]) if r else 0
                d = int(pixels[r - 1, x - 1, c]) if r and x else 0
                p = a + b - d
                near = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - d), 2, d))[2]
                guess = [0, a, b, (a + b) // 2, near][filters[r]]
                raw.append((value - guess) % 256)
    packed = zlib.compress(bytes(raw))

    def chunk(kind, data):
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    head = struct.pack(">IIBBBBB", width, height, depth, 2, 0, 0, 0)
    half = len(packed) // 2
    parts = [(b"IHDR", head), (b"IDAT", packed[:half]), (b"IDAT", packed[half:]), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*part) for part in parts)


def encode_deb(tar_bytes):
    def member(name, data):
        head = f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(data):<10}`\n".encode()
        return head + data + b"\n" * (len(data) % 2)

    members = [("debian-binary", b"2.0\n"), ("control.tar.xz", b"odd"), ("data.tar.xz", tar_bytes)]
    return b"!<arch>\n" + b"".join(member(*one) for one in members)


def encode_tar(files, mode="w:xz"):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode=mode) as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return stream.getvalue()

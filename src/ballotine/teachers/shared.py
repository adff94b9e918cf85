"""Values that several processes read without copies."""

from __future__ import annotations

import mmap
import os
import pickle
import secrets
import tempfile
from collections import OrderedDict
from pathlib import Path
from typing import Any, BinaryIO, Generic, Self, TypeVar

try:
    import cloudpickle  # type: ignore[import-untyped]
except ImportError:  # before joblib 1.6, joblib brought its own copy
    from joblib.externals import cloudpickle

T = TypeVar("T")
ALIGNED = 64
REMEMBERED = 3

_opened: OrderedDict[str, Any] = OrderedDict()
"""The most recent values that this process has mapped, by token."""


class Shared(Generic[T]):
    """A value in shared memory; workers map its arrays read-only instead of copying them.

    On Linux the memory is anonymous: private records disappear with the process, even if it is
    killed.
    """

    def __init__(self, value: T) -> None:
        self._value = value
        buffers: list[pickle.PickleBuffer] = []
        head = cloudpickle.dumps(value, protocol=5, buffer_callback=buffers.append)
        self._file = _new_file()
        self._spans = [_write(self._file, part) for part in (head, *(b.raw() for b in buffers))]
        self._file.flush()
        self._path = _path_of(self._file)
        self._token = secrets.token_hex(8)

    @property
    def value(self) -> T:
        """The value itself in this process; a read-only view of it in others."""
        if self._file is not None:
            return self._value
        if self._token not in _opened:
            _opened[self._token] = _read(self._path, self._spans)
        _opened.move_to_end(self._token)
        while len(_opened) > REMEMBERED:
            _opened.popitem(last=False)
        found: T = _opened[self._token]
        return found

    def close(self) -> None:
        """Release the memory; it is freed once workers release it too."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *details: object) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        kept = {"_spans": self._spans, "_path": self._path, "_token": self._token}
        return {"_file": None, **kept}


def _new_file() -> Any:
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("ballotine"), "wb")
    return tempfile.NamedTemporaryFile("wb", prefix="ballotine-")  # readable by its owner only


def _path_of(file: Any) -> str:
    """Return the path under which other processes of the same user find the file."""
    if isinstance(file.name, int):
        return f"/proc/{os.getpid()}/fd/{file.name}"
    return str(file.name)


def _write(file: BinaryIO, part: bytes | memoryview) -> tuple[int, int]:
    start = -(-file.tell() // ALIGNED) * ALIGNED
    file.seek(start)
    file.write(part)
    return start, memoryview(part).nbytes


def _read(path: str, spans: list[tuple[int, int]]) -> Any:
    with Path(path).open("rb") as file:
        image = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    head, *buffers = (image[start : start + length] for start, length in spans)
    return pickle.loads(head, buffers=buffers)

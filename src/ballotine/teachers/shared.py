"""Values that several processes read and none copies."""

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
"""What this process has mapped most recently, by the mark of the value."""


class Shared(Generic[T]):
    """A value in memory of its own; workers map its arrays, read-only, instead of copying them.

    The memory has no name that outlives the process (on Linux): private records are gone with
    it, even when it is killed.
    """

    def __init__(self, value: T) -> None:
        self._value = value
        buffers: list[pickle.PickleBuffer] = []
        head = cloudpickle.dumps(value, protocol=5, buffer_callback=buffers.append)
        self._file = _new_file()
        self._spans = [_write(self._file, part) for part in (head, *(b.raw() for b in buffers))]
        self._file.flush()
        self._path = _path_of(self._file)
        self._mark = secrets.token_hex(8)

    @property
    def value(self) -> T:
        """The value itself, here; in another process its image."""
        if self._file is not None:
            return self._value
        if self._mark not in _opened:
            _opened[self._mark] = _read(self._path, self._spans)
        _opened.move_to_end(self._mark)
        while len(_opened) > REMEMBERED:
            _opened.popitem(last=False)
        found: T = _opened[self._mark]
        return found

    def close(self) -> None:
        """Give the memory back, once the workers let go of it too."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *details: object) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        kept = {"_spans": self._spans, "_path": self._path, "_mark": self._mark}
        return {"_file": None, **kept}


def _new_file() -> Any:
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("ballotine"), "wb")
    return tempfile.NamedTemporaryFile("wb", prefix="ballotine-")  # readable by its owner only


def _path_of(file: Any) -> str:
    """Under which name other processes of the same user find the file."""
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

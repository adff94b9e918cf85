"""A digest of an object's content that is the same in every process.

Hashing a pickle would not work: it also records which parts of an object are identical, and that
changes when a model is stored and loaded. This uses the same protocol (``__reduce_ex__``) but
looks at values only.
"""

from __future__ import annotations

import copyreg
import hashlib
from typing import Any

import numpy as np

PLAIN = (type(None), bool, int, float, complex, str, bytes)


def digest(thing: Any) -> bytes:
    """Return the SHA-256 of everything that a pickle of the object would contain."""
    return _Content().of(thing)


class _Content:
    """Digests of parts, each computed once."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[bytes, Any]] = {}

    def of(self, thing: Any) -> bytes:
        """Return the digest of one part."""
        kind = type(thing)
        if kind in PLAIN:
            return _seal(kind.__name__, repr(thing).encode())
        if isinstance(thing, type) or _is_named(thing):
            return _seal("name", f"{thing.__module__}.{thing.__qualname__}".encode())
        if id(thing) not in self._known:
            # An object that contains itself is marked by the number of parts begun before it. The
            # part is kept alive so that no other object gets its id in the meantime.
            self._known[id(thing)] = _seal("again", str(len(self._known)).encode()), thing
            self._known[id(thing)] = self._inside(thing), thing
        return self._known[id(thing)][0]

    def _inside(self, thing: Any) -> bytes:
        kind = type(thing)
        if kind in (list, tuple):
            return _seal(kind.__name__, *map(self.of, thing))
        if kind in (set, frozenset):
            return _seal(kind.__name__, *sorted(map(self.of, thing)))
        if kind is dict:
            pairs = sorted((self.of(key), self.of(value)) for key, value in thing.items())
            return _seal("dict", *(part for pair in pairs for part in pair))
        if isinstance(thing, np.ndarray | np.generic) and not thing.dtype.hasobject:
            return self._numbers(np.asarray(thing))
        return self._reduced(thing)

    def _numbers(self, array: Any) -> bytes:
        kind = f"{array.dtype.descr} {array.shape}".encode()
        if array.dtype.names is None:
            return _seal("array", kind, np.ascontiguousarray(array).tobytes())
        # The padding between the fields of a structured array is uninitialised memory.
        return _seal("array", kind, *(self._numbers(array[name]) for name in array.dtype.names))

    def _reduced(self, thing: Any) -> bytes:
        """Return the digest of what rebuilds an object."""
        reduce = copyreg.dispatch_table.get(type(thing))
        found = thing.__reduce_ex__(4) if reduce is None else reduce(thing)
        if isinstance(found, str):
            return _seal("name", found.encode())
        maker, arguments, *rest = found
        state, items, pairs = [*rest[:3], None, None, None][:3]
        parts = [maker, arguments, state, list(items or ()), [list(pair) for pair in pairs or ()]]
        return _seal("object", *map(self.of, parts))


def _is_named(thing: Any) -> bool:
    """Return whether the object is a function that can be looked up by its name."""
    name = getattr(thing, "__qualname__", "<")
    module = getattr(thing, "__module__", None)
    return callable(thing) and module is not None and "<" not in name


def _seal(kind: str, *parts: bytes) -> bytes:
    """Return a digest that is unique to this sequence of parts."""
    seal = hashlib.sha256(kind.encode() + b"\0")
    for part in parts:
        seal.update(len(part).to_bytes(8, "big") + part)
    return seal.digest()

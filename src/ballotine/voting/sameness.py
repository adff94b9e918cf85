"""A name for an object's content: equal for equal content, whichever process holds it.

A pickle will not do: it also says which parts of an object are one and the same part, and that
changes when a model is stored and loaded. This follows the same road (``__reduce_ex__``) and
looks at values alone.
"""

from __future__ import annotations

import copyreg
import hashlib
from typing import Any

import numpy as np

PLAIN = (type(None), bool, int, float, complex, str, bytes)


def digest(thing: Any) -> bytes:
    """SHA-256 of everything that a pickle of it would hold."""
    return _Content().of(thing)


class _Content:
    """Digests of parts, each computed once."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[bytes, Any]] = {}

    def of(self, thing: Any) -> bytes:
        """What a part adds to the name of the whole."""
        kind = type(thing)
        if kind in PLAIN:
            return _seal(kind.__name__, repr(thing).encode())
        if isinstance(thing, type) or _is_named(thing):
            return _seal("name", f"{thing.__module__}.{thing.__qualname__}".encode())
        if id(thing) not in self._known:
            # What contains itself is told apart by how many parts were begun before it; the part
            # itself is kept, so that no other one gets its id meanwhile.
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
        # Between the fields of a record lies whatever was in memory before.
        return _seal("array", kind, *(self._numbers(array[name]) for name in array.dtype.names))

    def _reduced(self, thing: Any) -> bytes:
        """An object by what rebuilds it."""
        reduce = copyreg.dispatch_table.get(type(thing))
        found = thing.__reduce_ex__(4) if reduce is None else reduce(thing)
        if isinstance(found, str):
            return _seal("name", found.encode())
        maker, arguments, *rest = found
        state, items, pairs = [*rest[:3], None, None, None][:3]
        parts = [maker, arguments, state, list(items or ()), [list(pair) for pair in pairs or ()]]
        return _seal("object", *map(self.of, parts))


def _is_named(thing: Any) -> bool:
    """Whether it is a function that can be found again by its name."""
    name = getattr(thing, "__qualname__", "<")
    module = getattr(thing, "__module__", None)
    return callable(thing) and module is not None and "<" not in name


def _seal(kind: str, *parts: bytes) -> bytes:
    """A digest that no other sequence of parts has."""
    seal = hashlib.sha256(kind.encode() + b"\0")
    for part in parts:
        seal.update(len(part).to_bytes(8, "big") + part)
    return seal.digest()

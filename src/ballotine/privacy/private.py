"""Containers for numbers that depend on private votes; reading them requires a stated reason.

They refuse to be printed, formatted, logged, compared, hashed, pickled, copied, put into
JSON or turned into an array or a number by accident, and they are not reachable through the
attributes of an object (by a debugger, ``rich.inspect`` or a serialiser). Every access goes
through ``unlock`` with a reason, so searching the code for ``unlock`` finds them all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, NoReturn, TypeVar

import numpy as np

from ballotine.errors import DataError
from ballotine.types import FloatArray

Array = TypeVar("Array", bound=np.ndarray[Any, Any])


class Sealed(Generic[Array]):
    """An array that cannot be reached through attributes; its shape is public."""

    __slots__ = ("_door", "shape")

    def __init__(self, array: Array) -> None:
        # Held in a closure, so that walking attributes, slots or state does not reach it.
        self._door: Callable[[], Array] = lambda: array
        self.shape: tuple[int, ...] = array.shape

    def unlock(self, *, reason: str) -> Array:
        """Return the array, for code that states why it may see it."""
        if not reason.strip():
            raise DataError("opening private numbers needs a reason")
        return self._door()

    def __repr__(self) -> str:
        return "<sealed>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a sealed array is private and cannot be pickled or copied")

    __getstate__ = __reduce__


def _refusal(operation: str) -> Callable[..., NoReturn]:
    """Return a method that refuses the operation."""

    def refuse(self: Locked, *_: object, **__: object) -> NoReturn:
        raise TypeError(f"{type(self).__name__} is private and cannot be {operation}")

    return refuse


class Locked:
    """Private numbers that only the subclass's ``unlock`` method reveals."""

    __slots__ = ("_values",)

    def __init__(self, values: FloatArray) -> None:
        self._values = Sealed(values)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: private>"

    def __format__(self, spec: str) -> str:
        return repr(self)

    # Operations that Python or NumPy would otherwise provide by default or through __len__.
    __array_ufunc__ = None
    __array__ = __array_function__ = _refusal("turned into an array")
    __reduce__ = __getstate__ = _refusal("pickled or copied")
    __iter__ = __getitem__ = __contains__ = _refusal("iterated or indexed")
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refusal("compared")
    __hash__ = _refusal("hashed")
    __bool__ = __int__ = __float__ = __complex__ = __index__ = _refusal("turned into a number")


class Private(Locked):
    """Private numbers about a sequence of queries; the number of queries is public."""

    __slots__ = ()

    def unlock(self, *, reason: str) -> FloatArray:
        """Return the numbers, for code that states why it may see them."""
        return self._values.unlock(reason=reason)

    def __len__(self) -> int:
        return self._values.shape[0]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self)} queries: private>"


class PrivateCosts(Private):
    """Data-dependent Rényi costs, shape (queries, orders).

    They compose by summing over queries that were fixed before any answer was seen.
    """

    __slots__ = ()

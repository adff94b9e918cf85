"""Numbers that depend on private votes: silent unless somebody states a reason.

They refuse to be printed, formatted, logged, pickled, copied into JSON or turned into an
array or a number by accident. Whoever opens one says why, and searching the code for
``unlock`` finds every such place.
"""

from __future__ import annotations

from typing import NoReturn

from ballotine.errors import DataError
from ballotine.types import FloatArray


class Private:
    """Private numbers behind one explicit door."""

    __slots__ = ("_values",)

    def __init__(self, values: FloatArray) -> None:
        self._values = values

    def unlock(self, *, reason: str) -> FloatArray:
        """The numbers themselves, for code that states why it may see them."""
        if not reason.strip():
            raise DataError("opening private numbers needs a reason")
        return self._values

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self)} queries: private>"

    def __format__(self, spec: str) -> str:
        return repr(self)

    def __array__(self, *args: object, **kwargs: object) -> NoReturn:
        raise TypeError(f"{type(self).__name__} are private: only sanitised answers leave")

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{type(self).__name__} are private and are not pickled or copied")

    def __iter__(self) -> NoReturn:
        raise TypeError(f"{type(self).__name__} are private and are not read one by one")

    def __float__(self) -> NoReturn:
        raise TypeError(f"{type(self).__name__} are private and are not a number")


class PrivateCosts(Private):
    """Data-dependent Rényi costs, shape (queries, orders).

    They compose by summing over queries that were fixed before any answer was seen.
    """

    __slots__ = ()

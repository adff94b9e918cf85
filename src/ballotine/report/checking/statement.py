"""A card or a receipt as it comes from outside: read with care, asked part by part.

Nothing in the file is trusted. Whatever is missing or of another kind than it should be is a
DataError that names the part.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from ballotine.errors import DataError
from ballotine.ledger import Anchor
from ballotine.report.receipt import DOCUMENT, FORMAT
from ballotine.text import printable

LARGEST = 1 << 26  # bytes; a card of a thousand classes has a few million
_LARGEST_COUNT = 1 << 53


@dataclass(frozen=True)
class Statement:
    """What somebody states about a ledger: a privacy card, or the receipt of a vote.

    Attributes:
        path: where it was read from.
        raw: its bytes, which is what a signature signs.
        content: what they say.
    """

    path: Path
    raw: bytes = field(repr=False)
    content: Mapping[str, Any] = field(repr=False)

    @classmethod
    def read(cls, path: Path) -> Statement:
        """Read a card or a receipt."""
        try:
            with path.open("rb") as stream:
                raw = stream.read(LARGEST + 1)
        except OSError as problem:
            raise DataError(f"{path} cannot be read ({problem.strerror})") from problem
        if len(raw) > LARGEST:
            raise DataError(f"{path} is too large for a privacy card")
        try:
            content = json.loads(raw, object_pairs_hook=_once, parse_constant=_refuse)
        except (ValueError, RecursionError) as problem:
            raise DataError(f"{path} is not a readable privacy card or receipt") from problem
        if not isinstance(content, Mapping) or content.get("format") != FORMAT:
            raise DataError(f"{path} is not a privacy card or receipt of a known format")
        return cls(path, raw, content)

    @property
    def is_receipt(self) -> bool:
        """Whether it is the receipt of a vote."""
        return self.content.get("document") == DOCUMENT

    @property
    def name(self) -> str:
        """What to call it."""
        return "receipt" if self.is_receipt else "card"

    def anchor(self) -> Anchor:
        """Where the ledger stood."""
        if self.is_receipt and self.optional("ledger") is None:
            raise DataError("the receipt names no ledger: the vote was not remembered in any")
        seq = self.count("ledger", "seq")
        if seq < 1:
            self._odd(("ledger", "seq"))
        return Anchor(self.text("ledger", "id"), seq, self.text("ledger", "hash"))

    def optional(self, *keys: str) -> Any:
        """A part that need not be there."""
        found: Any = self.content
        for key in keys:
            found = found.get(key) if isinstance(found, Mapping) else None
        return found

    def number(self, *keys: str) -> float:
        """A finite number."""
        found = self.optional(*keys)
        if isinstance(found, bool) or not isinstance(found, int | float):
            self._odd(keys)
        try:
            value = float(found)
        except OverflowError:
            self._odd(keys)
        return value if math.isfinite(value) else self._odd(keys)

    def count(self, *keys: str) -> int:
        """A whole number, 0 or more."""
        found = self.optional(*keys)
        if isinstance(found, bool) or not isinstance(found, int):
            self._odd(keys)
        return found if 0 <= found <= _LARGEST_COUNT else self._odd(keys)

    def text(self, *keys: str) -> str:
        """A text."""
        found = self.optional(*keys)
        return found if isinstance(found, str) else self._odd(keys)

    def parts(self, *keys: str) -> list[Statement]:
        """A list of parts, each to be asked like the whole; empty if there is none."""
        found = self.optional(*keys)
        if found is None:
            return []
        if not isinstance(found, list) or not all(isinstance(each, Mapping) for each in found):
            self._odd(keys)
        return [Statement(self.path, b"", each) for each in found]

    def _odd(self, keys: tuple[str, ...]) -> NoReturn:
        part = ".".join(printable(key) for key in keys)
        raise DataError(f"{self.path} is not whole: look at its part '{part}'")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Two readers of one text must not see two different cards."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key occurs twice")
    return found


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")

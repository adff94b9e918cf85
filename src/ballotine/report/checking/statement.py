"""Reading a card or a receipt from an untrusted file.

Whatever is missing, or of the wrong type, raises a DataError that names the part.
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

LARGEST = 1 << 26  # bytes; the card of a run with a thousand classes has a few million
_LARGEST_COUNT = 1 << 53


@dataclass(frozen=True)
class Statement:
    """A privacy card, or the receipt of a vote: what somebody states about a ledger.

    Attributes:
        path: the file.
        raw: its bytes, which are what is signed.
        content: the parsed JSON.
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
            raise DataError(f"{path} is too large for a privacy card or receipt")
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
        """What to call it in messages: card or receipt."""
        return "receipt" if self.is_receipt else "card"

    def anchor(self) -> Anchor:
        """The head of the ledger when the statement was made."""
        if self.is_receipt and self.optional("ledger") is None:
            raise DataError("the receipt names no ledger: the vote was not recorded in one")
        seq = self.count("ledger", "seq")
        if seq < 1:
            self._odd(("ledger", "seq"))
        return Anchor(self.text("ledger", "id"), seq, self.text("ledger", "hash"))

    def optional(self, *keys: str) -> Any:
        """A part that may be missing; then None."""
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
        """A string."""
        found = self.optional(*keys)
        return found if isinstance(found, str) else self._odd(keys)

    def parts(self, *keys: str) -> list[Statement]:
        """A list of parts, each read like the whole; empty if it is missing."""
        found = self.optional(*keys)
        if found is None:
            return []
        if not isinstance(found, list) or not all(isinstance(each, Mapping) for each in found):
            self._odd(keys)
        return [Statement(self.path, b"", each) for each in found]

    def _odd(self, keys: tuple[str, ...]) -> NoReturn:
        part = ".".join(printable(key) for key in keys)
        raise DataError(f"{self.path} is incomplete: see its part '{part}'")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse duplicate keys, which different parsers read differently."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key occurs twice")
    return found


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not valid JSON")

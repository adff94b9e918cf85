"""Make names from untrusted files safe to print.

Column names and class names come from outside and may hold terminal escapes, bidirectional
overrides or a megabyte of text. Every such text goes through these functions before it is shown.
"""

from __future__ import annotations

from collections.abc import Iterable

_MAX_LENGTH = 60
_MAX_NAMES = 12


def printable(text: object, longest: int = _MAX_LENGTH) -> str:
    """Return the text without unprintable characters, cut to a maximal length."""
    kept = "".join(c for c in str(text)[: 4 * longest] if c.isprintable())
    return kept if len(kept) <= longest else kept[: longest - 1] + "…"


def quoted(names: Iterable[object], most: int = _MAX_NAMES) -> str:
    """Return a list of names for an error message, each safe to print."""
    every = list(names)
    shown = ", ".join(f"'{printable(name)}'" for name in every[:most])
    return f"{shown} and {len(every) - most} more" if len(every) > most else shown

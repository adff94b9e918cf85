"""Names from strangers' files, made safe to show.

Column names and class names come from outside and may hold terminal escapes, bidirectional
overrides or a megabyte of text. Whatever is shown to a person goes through here first.
"""

from __future__ import annotations

from collections.abc import Iterable

_LONGEST = 60
_MOST = 12


def printable(text: object, longest: int = _LONGEST) -> str:
    """The text without control, format and other unprintable characters, cut to a length."""
    kept = "".join(c for c in str(text)[: 4 * longest] if c.isprintable())
    return kept if len(kept) <= longest else kept[: longest - 1] + "…"


def quoted(names: Iterable[object], most: int = _MOST) -> str:
    """A readable list of names for an error message, each safe to print."""
    every = list(names)
    shown = ", ".join(f"'{printable(name)}'" for name in every[:most])
    return f"{shown} and {len(every) - most} more" if len(every) > most else shown

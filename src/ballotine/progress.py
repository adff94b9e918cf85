"""The interface through which a long run reports its progress."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

Advance = Callable[[int], None]


class Progress(Protocol):
    """Receives one stage after another."""

    def stage(self, name: str, total: int | None) -> AbstractContextManager[Advance]:
        """Open a stage of ``total`` steps; the context yields the function that advances it."""

    def tell(self, text: str) -> None:
        """Show a short text beside the current stage, such as its losses."""


class Silent:
    """Ignores all progress."""

    def stage(self, name: str, total: int | None) -> AbstractContextManager[Advance]:  # noqa: ARG002
        """Ignore the steps."""
        return nullcontext(lambda _: None)

    def tell(self, text: str) -> None:
        """Ignore the text."""

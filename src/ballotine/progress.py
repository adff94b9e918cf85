"""How a long run tells how far it is, without knowing who listens."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

Advance = Callable[[int], None]


class Progress(Protocol):
    """Opens one stage after another."""

    def stage(self, name: str, total: int | None) -> AbstractContextManager[Advance]:
        """A stage of ``total`` steps; the block is told how to advance it."""

    def tell(self, text: str) -> None:
        """A few words beside the stage that was opened last, such as its losses."""


class Silent:
    """Progress that nobody watches."""

    def stage(self, name: str, total: int | None) -> AbstractContextManager[Advance]:  # noqa: ARG002
        """Ignore every step."""
        return nullcontext(lambda _: None)

    def tell(self, text: str) -> None:
        """Ignore every word."""

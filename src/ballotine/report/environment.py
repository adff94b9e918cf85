"""The template environment that report.html and card.md share."""

from __future__ import annotations

from collections.abc import Callable

from jinja2 import Environment, PackageLoader, StrictUndefined

LOADER = PackageLoader("ballotine.report")


def new_environment(
    finalize: Callable[[object], str], *, keep_trailing_newline: bool = False
) -> Environment:
    """An environment in which every printed value passes through ``finalize``, then is escaped."""
    return Environment(
        loader=LOADER,
        autoescape=True,
        undefined=StrictUndefined,
        finalize=finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=keep_trailing_newline,
    )

"""card.md: the privacy card on about one page, as Markdown.

Markdown has no single escape that covers HTML, tables and links, so every value in the template
passes through :func:`literal`.
"""

from __future__ import annotations

import re
from functools import cache
from html import escape
from typing import Any

from jinja2 import Environment
from markupsafe import Markup

from ballotine.report.environment import new_environment
from ballotine.report.formatting import percent, plain, tidy
from ballotine.report.view import view

_MOST_CLASSES = 20
_SPECIAL = re.compile(r"([\\`*_\[\]|~$@{}])")
_LINK = re.compile(r"(?i)(?:(?<=http)|(?<=https)|(?<=ftp)|(?<=mailto)|(?<=xmpp)):|(?<=www)\.")
_BLOCK = re.compile(r"^(?=[#+\-=:])|^(\d+)(?=[.)](?:\s|$))")
_HEX = re.compile(r"[0-9a-fA-F:-]{8,128}")


def render_markdown(card: dict[str, Any]) -> str:
    """Render a card as Markdown.

    Raises:
        DataError: the card is incomplete, or contains what must not be shown.
    """
    content = view(card)
    recall = {}
    if content["evaluation"] is not None:
        recall = {str(row["class"]): row["recall"] for row in card["evaluation"]["per_class"]}
    names = list(card["answers"].get("by_class", ()))
    return (
        _environment()
        .get_template("card.md.j2")
        .render(
            content,
            recalls=[percent(recall.get(each)) for each in names],
            with_recall=bool(recall),
            most=_MOST_CLASSES,
        )
    )


def literal(text: str) -> str:
    """Escape text so that Markdown shows it literally: no markup, HTML, link or table cell."""
    kept = escape(tidy(text), quote=False)
    kept = _SPECIAL.sub(r"\\\1", kept)
    kept = _LINK.sub(lambda found: f"\\{found.group()}", kept)
    return _BLOCK.sub(lambda found: f"{found.group(1) or ''}\\", kept)


def code(text: str) -> Markup:
    """A checksum or an identifier as code; anything else as literal text."""
    kept = tidy(text)
    return Markup(f"`{kept}`") if _HEX.fullmatch(kept) else Markup(literal(kept))


@cache
def _environment() -> Environment:
    environment = new_environment(_shown, keep_trailing_newline=True)
    environment.filters["code"] = code
    return environment


def _shown(value: object) -> Markup:
    if isinstance(value, Markup):
        return value
    return Markup(literal(value if isinstance(value, str) else plain(value)))

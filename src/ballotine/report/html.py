"""report.html: one self-contained page that needs no network.

Its content security policy allows only its own two scripts (by their hash): neither a hostile
name in the card nor Plotly itself can load or send anything.
"""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from typing import Any

from jinja2 import Environment
from markupsafe import Markup, escape
from plotly.offline import get_plotlyjs

from ballotine.report.environment import LOADER, new_environment
from ballotine.report.figures import draw
from ballotine.report.formatting import plain, tidy
from ballotine.report.view import view

_POWER = re.compile("10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)")
_UPRIGHT = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "−0123456789")


def render_html(card: dict[str, Any]) -> str:
    """Render a card as one HTML page.

    Raises:
        DataError: the card is incomplete, or contains what must not be shown.
    """
    content = view(card)
    figures = draw(card)
    scripts = (_script("plotly"), _script("report")) if figures else ()
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            content,
            figures=figures,
            scripts=scripts,
            policy=_policy(scripts),
        )
    )


@cache
def _environment() -> Environment:
    environment = new_environment(_shown)
    environment.filters["powers"] = _powers
    environment.policies["json.dumps_kwargs"] = {"allow_nan": False}
    return environment


@cache
def _script(which: str) -> Markup:
    """The source of a script shipped with Plotly or this package: trusted, so not escaped."""
    if which == "plotly":
        return Markup(get_plotlyjs())
    source, _, _ = LOADER.get_source(_environment(), f"{which}.js")
    return Markup(source)


def _shown(value: object) -> str:
    if isinstance(value, Markup):
        return value
    return tidy(value) if isinstance(value, str) else plain(value)


def _powers(text: str) -> Markup:
    """Use <sup> for powers of ten: few fonts render superscript digits well."""
    marked = _POWER.sub(lambda found: f"10<sup>{found[1].translate(_UPRIGHT)}</sup>", escape(text))
    return Markup(marked)


def _policy(scripts: tuple[Markup, ...]) -> str:
    digests = [
        base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts
    ]
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests) or "'none'"
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )

"""Formatting of numbers and names for readers.

Whatever bounds a risk (ε, δ, the factor e^ε) is rounded up or not at all. Names from a card are
never trusted: they may contain terminal escapes, bidirectional overrides or line breaks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from ballotine.text import printable

NOTHING = "–"
BLANK = "(blank)"
_NAME, _VALUE, _PARAGRAPH = 60, 300, 2000
_MOST_ITEMS = 24
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_Z95 = 1.959963984540054


def tidy(value: object, limit: int = _PARAGRAPH) -> str:
    """Text on one line, without terminal escapes or bidirectional overrides."""
    line = printable(" ".join(str(value)[: 4 * limit].split()), limit)
    return " ".join(line.split())  # removed characters may have left adjacent blanks


def name(value: object, limit: int = _NAME) -> str:
    """A short name (a class, a key); never empty, so that no table cell is empty."""
    return tidy(value, limit) or BLANK


def number(value: float) -> str:
    """A number with all of its digits, unrounded."""
    if isinstance(value, int):
        return f"{value:,}"
    exact = Decimal(repr(float(value)))
    if not exact.is_finite():
        return "not a number" if exact.is_nan() else ("∞" if exact > 0 else "−∞")
    return _decimal(exact)


def up(value: float, places: int = 3) -> str:
    """A number rounded up: a cost is never shown smaller than it is."""
    return _decimal(Decimal(repr(float(value))).quantize(Decimal(1).scaleb(-places), ROUND_CEILING))


def factor(value: float) -> str:
    """A growth factor, rounded up to a readable number of digits."""
    exact = Decimal(repr(float(value)))
    if exact < 100:
        return up(value, 2)
    if exact < 1_000_000:
        return f"{int(exact.to_integral_value(ROUND_CEILING)):,}"
    return _decimal(exact.quantize(Decimal(1).scaleb(exact.adjusted() - 1), ROUND_CEILING), 6)


def one_in(probability: float) -> str:
    """A small probability as "1 in N", with N rounded down so as not to understate it."""
    times = (1 / Decimal(repr(float(probability)))).to_integral_value(ROUND_FLOOR)
    return f"1 in {int(times):,}" if 2 <= times < 10**15 else number(probability)


def percent(share: float | None, places: int = 1) -> str:
    """A measured proportion (not a bound) in percent."""
    return NOTHING if share is None else f"{100 * share:.{places}f} %"


def wilson(share: float, rows: int) -> tuple[float, float]:
    """The 95 % Wilson interval of a proportion measured on this many rows."""
    if rows <= 0:
        return 0.0, 1.0
    square = _Z95**2
    middle = (share + square / (2 * rows)) / (1 + square / rows)
    half = math.sqrt(share * (1 - share) / rows + square / (4 * rows**2)) * _Z95
    half /= 1 + square / rows
    return max(0.0, middle - half), min(1.0, middle + half)


def moment(text: str) -> str:
    """An ISO time in a readable form; anything else is shown unchanged."""
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        return tidy(text, _NAME)
    zone = " UTC" if when.tzinfo else ""
    when = when.astimezone(UTC) if when.tzinfo else when
    return f"{when.day} {when:%B %Y, %H:%M}{zone}"


def plain(value: object) -> str:
    """Any value of a run file, on one line."""
    match value:
        case None:
            text = NOTHING
        case bool():
            text = "yes" if value else "no"
        case int():
            text = str(value)
        case float():
            text = number(value)
        case Mapping():
            text = listed([f"{name(key)} = {plain(inner)}" for key, inner in value.items()])
        case list() | tuple():
            text = listed([plain(item) for item in value])
        case _:
            text = tidy(value, _VALUE)
    return text or NOTHING


def rows(mapping: Mapping[str, object]) -> list[tuple[str, str]]:
    """A dictionary as table rows: readable names, values on one line."""
    return [(name(key).replace("_", " "), plain(value)) for key, value in mapping.items()]


def listed(items: list[str]) -> str:
    """A comma-separated list, shortened if it is long."""
    if len(items) > _MOST_ITEMS:
        items = [*items[:_MOST_ITEMS], f"and {len(items) - _MOST_ITEMS} more"]
    return ", ".join(items) or NOTHING


def tested_rows(origin: object) -> str:
    """What to call the rows on which the student was evaluated."""
    if origin == "rows of the private file":
        return "labelled rows taken out of the private file"
    return "labelled public rows"


def repeated(count: int) -> str:
    """A sentence about repeated public rows; empty if there are none."""
    if count == 0:
        return ""
    start = "One public row repeats" if count == 1 else f"{count:,} public rows repeat"
    return f"{start} another row and got its answer: equal rows are one query, paid for once."


def _decimal(value: Decimal, largest: int = 15) -> str:
    if value == 0:
        return "0"
    power = value.adjusted()
    if -5 < power < largest:
        text = f"{value:,f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    digits = f"{value.scaleb(-power).normalize():f}"
    tail = "10" + str(power).translate(_SUPERSCRIPT)
    return tail if digits == "1" else f"{digits} × {tail}"

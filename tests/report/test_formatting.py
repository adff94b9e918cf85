from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from ballotine.report import formatting

_DIGITS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
POSITIVE = st.floats(min_value=1e-12, max_value=1e12)


def read(text: str) -> Decimal:
    """Read a printed number back."""
    text = text.replace(",", "")
    if "10" in text and any(c in "⁻⁰¹²³⁴⁵⁶⁷⁸⁹" for c in text):
        digits, _, power = text.rpartition("10")
        factor = digits.removesuffix(" × ") or "1"
        return Decimal(factor).scaleb(int(power.translate(_DIGITS)))
    return Decimal(text)


@given(POSITIVE)
def test_number_keeps_every_digit(value: float) -> None:
    assert float(read(formatting.number(value))) == value


@given(st.floats(min_value=0, max_value=1e6))
def test_up_is_never_smaller_and_hardly_larger(value: float) -> None:
    shown = read(formatting.up(value))
    assert shown >= Decimal(repr(value))
    assert shown - Decimal(repr(value)) <= Decimal("0.001")


@given(st.floats(min_value=1, max_value=1e300))
def test_factor_is_never_smaller_and_at_most_a_tenth_larger(value: float) -> None:
    shown = read(formatting.factor(value))
    assert Decimal(repr(value)) <= shown <= Decimal(repr(value)) * Decimal("1.1")


@given(st.floats(min_value=1e-14, max_value=0.5))
def test_one_in_never_belittles_the_chance(probability: float) -> None:
    text = formatting.one_in(probability)
    times = int(text.removeprefix("1 in ").replace(",", ""))
    assert Fraction(1, times) >= Fraction(repr(probability))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (7.98, "7.98"),
        (8.0, "8"),
        (1e-4, "0.0001"),
        (1e-5, "10⁻⁵"),
        (2.5e-7, "2.5 × 10⁻⁷"),
        (1234567.5, "1,234,567.5"),
        (0.0, "0"),
        (float("inf"), "∞"),
        (float("nan"), "not a number"),
        (120000, "120,000"),
    ],
)
def test_number(value: float, text: str) -> None:
    assert formatting.number(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.6487, "1.65"), (2921.9, "2,922"), (99.999, "100"), (4.31e13, "4.4 × 10¹³")],
)
def test_factor(value: float, text: str) -> None:
    assert formatting.factor(value) == text


def test_small_and_large_chances() -> None:
    assert formatting.one_in(1e-4) == "1 in 10,000"
    assert formatting.one_in(1e-5) == "1 in 100,000"
    assert formatting.one_in(0.7) == "0.7"
    assert formatting.one_in(1e-20) == "10⁻²⁰"


@given(st.integers(1, 5000), st.data())
@settings(max_examples=40, deadline=None)
def test_wilson_agrees_with_scipy(rows: int, data: st.DataObject) -> None:
    right = data.draw(st.integers(0, rows))
    expected = binomtest(right, rows).proportion_ci(0.95, method="wilson")
    low, high = formatting.wilson(right / rows, rows)
    assert low == pytest.approx(expected.low, abs=1e-9)
    assert high == pytest.approx(expected.high, abs=1e-9)


def test_wilson_of_nothing_knows_nothing() -> None:
    assert formatting.wilson(0.0, 0) == (0.0, 1.0)


@given(st.text(max_size=200), st.integers(2, 80))
def test_tidy_leaves_one_printable_line(text: str, limit: int) -> None:
    kept = formatting.tidy(text, limit)
    assert kept.isprintable()
    assert len(kept) <= limit


def test_a_name_is_never_empty() -> None:
    assert formatting.name("\x1b\u202e\n") == formatting.BLANK


def test_moment() -> None:
    assert formatting.moment("2025-03-09T08:07:06+02:00") == "9 March 2025, 06:07 UTC"
    assert formatting.moment("2025-03-09T08:07:06") == "9 March 2025, 08:07"
    assert formatting.moment("yesterday\x1b[1m") == "yesterday[1m"


def test_plain() -> None:
    value = {"a": [1, 2.5, None, True], "b": {"c": "x\x00"}, "d": []}
    assert formatting.plain(value) == "a = 1, 2.5, –, yes, b = c = x, d = –"
    assert formatting.plain(list(range(30))).endswith("23, and 6 more")
    assert formatting.plain("") == "–"

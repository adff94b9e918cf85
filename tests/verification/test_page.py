"""The documentation page lists every claim, with ratios that are still true."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ballotine.verification import CASES, Finding

PAGE = Path(__file__).parents[2] / "docs" / "verification.md"


def rows() -> list[tuple[str, str, str]]:
    """Name, statement and ratio of each claim on the page."""
    text = PAGE.read_text(encoding="utf-8")
    found = re.findall(r"^\| `([\w-]+/[\w-]+)` \| (.*) \| ([^|]+) \|$", text, re.M)
    return [(name, cells.split(" | ")[0], ratio) for name, cells, ratio in found]


def test_every_claim_is_on_the_page() -> None:
    listed = {name: statement for name, statement, _ in rows()}
    for case in CASES:
        # A vertical bar inside a table is escaped.
        assert listed[case.name].replace("\\|", "|") == case.statement
    assert len(rows()) == len(CASES)


def test_the_ratios_on_the_page(findings: dict[str, Finding]) -> None:
    ratios = {name: ratio for name, _, ratio in rows()}
    for name, finding in findings.items():
        shown = float(ratios[name].replace(",", "").replace("…", "").replace("∞", "inf"))
        if finding.case.expected == "false":
            assert finding.ratio == pytest.approx(shown, rel=0.01), name
        else:
            # The page shows a full verification, which reaches at least what a quick one must.
            assert finding.case.reaches - 1e-4 <= shown <= 1.0, name

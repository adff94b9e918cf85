"""One quick verification of everything, shared by the tests of this package."""

from __future__ import annotations

import pytest

from ballotine.verification import Finding, Report, verify

SEED = 2


@pytest.fixture(scope="session")
def report() -> Report:
    return verify(quick=True, seed=SEED)


@pytest.fixture(scope="session")
def findings(report: Report) -> dict[str, Finding]:
    return {finding.case.name: finding for finding in report.findings}

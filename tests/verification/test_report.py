"""Selection of cases, and the report of the findings."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from ballotine.errors import ParameterError, VerificationError
from ballotine.verification import CASES, Finding, Report, select, verify


def test_select_mechanisms_and_claims() -> None:
    assert select([]) == CASES
    assert {case.mechanism for case in select(["lnmax", "conversion"])} == {"lnmax", "conversion"}
    assert [case.name for case in select(["check/tight"])] == ["check/tight"]
    both = select(["check", "check/tight"])
    assert both == select(["check"])


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"unknown: 'teapot'; mechanisms are gnmax, check"):
        select(["gnmax", "teapot"])
    with pytest.raises(ParameterError, match="seed"):
        verify(select(["conversion/delta"]), seed=-1)


def test_a_seed_repeats_everything() -> None:
    cases = select(["lnmax/moments"])
    first, again = (verify(cases, quick=True, seed=9) for _ in range(2))
    assert first.findings[0].witness == again.findings[0].witness
    assert first.effort.seed == 9
    drawn = {verify(select(["lnmax/one-direction"]), quick=True).effort.seed for _ in range(3)}
    assert len(drawn) == 3


def test_json(report: Report) -> None:
    told = json.loads(json.dumps(report.as_dict(), allow_nan=False))
    assert told["verified"] is True
    assert told["quick"] is True
    assert told["seed"] == report.effort.seed
    assert [row["case"] for row in told["findings"]] == [case.name for case in CASES]
    infinite = next(r for r in told["findings"] if r["case"] == "powerset/observed-only")
    assert infinite["ratio"] == "inf"
    assert infinite["verdict"] == "caught"
    row = next(r for r in told["findings"] if r["case"] == "gnmax/theorem-6-one-direction")
    assert row["witness"]["configuration"]["tally"] == [50.0, 0.0]
    assert row["witness"]["axis"] == "order"
    assert row["witness"]["point"] == 4.0
    assert row["witness"]["true"] / row["witness"]["claimed"] == pytest.approx(row["ratio"])
    assert "(49, 1)" in row["witness"]["neighbour"]


def test_a_failure_is_named(report: Report, findings: dict[str, Finding]) -> None:
    good, bad = findings["gnmax/published"], findings["check/tight"]
    broken = Report((good, replace(bad, ratio=1.2)), report.effort)
    assert broken.failures == (replace(bad, ratio=1.2),)
    assert broken.as_dict()["verified"] is False
    with pytest.raises(VerificationError, match=r"1 of 2 failed: check/tight \(exceeded\)") as told:
        broken.require()
    assert told.value.exit_code == 1

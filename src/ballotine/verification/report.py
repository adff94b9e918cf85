"""Run a verification and report all findings."""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ballotine.errors import ParameterError, VerificationError
from ballotine.progress import Progress, Silent
from ballotine.text import quoted
from ballotine.verification.case import AnyCase, Effort
from ballotine.verification.cases import CASES
from ballotine.verification.declared import every_case
from ballotine.verification.judge import TOLERANCE, Finding, judge


@dataclass(frozen=True)
class Report:
    """The findings of one verification.

    Attributes:
        findings: one per case.
        effort: how much was checked, and the seed that reproduces it.
    """

    findings: tuple[Finding, ...]
    effort: Effort

    @property
    def failures(self) -> tuple[Finding, ...]:
        """The findings with an unexpected verdict."""
        return tuple(finding for finding in self.findings if not finding.as_expected)

    def require(self) -> None:
        """Raise an error if there are failures.

        Raises:
            VerificationError: naming every case that failed, and how.
        """
        if self.failures:
            names = ", ".join(
                f"{finding.case.name} ({finding.verdict})" for finding in self.failures
            )
            raise VerificationError(f"{len(self.failures)} of {len(self.findings)} failed: {names}")

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; infinity is the string "inf"."""
        return {
            "verified": not self.failures,
            "quick": self.effort.quick,
            "seed": self.effort.seed,
            "tolerance": TOLERANCE,
            "seconds": round(sum(finding.seconds for finding in self.findings), 3),
            "findings": [_plain(finding) for finding in self.findings],
        }


def verify(
    cases: Sequence[AnyCase] = CASES,
    *,
    quick: bool = False,
    seed: int | None = None,
    progress: Progress | None = None,
) -> Report:
    """Compare claims with exact costs.

    Args:
        cases: the cases to verify; see `select`.
        quick: check fewer configurations of every kind.
        seed: determines the random configurations; random by default. The report states it
            either way.
        progress: is advanced after each case.
    """
    if seed is not None and seed < 0:
        raise ParameterError(f"a seed must be 0 or more, got {seed}")
    effort = Effort(quick, secrets.randbits(32) if seed is None else seed)
    findings = []
    with (progress or Silent()).stage("claims", len(cases)) as advance:
        for case in cases:
            findings.append(judge(case, effort))
            advance(1)
    return Report(tuple(findings), effort)


def select(names: Sequence[str]) -> tuple[AnyCase, ...]:
    """Return the cases of these mechanisms or with these names; all cases if no name is given.

    Raises:
        ParameterError: for a name that is neither.
    """
    known = every_case()
    mechanisms = tuple(dict.fromkeys(case.mechanism for case in known))
    unknown = set(names) - set(mechanisms) - {case.name for case in known}
    if unknown:
        raise ParameterError(
            f"unknown: {quoted(sorted(unknown))}; mechanisms are {', '.join(mechanisms)}"
        )
    return tuple(
        case for case in known if not names or case.mechanism in names or case.name in names
    )


def _plain(finding: Finding) -> dict[str, Any]:
    case, witness = finding.case, finding.witness
    return {
        "case": case.name,
        "mechanism": case.mechanism,
        "claim": case.statement,
        "source": case.source,
        "expected": case.expected,
        "verdict": finding.verdict,
        "ratio": _finite(finding.ratio),
        "reaches": case.reaches,
        "configurations": finding.configurations,
        "seconds": round(finding.seconds, 3),
        "witness": {
            "configuration": asdict(witness.configuration),
            "axis": witness.axis,
            "point": witness.point,
            "neighbour": witness.neighbour,
            "claimed": _finite(witness.claimed),
            "true": _finite(witness.true),
        },
    }


def _finite(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)

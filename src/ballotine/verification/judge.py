"""Compare a claim with the exact cost, configuration by configuration."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np

from ballotine.errors import VerificationError
from ballotine.oracle.truth import Truth
from ballotine.types import FloatArray
from ballotine.verification.case import AnyCase, Effort

TOLERANCE = 1e-9
"""A ratio may exceed 1 by this much, in addition to the oracle's own error bound."""

Verdict = Literal["holds", "exceeded", "blind", "caught", "missed"]
AS_EXPECTED: tuple[Verdict, ...] = ("holds", "caught")


@dataclass(frozen=True)
class Witness:
    """The configuration and point at which a ratio was reached.

    Attributes:
        configuration: a dataclass of parameters.
        axis: the name of the axis.
        point: the order (or δ) at which it was reached.
        neighbour: the neighbour and direction that attain it.
        claimed: the claimed cost there.
        true: the true cost there.
    """

    configuration: Any
    axis: str
    point: float
    neighbour: str
    claimed: float
    true: float

    def __str__(self) -> str:
        parts = [*_parameters(self.configuration), f"{self.axis} {self.point:g}"]
        return ", ".join(parts) + (f"; {self.neighbour}" if self.neighbour else "")


@dataclass(frozen=True)
class Finding:
    """The result of one case.

    Attributes:
        case: the case.
        ratio: the largest ratio of true cost to claim.
        witness: where it was reached.
        configurations: the number of configurations checked.
        seconds: the time it took.
    """

    case: AnyCase
    ratio: float
    witness: Witness
    configurations: int
    seconds: float

    @property
    def verdict(self) -> Verdict:
        """Whether the claim held, and whether it should have."""
        if self.case.expected == "false":
            refuted = self.ratio > 1.0 + TOLERANCE and self.ratio >= self.case.reaches
            return "caught" if refuted else "missed"
        if self.ratio > 1.0 + TOLERANCE:
            return "exceeded"
        return "holds" if self.ratio >= self.case.reaches else "blind"

    @property
    def as_expected(self) -> bool:
        """Whether the verdict is the expected one."""
        return self.verdict in AS_EXPECTED


def judge(case: AnyCase, effort: Effort) -> Finding:
    """Return the largest ratio of true cost to claim over all configurations of a case.

    Raises:
        VerificationError: when a claim cannot be evaluated where it should hold, or when there
            is no configuration.
    """
    started, tried = time.perf_counter(), 0
    worst, witness = -math.inf, None
    for configuration in case.configurations(effort):
        tried += 1
        ratio, candidate = _worst_point(case, configuration)
        if ratio > worst:
            worst, witness = ratio, candidate
    if witness is None:
        raise VerificationError(f"{case.name}: no configuration was tried")
    return Finding(case, worst, witness, tried, time.perf_counter() - started)


def _worst_point(case: AnyCase, configuration: Any) -> tuple[float, Witness]:
    """Return the largest ratio of one configuration, and where it is reached."""
    claimed = _claimed(case, configuration)
    truth = case.truth(configuration, case.axis.points)
    found = ratios(truth, claimed)
    place = int(found.argmax())
    witness = Witness(
        configuration,
        case.axis.name,
        case.axis.points[place],
        truth.witnesses[place],
        float(claimed[place]),
        float(truth.values[place]),
    )
    return float(found[place]), witness


def _claimed(case: AnyCase, configuration: Any) -> FloatArray:
    try:
        return case.claim(configuration, case.axis.points)
    except ValueError as problem:
        parameters = ", ".join(_parameters(configuration))
        raise VerificationError(f"{case.name}: no claim for {parameters}: {problem}") from problem


def ratios(truth: Truth, claimed: FloatArray) -> FloatArray:
    """Return true cost over claim at each point; infinite where the claim is not a number."""
    certain = truth.floor
    if claimed.shape != certain.shape:
        raise VerificationError("a claim must have one value for each point of its axis")
    with np.errstate(divide="ignore", invalid="ignore"):
        found = certain / claimed
    found = np.where((certain == 0.0) & (claimed == 0.0), 0.0, found)
    found = np.where(np.isinf(certain) & np.isinf(claimed), 1.0, found)
    sound = (claimed >= 0.0) & ~np.isnan(certain)
    result: FloatArray = np.where(sound, found, np.inf)
    return result


def _parameters(configuration: Any) -> Iterator[str]:
    """Yield the parameters that differ from their defaults; a field may define its own format."""
    for field in fields(configuration):
        value = getattr(configuration, field.name)
        if value is not None and value != field.default:
            yield f"{field.name} = {field.metadata.get('format', _format)(value)}"


def _format(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, tuple):
        return "(" + ", ".join(_format(part) for part in value) + ")"
    return str(value)

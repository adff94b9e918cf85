"""Holds a claim against the truth, configuration by configuration."""

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
"""A ratio may exceed 1 by this much, on top of what the oracle says of its own error."""

Verdict = Literal["holds", "exceeded", "blind", "caught", "missed"]
AS_EXPECTED: tuple[Verdict, ...] = ("holds", "caught")


@dataclass(frozen=True)
class Witness:
    """Where a ratio was reached.

    Attributes:
        configuration: a dataclass of parameters.
        axis: what the point is a point of.
        point: the order (or δ) at which it was reached.
        neighbour: who shows it, in which direction.
        claimed: what was claimed there.
        true: what is true there.
    """

    configuration: Any
    axis: str
    point: float
    neighbour: str
    claimed: float
    true: float

    def __str__(self) -> str:
        parts = [*_told(self.configuration), f"{self.axis} {self.point:g}"]
        return ", ".join(parts) + (f"; {self.neighbour}" if self.neighbour else "")


@dataclass(frozen=True)
class Finding:
    """What came of one case.

    Attributes:
        case: the case.
        ratio: the worst ratio of truth to claim.
        witness: where.
        configurations: how many were tried.
        seconds: how long it took.
    """

    case: AnyCase
    ratio: float
    witness: Witness
    configurations: int
    seconds: float

    @property
    def verdict(self) -> Verdict:
        """Return whether the claim stood, and whether it should have."""
        if self.case.expected == "false":
            shown = self.ratio > 1.0 + TOLERANCE and self.ratio >= self.case.reaches
            return "caught" if shown else "missed"
        if self.ratio > 1.0 + TOLERANCE:
            return "exceeded"
        return "holds" if self.ratio >= self.case.reaches else "blind"

    @property
    def as_expected(self) -> bool:
        """Whether this finding is no cause for alarm."""
        return self.verdict in AS_EXPECTED


def judge(case: AnyCase, effort: Effort) -> Finding:
    """Return the worst ratio of truth to claim over all configurations of a case.

    Raises:
        VerificationError: when a claim cannot be evaluated where it should hold, or when there
            was nothing to try.
    """
    started, tried = time.perf_counter(), 0
    worst, witness = -math.inf, None
    for configuration in case.configurations(effort):
        tried += 1
        try:
            claimed = case.claim(configuration, case.axis.points)
        except ValueError as problem:
            raise VerificationError(
                f"{case.name}: no claim for {', '.join(_told(configuration))}: {problem}"
            ) from problem
        truth = case.truth(configuration, case.axis.points)
        found = ratios(truth, claimed)
        place = int(found.argmax())
        if found[place] > worst:
            worst = float(found[place])
            witness = Witness(
                configuration,
                case.axis.name,
                case.axis.points[place],
                truth.witnesses[place],
                float(claimed[place]),
                float(truth.values[place]),
            )
    if witness is None:
        raise VerificationError(f"{case.name}: no configuration was tried")
    return Finding(case, worst, witness, tried, time.perf_counter() - started)


def ratios(truth: Truth, claimed: FloatArray) -> FloatArray:
    """Return truth over claim at each point; what is no number proves nothing and is infinite."""
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


def _told(configuration: Any) -> Iterator[str]:
    """Yield the parameters that are not at their defaults; a field may bring its own format."""
    for field in fields(configuration):
        value = getattr(configuration, field.name)
        if value is not None and value != field.default:
            yield f"{field.name} = {field.metadata.get('shown', _shown)(value)}"


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, tuple):
        return "(" + ", ".join(_shown(part) for part in value) + ")"
    return str(value)

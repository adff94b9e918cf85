"""What is audited when nothing is asked for: every mechanism, small enough to be sharp."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from ballotine.voting import MECHANISMS, Mechanism, make_mechanism
from ballotine.voting.mechanism import AuditDefault


@dataclass(frozen=True)
class AuditCase:
    """What to audit: a mechanism, and how it is used.

    Attributes:
        mechanism: with its parameters.
        teachers: how many vote.
        classes: how many classes they choose from, or labels they name.
        queries: how many are answered together.
    """

    mechanism: Mechanism
    teachers: int
    classes: int
    queries: int


def default_cases() -> list[AuditCase]:
    """One case for each mechanism that says what it is audited with."""
    kinds = MECHANISMS.usable()
    return [default_case(name) for name, kind in kinds.items() if kind.audit is not None]


def default_case(
    name: str,
    parameters: Mapping[str, Any] = MappingProxyType({}),
    *,
    teachers: int | None = None,
    classes: int | None = None,
    queries: int | None = None,
) -> AuditCase:
    """A mechanism with its default; what is given takes the default's place."""
    default = MECHANISMS.require(name).audit or AuditDefault()
    given = {key: value for key, value in parameters.items() if value is not None}
    return AuditCase(
        make_mechanism(name, {**default.parameters, **given}),
        default.teachers if teachers is None else teachers,
        default.classes if classes is None else classes,
        default.queries if queries is None else queries,
    )

"""The default audits: every mechanism, with small parameters that make the bound sharp."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from ballotine.voting import MECHANISMS, Mechanism, make_mechanism
from ballotine.voting.mechanism import AuditDefault


@dataclass(frozen=True)
class AuditCase:
    """A mechanism to audit, and its setting.

    Attributes:
        mechanism: the mechanism with its parameters.
        teachers: the number of teachers.
        classes: the number of classes, or labels.
        queries: how many queries are answered together.
    """

    mechanism: Mechanism
    teachers: int
    classes: int
    queries: int


def default_cases() -> list[AuditCase]:
    """Return one case for each mechanism that declares a default audit."""
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
    """Return the default case of a mechanism; given values replace the defaults."""
    default = MECHANISMS.require(name).audit or AuditDefault()
    given = {key: value for key, value in parameters.items() if value is not None}
    return AuditCase(
        make_mechanism(name, {**default.parameters, **given}),
        default.teachers if teachers is None else teachers,
        default.classes if classes is None else classes,
        default.queries if queries is None else queries,
    )

"""What is audited when nothing is asked for: every mechanism, small enough to be sharp."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from ballotine.voting import MECHANISMS, Mechanism, make_mechanism


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


@dataclass(frozen=True)
class AuditSetting:
    """Parameters and numbers with which a mechanism is audited unless told otherwise."""

    parameters: Mapping[str, Any]
    teachers: int = 4
    classes: int = 2
    queries: int = 20


# Few votes, and noise of their size: then some tally is close to the worst that is charged for.
SETTINGS: Mapping[str, AuditSetting] = {
    "gnmax": AuditSetting({"sigma": 2.0}),
    "confident-gnmax": AuditSetting(
        {"sigma": 2.0, "threshold": 2.0, "sigma_threshold": 1.0}, teachers=2
    ),
    # Charged as the worst of its kind, which it approaches when few answers are given.
    "lnmax": AuditSetting({"gamma": 1.0}, queries=3),
    "binary": AuditSetting({"sigma": 3.0}),
    "clipped": AuditSetting({"sigma": 3.0, "tau": 1.0}),
    "powerset": AuditSetting({"sigma": 2.0}, queries=10),
}


def default_cases() -> list[AuditCase]:
    """One case for each mechanism that has a setting here."""
    return [default_case(name) for name in MECHANISMS if name in SETTINGS]


def default_case(
    name: str,
    parameters: Mapping[str, Any] = MappingProxyType({}),
    *,
    teachers: int | None = None,
    classes: int | None = None,
    queries: int | None = None,
) -> AuditCase:
    """A mechanism with its setting; what is given takes the setting's place."""
    setting = SETTINGS.get(name, AuditSetting({}))
    given = {key: value for key, value in parameters.items() if value is not None}
    return AuditCase(
        make_mechanism(name, {**setting.parameters, **given}),
        setting.teachers if teachers is None else teachers,
        setting.classes if classes is None else classes,
        setting.queries if queries is None else queries,
    )

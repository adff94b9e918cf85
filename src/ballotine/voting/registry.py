"""Mechanisms by name: those that ship, registered ones, and those of installed packages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from ballotine import shipped
from ballotine.errors import ParameterError
from ballotine.registry import Registry
from ballotine.voting.parameters import declared

if TYPE_CHECKING:
    from ballotine.voting.mechanism import Mechanism

GROUP = "ballotine.mechanisms"
"""The group of entry points by which other packages add theirs: ``name = "module:Class"``."""

Kind = TypeVar("Kind", bound="type[Mechanism]")


def _mechanism(name: str, kind: Any) -> type[Mechanism]:
    from ballotine.voting.mechanism import Mechanism

    if not (isinstance(kind, type) and issubclass(kind, Mechanism) and is_dataclass(kind)):
        raise ParameterError(f"{name!r} is not a class of mechanisms: a frozen dataclass")
    if getattr(kind, "name", None) != name:
        raise ParameterError(f"the mechanism {kind.__name__} does not call itself {name!r}")
    promised = {
        "_published": "published" in kind.analyses,
        "_exact": "exact" in kind.analyses,
        "envelope": kind.publishable,
    }
    for method, wanted in promised.items():
        if wanted and getattr(kind, method) is getattr(Mechanism, method):
            raise ParameterError(f"the mechanism {name!r} declares a cost without {method}()")
    if "tight" not in kind.analyses or kind.planned_by not in {"", *declared(kind)}:
        raise ParameterError(f"the mechanism {name!r} lacks a tight cost or the noise to plan")
    return kind


MECHANISMS: Registry[type[Mechanism]] = Registry("mechanism", GROUP, shipped.MECHANISMS, _mechanism)
"""Mechanisms by the name that run files and the command line use."""


def register(kind: Kind) -> Kind:
    """Make a mechanism known by its name to run files and commands; also a decorator."""
    MECHANISMS.register(kind.name, kind)
    return kind


def make_mechanism(name: str, parameters: Mapping[str, Any]) -> Mechanism:
    """The mechanism of that name with the parameters it takes; None counts as absent."""
    kind = MECHANISMS.require(name)
    needed = {field.name for field in fields(kind) if field.default is MISSING}
    if missing := sorted(key for key in needed if parameters.get(key) is None):
        raise ParameterError(f"{name} needs {', '.join(missing)}")
    return kind(**accepted(kind, parameters))


def accepted(kind: type[Mechanism], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters that were given; refuses those that the mechanism does not have."""
    given = {key: value for key, value in parameters.items() if value is not None}
    if extra := sorted(set(given) - {field.name for field in fields(kind)}):
        raise ParameterError(f"{kind.name} does not use {', '.join(extra)}")
    return given


def able(ability: str, last: str = "or") -> str:
    """The names of the mechanisms that declare an ability, for messages: "gnmax or …"."""
    names = [name for name, kind in MECHANISMS.usable().items() if getattr(kind, ability)]
    return f" {last} ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))

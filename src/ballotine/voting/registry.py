"""Mechanisms by name: built in, registered, or from installed packages."""

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
"""The entry-point group in which packages list their mechanisms: ``name = "module:Class"``."""

Kind = TypeVar("Kind", bound="type[Mechanism]")


def _mechanism(name: str, kind: Any) -> type[Mechanism]:
    from ballotine.voting.mechanism import Mechanism

    if not (isinstance(kind, type) and issubclass(kind, Mechanism) and is_dataclass(kind)):
        raise ParameterError(f"{name!r} must be a subclass of Mechanism and a frozen dataclass")
    if getattr(kind, "name", None) != name:
        raise ParameterError(f"the mechanism {kind.__name__} is not named {name!r}")
    promised = {
        "_published": "published" in kind.analyses,
        "_exact": "exact" in kind.analyses,
        "envelope": kind.publishable,
    }
    for method, wanted in promised.items():
        if wanted and getattr(kind, method) is getattr(Mechanism, method):
            raise ParameterError(f"the mechanism {name!r} declares a cost without {method}()")
    if "tight" not in kind.analyses or kind.planned_by not in {"", *declared(kind)}:
        raise ParameterError(
            f"the mechanism {name!r} must list 'tight' in analyses and a parameter in planned_by"
        )
    return kind


MECHANISMS: Registry[type[Mechanism]] = Registry("mechanism", GROUP, shipped.MECHANISMS, _mechanism)
"""Mechanisms by their name in run files and on the command line."""


def register(kind: Kind) -> Kind:
    """Make a mechanism available by its name to run files and commands; also a decorator."""
    MECHANISMS.register(kind.name, kind)
    return kind


def make_mechanism(name: str, parameters: Mapping[str, Any]) -> Mechanism:
    """Return the mechanism of that name with these parameters; None means absent."""
    kind = MECHANISMS.require(name)
    needed = {field.name for field in fields(kind) if field.default is MISSING}
    if missing := sorted(key for key in needed if parameters.get(key) is None):
        raise ParameterError(f"{name} needs {', '.join(missing)}")
    return kind(**accepted(kind, parameters))


def accepted(kind: type[Mechanism], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that are not None; refuse those that the mechanism lacks."""
    given = {key: value for key, value in parameters.items() if value is not None}
    if extra := sorted(set(given) - {field.name for field in fields(kind)}):
        raise ParameterError(f"{kind.name} does not use {', '.join(extra)}")
    return given


def mechanisms_with(attribute: str, conjunction: str = "or") -> str:
    """Return the mechanisms with a true class attribute, for messages: "gnmax or …"."""
    names = [name for name, kind in MECHANISMS.usable().items() if getattr(kind, attribute)]
    return f" {conjunction} ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))

"""Parameters of mechanisms, declared as metadata of their fields.

    sigma: float = field(metadata=parameter("Noise on each count, in votes.", above=0, votes=1))

Command lines, run files and planning use the declarations. A field without one is available only
from Python.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, fields
from types import MappingProxyType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

_KEY = "ballotine"


@dataclass(frozen=True)
class Parameter:
    """The declaration of one parameter.

    Attributes:
        help: one sentence for command lines.
        above: an exclusive lower bound; None: no bound.
        votes: the power of the number of votes with which it scales: 1 for noise and thresholds,
            −1 for an inverse scale of noise, 0 if it does not depend on the number of votes.
        option: the name on the command line, without dashes; by default the field's name.
        symbol: the symbol in formulas; by default the field's name.
    """

    help: str
    above: float | None = None
    votes: Literal[-1, 0, 1] = 0
    option: str | None = None
    symbol: str | None = None


@dataclass(frozen=True)
class Declared:
    """A parameter with the name and type of its field."""

    name: str
    type: type[Any]
    required: bool
    parameter: Parameter

    @property
    def option(self) -> str:
        """The option on the command line."""
        return "--" + (self.parameter.option or self.name).replace("_", "-")

    @property
    def symbol(self) -> str:
        """The symbol in formulas."""
        return self.parameter.symbol or self.name


def parameter(
    help: str,  # noqa: A002
    *,
    above: float | None = None,
    votes: Literal[-1, 0, 1] = 0,
    option: str | None = None,
    symbol: str | None = None,
) -> Mapping[str, Parameter]:
    """Return metadata for a field of a mechanism; see `Parameter`."""
    return MappingProxyType({_KEY: Parameter(help, above, votes, option, symbol)})


def declared(kind: type[Any]) -> dict[str, Declared]:
    """Return the parameters that a mechanism's class declares, by name, in order."""
    hints = get_type_hints(kind)
    return {
        field.name: Declared(
            field.name, _plain(hints[field.name]), field.default is MISSING, field.metadata[_KEY]
        )
        for field in fields(kind)
        if _KEY in field.metadata
    }


@dataclass(frozen=True)
class SharedParameter:
    """A parameter that several mechanisms share: one option, and one key in run files.

    Attributes:
        name: the name of the field.
        option: the option on the command line.
        type: the common type; float if only some of them take whole numbers.
        above: the loosest lower bound.
        helps: the help texts, and the mechanisms that each is for.
    """

    name: str
    option: str
    type: type[Any]
    above: float | None
    helps: Mapping[str, tuple[str, ...]]

    @property
    def help(self) -> str:
        """The help texts of all mechanisms in one line."""
        texts = [f"{text.rstrip('.')} ({', '.join(names)})" for text, names in self.helps.items()]
        return "; ".join([texts[0], *(text[0].lower() + text[1:] for text in texts[1:])]) + "."


def shared(
    kinds: Mapping[str, type[Any]], without: Iterable[str] = ()
) -> dict[str, SharedParameter]:
    """Return the parameters of several mechanisms, by name.

    Args:
        kinds: classes of mechanisms by name.
        without: parameters to leave out, as "mechanism.parameter".
    """
    left_out = set(without)
    found: dict[str, dict[str, Declared]] = {}
    for mechanism, kind in kinds.items():
        for name, one in declared(kind).items():
            if f"{mechanism}.{name}" not in left_out:
                found.setdefault(name, {})[mechanism] = one
    return {name: _together(name, users) for name, users in found.items()}


def _together(name: str, users: Mapping[str, Declared]) -> SharedParameter:
    helps: dict[str, tuple[str, ...]] = {}
    for mechanism, one in users.items():
        helps[one.parameter.help] = (*helps.get(one.parameter.help, ()), mechanism)
    types = {one.type for one in users.values()}
    bounds = [one.parameter.above for one in users.values()]
    return SharedParameter(
        name,
        next(iter(users.values())).option,
        types.pop() if len(types) == 1 else float if types <= {int, float} else str,
        None if None in bounds else min(bound for bound in bounds if bound is not None),
        helps,
    )


def _plain(hint: Any) -> type[Any]:
    """Return the plain type of a value; for a Literal, the type of its choices."""
    if get_origin(hint) in (Union, UnionType):
        (hint,) = (part for part in get_args(hint) if part is not type(None))
    if get_origin(hint) is Literal:
        return type(get_args(hint)[0])
    if hint not in (bool, int, float, str):
        raise TypeError(f"a parameter cannot be of type {hint}: leave its metadata out")
    return hint  # type: ignore[no-any-return]

"""What a mechanism says about its fields: enough for command lines, run files and planning.

    sigma: float = field(metadata=parameter("Noise on each count, in votes.", above=0, votes=1))

A field without it is for Python alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, fields
from types import MappingProxyType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

_KEY = "ballotine"


@dataclass(frozen=True)
class Parameter:
    """What is known of one parameter.

    Attributes:
        help: one sentence for command lines.
        above: the values are larger than this; None: no lower bound.
        votes: the power of the number of votes with which it grows: 1 for noise and thresholds,
            −1 for an inverse scale of noise, 0 for what does not depend on how many vote.
        option: what the command line calls it, without dashes; the name of the field if absent.
        symbol: what formulas call it; the name of the field if absent.
    """

    help: str
    above: float | None = None
    votes: Literal[-1, 0, 1] = 0
    option: str | None = None
    symbol: str | None = None


@dataclass(frozen=True)
class Declared:
    """A parameter as the class of a mechanism declares it."""

    name: str
    type: type[Any]
    required: bool
    parameter: Parameter

    @property
    def option(self) -> str:
        """What the command line calls it."""
        return "--" + (self.parameter.option or self.name).replace("_", "-")

    @property
    def symbol(self) -> str:
        """What formulas call it."""
        return self.parameter.symbol or self.name


def parameter(
    help: str,  # noqa: A002
    *,
    above: float | None = None,
    votes: Literal[-1, 0, 1] = 0,
    option: str | None = None,
    symbol: str | None = None,
) -> Mapping[str, Parameter]:
    """Metadata for the field of a mechanism; see `Parameter`."""
    return MappingProxyType({_KEY: Parameter(help, above, votes, option, symbol)})


def declared(kind: type[Any]) -> dict[str, Declared]:
    """The parameters that a mechanism's class declares, by name, in their order."""
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
    """One parameter of several mechanisms: a single option, a single key of run files.

    Attributes:
        name: of the field.
        option: what the command line calls it.
        type: that of all of them; a float where some take whole numbers only.
        above: the loosest lower bound.
        helps: what it means, and for which mechanisms.
    """

    name: str
    option: str
    type: type[Any]
    above: float | None
    helps: Mapping[str, tuple[str, ...]]

    @property
    def help(self) -> str:
        """What it means to each mechanism, in one line."""
        told = [f"{text.rstrip('.')} ({', '.join(names)})" for text, names in self.helps.items()]
        return "; ".join([told[0], *(text[0].lower() + text[1:] for text in told[1:])]) + "."


def shared(
    kinds: Mapping[str, type[Any]], without: Iterable[str] = ()
) -> dict[str, SharedParameter]:
    """The parameters of several mechanisms together, by name.

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
    """The type of a value that can be typed: the choices of a Literal are texts."""
    if get_origin(hint) in (Union, UnionType):
        (hint,) = (part for part in get_args(hint) if part is not type(None))
    if get_origin(hint) is Literal:
        return type(get_args(hint)[0])
    if hint not in (bool, int, float, str):
        raise TypeError(f"a parameter with a {hint} cannot be typed: leave its metadata out")
    return hint  # type: ignore[no-any-return]

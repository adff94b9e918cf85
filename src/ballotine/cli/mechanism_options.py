"""Options for the parameters that registered mechanisms declare.

Importing mechanisms takes a while, so ``ballotine --help`` does without them: the options are
added when a command parses its arguments or shows its help.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from copy import copy
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from typer.core import TyperCommand

if TYPE_CHECKING:
    from ballotine.voting import Mechanism
    from ballotine.voting.parameters import SharedParameter

MECHANISM = "mechanism"
"""The option after which those of the mechanisms are inserted."""
_PREFIX = "mechanism_"
"""Distinguishes the mechanisms' parameters from the command's own of the same name."""
_TYPED = "ballotine.parameters"
"""The key under which a context stores the given parameters."""


class MechanismCommand(TyperCommand):
    """A command with an option for each parameter of each mechanism.

    A command's own option takes precedence over one of the same name; the mechanism must rename
    its option then (``option`` of `ballotine.voting.parameters.Parameter`).
    """

    _declared: list[Any] | None = None

    def kinds(self) -> dict[str, type[Mechanism]]:
        """Return the mechanisms that the command accepts, by name."""
        from ballotine.voting import MECHANISMS

        return MECHANISMS.usable()

    def declared(self) -> dict[str, SharedParameter]:
        """Return the parameters to offer as options, by name."""
        from ballotine.voting.parameters import shared

        return shared(self.kinds())

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the command's own parameters and those of the mechanisms."""
        own: list[Any] = [*super().get_params(ctx)]
        place = next(i for i, one in enumerate(own) if one.name == MECHANISM)
        named = copy(own[place])
        named.help = f"{named.help} One of: {', '.join(self.kinds())}."
        taken = {text for one in own for text in one.opts}
        added = [one for one in self._mechanisms() if taken.isdisjoint(one.opts)]
        return [*own[:place], named, *added, *own[place + 1 :]]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse as usual, then separate the mechanisms' parameters from the command's own."""
        rest = super().parse_args(ctx, args)
        names = [name for name in ctx.params if name.startswith(_PREFIX)]
        ctx.meta[_TYPED] = {name.removeprefix(_PREFIX): ctx.params.pop(name) for name in names}
        return rest

    def _mechanisms(self) -> list[Any]:
        if self._declared is None:
            self._declared = _options(self.declared())
        return self._declared


class PlanCommand(MechanismCommand):
    """A command that finds the noise itself, so that it has no option for it."""

    def kinds(self) -> dict[str, type[Mechanism]]:
        """Return the mechanisms that can be planned."""
        return {name: kind for name, kind in super().kinds().items() if kind.planned_by}

    def declared(self) -> dict[str, SharedParameter]:
        """Return the parameters other than the noise."""
        from ballotine.voting.parameters import shared

        kinds = self.kinds()
        return shared(kinds, without=[f"{name}.{kind.planned_by}" for name, kind in kinds.items()])


def typed_parameters(ctx: typer.Context) -> dict[str, Any]:
    """Return the mechanism parameters given on the command line; None if absent."""
    return cast("dict[str, Any]", ctx.meta[_TYPED])


def _options(parameters: Mapping[str, SharedParameter]) -> list[Any]:
    """Let typer make options from the signature of a function."""

    def command() -> None:
        """Do nothing: only the signature is used."""

    command.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(
                _PREFIX + name,
                inspect.Parameter.KEYWORD_ONLY,
                default=None,
                annotation=Annotated[one.type | None, typer.Option(one.option, help=one.help)],
            )
            for name, one in parameters.items()
        ]
    )
    command.__annotations__ = {
        one.name: one.annotation for one in inspect.signature(command).parameters.values()
    }
    app = typer.Typer(add_completion=False)
    app.command()(command)
    return list(typer.main.get_command(app).params)

"""Commands of other installed packages, such as ``ballotine paper``."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from importlib.metadata import EntryPoint, entry_points

import typer

from ballotine.cli.console import complain
from ballotine.errors import ParameterError

GROUP = "ballotine.commands"
"""Entry points in this group refer to a module with a function ``run`` and a text ``HELP``."""

KNOWN_PACKAGES: Mapping[str, str] = {
    "paper": (
        "`ballotine paper` is in the package ballotine-reproduction, which is not installed: "
        "pip install ./reproduction in a checkout of Ballotine"
    )
}
"""Messages for commands whose package is not installed."""

ANY_ARGUMENTS = {"allow_extra_args": True, "ignore_unknown_options": True}


def with_installed_commands(app: typer.Typer) -> typer.Typer:
    """Return a copy of the app with the commands of installed packages.

    A command that cannot be loaded, or would replace one of Ballotine's own, is reported and
    omitted.
    """
    extended = copy(app)
    extended.registered_commands = list(app.registered_commands)
    points = {point.name: point for point in entry_points(group=GROUP)}
    for name in sorted(points):
        _add(extended, points[name])
    for name in sorted(KNOWN_PACKAGES.keys() - points.keys()):
        _add_missing(extended, name)
    return extended


def _add(app: typer.Typer, point: EntryPoint) -> None:
    package = point.dist.name if point.dist is not None else point.value
    if point.name in _names(app):
        complain(f"the command {point.name!r} of {package} is omitted: Ballotine already has one")
        return
    try:
        module = point.load()
        app.command(point.name, help=module.HELP)(module.run)
    except Exception as problem:
        detail = f"{type(problem).__name__}: {problem}"
        complain(f"the command {point.name!r} of {package} cannot be loaded ({detail})")


def _names(app: typer.Typer) -> set[str | None]:
    groups = {group.name for group in app.registered_groups}
    return groups | {command.name for command in app.registered_commands}


def _add_missing(app: typer.Typer, name: str) -> None:
    def missing() -> None:
        raise ParameterError(KNOWN_PACKAGES[name])

    add = app.command(name, hidden=True, add_help_option=False, context_settings=ANY_ARGUMENTS)
    add(missing)

"""Commands that other installed packages add, such as ``ballotine paper``."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points

import typer

from ballotine.cli.console import complain
from ballotine.errors import ParameterError

GROUP = "ballotine.commands"
"""Entry points of this group name a module with a function ``run`` and a text ``HELP``."""

KNOWN_PACKAGES: Mapping[str, str] = {
    "paper": (
        "`ballotine paper` is in the package ballotine-reproduction, which is not installed: "
        "pip install ./reproduction in a checkout of Ballotine"
    )
}
"""What to say about a command whose package is not installed."""

ANY_ARGUMENTS = {"allow_extra_args": True, "ignore_unknown_options": True}


def add_installed_commands(app: typer.Typer) -> None:
    """Add the commands of installed packages; one that cannot be loaded is reported and left out.

    Calling it again adds nothing new.
    """
    known = {command.name for command in app.registered_commands}
    points = {point.name: point for point in entry_points(group=GROUP)}
    for name in sorted(points.keys() - known):
        _add(app, points[name])
    for name in sorted(KNOWN_PACKAGES.keys() - points.keys() - known):
        _add_missing(app, name)


def _add(app: typer.Typer, point: EntryPoint) -> None:
    try:
        module = point.load()
        app.command(point.name, help=module.HELP)(module.run)
    except Exception as problem:
        package = point.dist.name if point.dist is not None else point.value
        detail = f"{type(problem).__name__}: {problem}"
        complain(f"the command {point.name!r} of {package} cannot be loaded ({detail})")


def _add_missing(app: typer.Typer, name: str) -> None:
    def missing() -> None:
        raise ParameterError(KNOWN_PACKAGES[name])

    options = {"hidden": True, "add_help_option": False, "context_settings": ANY_ARGUMENTS}
    app.command(name, **options)(missing)  # type: ignore[arg-type]

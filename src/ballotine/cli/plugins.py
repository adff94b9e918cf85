"""Commands that other installed packages add, such as ``ballotine paper``."""

from __future__ import annotations

from importlib.metadata import entry_points

import typer

GROUP = "ballotine.commands"
"""Entry points of this group name a module attribute: a function with a ``HELP`` text."""


def add_installed_commands(app: typer.Typer) -> None:
    """Add every command that an installed package registers under `GROUP`."""
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        command = point.load()
        app.command(point.name, help=command.HELP)(command.run)

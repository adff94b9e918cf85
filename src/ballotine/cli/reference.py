"""The reference page of the command line, generated from the commands."""

from __future__ import annotations

import sys
from importlib.metadata import entry_points
from pathlib import Path

import typer

from ballotine.cli.app import app
from ballotine.cli.plugins import GROUP


def reference() -> str:
    """Markdown for every command of Ballotine itself, its arguments and options."""
    from typer.cli import get_docs_for_click

    command = typer.main.get_group(app)
    for point in entry_points(group=GROUP):  # the page is the same whatever is installed
        command.commands.pop(point.name, None)
    context = typer.Context(command, info_name="ballotine")
    text = get_docs_for_click(obj=command, ctx=context, name="ballotine", title="Command line")
    # The default width of the terminal must not decide how the page looks.
    return str(text).rstrip() + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(reference(), encoding="utf-8")

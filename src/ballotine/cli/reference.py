"""The reference page of the command line, generated from the commands."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from ballotine.cli.app import app


def reference() -> str:
    """Markdown for every command, its arguments and options."""
    from typer.cli import get_docs_for_click

    command = typer.main.get_command(app)
    context = typer.Context(command, info_name="ballotine")
    text = get_docs_for_click(obj=command, ctx=context, name="ballotine", title="Command line")
    # The default width of the terminal must not decide how the page looks.
    return str(text).rstrip() + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(reference(), encoding="utf-8")

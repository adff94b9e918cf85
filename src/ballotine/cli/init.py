"""``ballotine init``: a commented run file to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ballotine.cli.console import console
from ballotine.errors import RunFolderError

HELP = """Write a commented run file to start from.

Comments explain every key: change `[data]` and `[budget]`, then call
`ballotine run RUNFILE`. `--example` writes the embedded digits example instead.
"""


def init(
    path: Annotated[Path, typer.Argument(help="Where to write it.")] = Path("run.toml"),
    example: Annotated[
        bool, typer.Option("--example", help="Write the embedded digits example.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")] = False,
) -> None:
    """Write a run file."""
    from ballotine.files import write_atomic
    from ballotine.pipeline import embedded_runfile

    if path.exists():
        raise RunFolderError(f"{path} exists already; choose another name or remove it")
    write_atomic(path, embedded_runfile("digits" if example else "template"))
    if not quiet:
        console.print(f"wrote {path}; edit it, then: ballotine run {path}", markup=False)

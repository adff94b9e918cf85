"""``ballotine report``: rebuild a run's report from its card."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from ballotine.archives import reading_errors
from ballotine.cli.console import console
from ballotine.errors import RunFolderError

HELP = """Rebuild report.html and card.md of a run from its card.json.

Nothing private is read and nothing is spent.
"""


def report(
    folder: Annotated[Path, typer.Argument(help="The run's folder.")],
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")] = False,
) -> None:
    """Rebuild the report."""
    from ballotine.pipeline import RunFolder
    from ballotine.report import write_pages

    place = RunFolder(folder)
    try:
        text = place.card.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        raise RunFolderError(
            f"{folder} has no card.json; finish the run first: ballotine run --resume {folder}"
        ) from None
    except UnicodeDecodeError:
        raise RunFolderError(f"{place.card} is not UTF-8 text") from None
    # An edited card can fail anywhere: report every error as an unreadable card.
    with reading_errors(RunFolderError, f"{place.card} is not a readable privacy card"):
        write_pages(place, json.loads(text))
    if not quiet:
        console.print(f"wrote {place.report} and {place.card_text}", markup=False)

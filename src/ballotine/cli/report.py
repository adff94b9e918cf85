"""``ballotine report``: rebuild a run's page from its card."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from ballotine.cli.console import console
from ballotine.errors import BallotineError, RunFolderError

HELP = """Rebuild report.html and card.md of a run from its card.json.

Nothing private is read and nothing is spent.
"""


def report(
    folder: Annotated[Path, typer.Argument(help="The run's folder.")],
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")] = False,
) -> None:
    """Rebuild the page."""
    from ballotine.pipeline import RunFolder
    from ballotine.report import write_pages

    place = RunFolder(folder)
    try:
        card = json.loads(place.card.read_text(encoding="utf-8"))
        write_pages(place, card)
    except FileNotFoundError:
        raise RunFolderError(
            f"{folder} has no card.json; finish the run first: ballotine run --resume {folder}"
        ) from None
    except BallotineError:
        raise
    except (ValueError, KeyError, TypeError) as problem:
        raise RunFolderError(f"{place.card} is not a readable privacy card") from problem
    if not quiet:
        console.print(f"wrote {place.report} and {place.card_text}", markup=False)

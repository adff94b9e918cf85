"""``ballotine data``: named data sets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from ballotine.cli.console import console, plain, warn

app = typer.Typer(
    help=(
        "Named data sets for experiments. digits and breast_cancer ship with scikit-learn; the "
        "others come from a folder (--folder or BALLOTINE_DATA), OpenML or a package registry, "
        "and are checked against known checksums."
    ),
    no_args_is_help=True,
)
Folder = Annotated[
    Path | None, typer.Option(help="Folder with the files.", envvar="BALLOTINE_DATA")
]


@app.command("list")
def list_sets(
    folder: Folder = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the named data sets and where each would come from."""
    from rich.table import Table

    from ballotine.data.named.sets import listing

    rows = listing(folder)
    if as_json:
        typer.echo(json.dumps([vars(row) for row in rows], indent=2))
        return
    table = Table("name", "kind", "rows", "features", "classes", "comes from", "checksum")
    for row in rows:
        numbers = [f"{value:,}" for value in (row.rows, row.features, row.classes)]
        table.add_row(row.name, row.kind, *numbers, row.where, row.checksum)
    console.print(table)


@app.command()
def get(
    name: Annotated[str, typer.Argument(help="A name from: ballotine data list.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write an .npz here.")] = None,
    folder: Folder = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")] = False,
) -> None:
    """Fetch a named data set, check it, and optionally write it to an .npz file."""
    from ballotine.data.named.sets import export
    from ballotine.data.named.sets import get as fetch

    found = fetch(name, folder, progress=None if quiet else _say)
    for note in found.notes:
        warn(note)
    if out is not None:
        export(found, out)
    if quiet:
        return
    split = "" if found.X_test is None else f" + {len(found.X_test):,} test"
    console.print(
        plain(
            f"{name}: {len(found.X):,}{split} rows, {found.X[0].size} features, "
            f"{len(found.classes)} classes, from {found.origin}",
            longest=200,
        )
    )


@app.command()
def shares(
    folder: Annotated[Path, typer.Argument(help="The run's folder.")],
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")] = False,
) -> None:
    """Plot which classes each teacher of a run has. Private: for the holder only.

    The plot is written to the private part of the run's folder. Nothing is spent.
    """
    import numpy as np

    from ballotine.data.partition import label_figure
    from ballotine.files import write_atomic
    from ballotine.pipeline import Run, open_folder

    place, settings = open_folder(folder)
    dataset, partition = Run(settings, place).load_and_partition()
    figure = label_figure(partition, np.asarray(dataset.classes)[dataset.y_private])
    page = figure.to_html(include_plotlyjs=True, full_html=True)
    write_atomic(place.shares, page, private=True)
    if not quiet:
        console.print(f"wrote {place.shares}: private, do not share it", markup=False)


def _say(step: str) -> None:
    console.print(plain(step, "dim", longest=200))

"""``ballotine paper``: tables and figures of the papers, one command each."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ballotine.cli.console import RichProgress, console
from ballotine.cli.options import AsJson

if TYPE_CHECKING:
    from ballotine_reproduction import Table

HELP = """Reproduce a table or figure of a paper on freshly trained teachers or simulated votes.

Without arguments, lists all tables and figures. The paper's numbers stand beside ours. These are
experiments: they use labels and votes that nobody may look at in a real run.

Example: `ballotine paper individualized table7 --data FOLDER --seeds 5 --out results`
"""


def run(
    paper: Annotated[str | None, typer.Argument(help="A paper from the list.")] = None,
    name: Annotated[str | None, typer.Argument(help="Which table or figure.")] = None,
    data: Annotated[
        Path | None, typer.Option(help="Folder that holds named sets and saved votes.")
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(help="Folder that keeps results between commands, such as teachers' votes."),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Repetitions for means and intervals.")] = 5,
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes; all cores if absent.")] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A small version, as a trial; its numbers mean little.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the table (.md, .json) and its figures.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Reproduce a table or figure of a paper."""
    if paper is None or name is None:
        _list(paper)
        return
    from ballotine_reproduction import Setting, find

    experiment = find(paper, name)
    with RichProgress() as progress:
        setting = Setting(data, cache, seeds, jobs or os.cpu_count() or 1, quick, progress)
        table = experiment.run(setting)
    if out is not None:
        _write(out / f"{paper}-{name}", table)
    if as_json:
        typer.echo(json.dumps(table.to_dict(), indent=2, ensure_ascii=False))
        return
    _show(table)


def _list(paper: str | None) -> None:
    from rich.table import Table as RichTable

    from ballotine_reproduction import EXPERIMENTS

    view = RichTable("paper", "name", "what it shows")
    for experiment in EXPERIMENTS:
        if paper in (None, experiment.paper):
            view.add_row(experiment.paper, experiment.name, experiment.help)
    console.print(view)


def _show(table: Table) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table as RichTable

    from ballotine_reproduction.table import text_of

    view = RichTable(*table.columns, title=table.title)
    for row in table.rows:
        view.add_row(*(escape(text_of(cell)) for cell in row))
    # Cut cells would be useless: a table wider than the window is printed in full width.
    needed = console.measure(view, options=console.options.update(max_width=1000)).maximum
    Console(width=max(console.width, needed)).print(view)
    for note in table.notes:
        console.print(f"- {note}", markup=False)


def _write(stem: Path, table: Table) -> None:
    from ballotine.files import write_atomic

    stem.parent.mkdir(parents=True, exist_ok=True)
    text = f"# {table.title}\n\n{table.to_markdown()}"
    write_atomic(stem.with_suffix(".md"), text)
    facts = json.dumps(table.to_dict(), indent=2, ensure_ascii=False)
    write_atomic(stem.with_suffix(".json"), facts + "\n")
    for name, figure in table.figures.items():
        page = figure.to_html(include_plotlyjs=True, full_html=True)
        write_atomic(stem.with_name(f"{stem.name}-{name}.html"), page)

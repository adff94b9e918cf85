"""``ballotine run``: the whole pipeline."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ballotine.cli.console import RichProgress, complain, console, warn
from ballotine.cli.key import ask_passphrase, signed_with
from ballotine.cli.signals import advising
from ballotine.errors import BallotineError, RunFileError

if TYPE_CHECKING:
    from ballotine.pipeline import RunFile, RunFolder, RunResult
    from ballotine.pipeline.group_spending import GroupSpending

HELP = """Run the pipeline: partition, teachers, votes, answers, student, report.

Without a RUNFILE it runs an embedded example on scikit-learn's handwritten digits.
`ballotine init` writes a commented run file to start from. Continue an interrupted run with
`--resume FOLDER`: trained teachers are kept and nothing is paid for twice.
"""


def run(
    runfile: Annotated[
        Path | None, typer.Argument(help="The run file (TOML).", show_default="embedded example")
    ] = None,
    resume: Annotated[Path | None, typer.Option(help="Continue the run in this folder.")] = None,
    folder: Annotated[
        Path | None, typer.Option(help="Folder for the results; must not exist yet.")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed, for experiments only.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")] = False,
) -> None:
    """Run the pipeline."""
    from ballotine.pipeline import Run
    from ballotine.report import build_card, write_card
    from ballotine.signing import load_signer

    signer = load_signer(ask_passphrase)  # first, so that a wrong passphrase costs nothing
    with (
        _prepared(runfile, resume, folder, seed) as (settings, place),
        nullcontext() if quiet else RichProgress() as progress,
    ):
        try:
            with advising(f"continue with: ballotine run --resume {place.root}"):
                result = Run(settings, place, progress).execute()
                card = build_card(result)
                write_card(place, card, signer)
        except BallotineError as problem:
            complain("; ".join([str(problem), *getattr(problem, "__notes__", ())]))
            raise typer.Exit(problem.exit_code) from None
    for text in (*result.warnings, *result.holder_warnings):
        warn(text)
    if result.holder_warnings:
        warn("the last warning depends on private records: it is for you only, and not on the card")
    if result.broken_teachers:
        warn(f"some teachers failed and cast a constant vote; private details: {place.problems}")
    if not quiet:
        _summarise(result, card, None if signer is None else signer.fingerprint)


@contextmanager
def _prepared(
    runfile: Path | None, resume: Path | None, folder: Path | None, seed: int | None
) -> Iterator[tuple[RunFile, RunFolder]]:
    from ballotine.pipeline import RunFile, embedded_runfile, open_folder, provisional_folder

    if resume is not None:
        if runfile is not None or folder is not None or seed is not None:
            raise RunFileError("--resume reads everything from its folder: give no other option")
        place, settings = open_folder(resume)
        yield settings, place
        return
    if runfile is None:
        settings = RunFile.parse(embedded_runfile("digits"), "the embedded example")
    else:
        settings = RunFile.load(runfile)
    settings = settings.with_changes(folder=folder, seed=seed)
    with provisional_folder(settings) as place:
        yield settings, place


def _summarise(result: RunResult, card: dict[str, Any], fingerprint: str | None) -> None:
    """Print a summary: what was released, what it cost, and where it is."""
    from rich.panel import Panel
    from rich.table import Table

    from ballotine.privacy.guarantee import Kind, round_up
    from ballotine.report.formatting import tested_rows

    guarantee, queries = result.guarantee, card["queries"]
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="bold")
    facts.add_column()
    again = f", {queries['repeated']} repeated" if queries["repeated"] else ""
    facts.add_row(
        "answers",
        f"{queries['answered']} given, {queries['abstained']} abstentions, "
        f"{queries['unasked']} public rows not asked{again}",
    )
    if guarantee.kind is Kind.NOT_RELEASABLE:
        facts.add_row("privacy", "[red]none: release neither the answers nor the student[/red]")
        facts.add_row("stopped", f"as in papers, when their ε reached {guarantee.budget}")
        facts.add_row("charged", f"ε = {card['accounted_epsilon']:g}, whatever the votes")
    else:
        mode = "" if guarantee.mode == "strict" else f", {guarantee.mode} mode"
        facts.add_row(
            "privacy",
            f"ε = {round_up(guarantee.epsilon):g}, δ = {guarantee.delta:g} "
            f"({guarantee.kind.value}{mode}); neighbouring: {guarantee.neighbouring}",
        )
        facts.add_row("charged", f"ε = {card['accounted_epsilon']:g} of {guarantee.budget}")
    for group in result.account.groups:
        facts.add_row("group", _group(group))
    if guarantee.seeded:
        facts.add_row("noise", "[red]seeded: for experiments only[/red]")
    if result.evaluation is not None:
        what = "of the labels " if result.answers.multilabel else ""
        facts.add_row(
            "student",
            f"{result.evaluation.accuracy:.1%} {what}correct on {result.evaluation.rows} "
            f"{tested_rows(result.dataset.test_from)}",
        )
    if result.settings.run.experiment:
        facts.add_row("", "[dim]experiment only, not private, never part of a release:[/dim]")
        facts.add_row("label accuracy", _share(result.label_accuracy))
        facts.add_row("non-private ceiling", _share(result.ceiling))
    facts.add_row("signed", signed_with(fingerprint))
    facts.add_row("report", str(result.folder.report))
    console.print(Panel(facts, title="ballotine run", title_align="left", expand=False))


def _group(group: GroupSpending) -> str:
    from rich.markup import escape

    from ballotine.privacy.guarantee import round_up
    from ballotine.text import printable

    epsilon = group.epsilon
    held = "no guarantee" if epsilon is None else f"ε = {round_up(epsilon):g} guaranteed"
    return (
        f"{escape(printable(group.name))}: {held}, ε = {round_up(group.charged):g} charged of "
        f"{group.budget:g}{', which ended answering' if group.ended else ''}"
    )


def _share(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.1%}"

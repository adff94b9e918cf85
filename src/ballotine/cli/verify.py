"""``ballotine verify``: compare every claimed bound with an independent computation."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Annotated

import typer

from ballotine.cli.console import RichProgress, console, plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ballotine.verification import Case, Finding, Report

HELP = """Verify the privacy bounds: compare every claim with an independent oracle.

For each claim the worst ratio of true divergence to claimed bound is printed, with the
configuration that shows it. Above 1 the claim is false. Published claims that are known to be
false are tried too, and must be *caught*; otherwise the oracle would be blind. Exits with code 1
if a bound is exceeded or a false claim is missed.

Nothing private is read: the configurations are made up.
"""
STYLES = {"holds": "green", "caught": "cyan"}


def verify(
    mechanism: Annotated[
        list[str] | None,
        typer.Option(
            "--mechanism", "-m", help="Only this mechanism or claim; repeatable; see --list."
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Try fewer configurations: about twenty seconds.")
    ] = False,
    seed: Annotated[
        int | None,
        typer.Option(min=0, help="Repeat the random configurations of an earlier verification."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    list_only: Annotated[
        bool, typer.Option("--list", help="List the claims without verifying them.")
    ] = False,
) -> None:
    """Verify claims and print the results."""
    from ballotine.verification import select
    from ballotine.verification import verify as verify_claims

    cases = select(mechanism or [])
    if list_only:
        _list(cases, as_json)
        return
    if as_json:
        report = verify_claims(cases, quick=quick, seed=seed)
        typer.echo(json.dumps(report.as_dict(), indent=2))
    else:
        with RichProgress() as progress:
            report = verify_claims(cases, quick=quick, seed=seed, progress=progress)
        _print(report)
    report.require()


def _list(cases: Sequence[Case[object]], as_json: bool) -> None:
    if as_json:
        keys = ("name", "mechanism", "statement", "source", "expected")
        rows = [{key: getattr(case, key) for key in keys} for case in cases]
        typer.echo(json.dumps(rows, indent=2))
        return
    from rich.table import Table

    table = Table("name", "claim", "source", "expected")
    for case in cases:
        table.add_row(
            *(plain(text, longest=200) for text in (case.name, case.statement, case.source)),
            case.expected,
        )
    console.print(table)


def _print(report: Report) -> None:
    from rich.table import Table

    table = Table("claim, and where it is closest to failing", "verdict", "ratio", "tried")
    for column in table.columns[1:]:
        column.no_wrap = True
        column.justify = "right"
    for finding in report.findings:
        style = STYLES.get(finding.verdict, "bold red")
        table.add_row(
            plain(finding.case.name, "bold") + "\n  " + plain(finding.witness, "dim", 300),
            plain(finding.verdict, style),
            shown_ratio(finding),
            f"{finding.configurations:,}",
        )
    console.print(table)
    seconds = sum(finding.seconds for finding in report.findings)
    held = sum(finding.verdict == "holds" for finding in report.findings)
    caught = sum(finding.verdict == "caught" for finding in report.findings)
    console.print(
        f"claims that hold: {held}; false claims caught: {caught}; failed: {len(report.failures)} "
        f"({seconds:.0f} s, seed {report.effort.seed})",
        markup=False,
    )


def shown_ratio(finding: Finding) -> str:
    """Return the ratio as text, never rounded up to 1."""
    ratio = finding.ratio
    if math.isinf(ratio):
        return "∞"
    if 0.9999 < ratio < 1.0:
        return "0.9999…"
    return f"{ratio:.4f}" if ratio < 10.0 else f"{ratio:,.1f}"

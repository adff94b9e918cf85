"""``ballotine audit``: compare claims with lower bounds from repeated releases."""

from __future__ import annotations

import json
from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ballotine.cli.console import RichProgress, console, plain
from ballotine.cli.mechanism_options import typed_parameters
from ballotine.cli.options import AsJson, Delta, Seed
from ballotine.errors import ParameterError

if TYPE_CHECKING:
    from ballotine.audit import AuditCase, AuditResult

HELP = """Audit mechanisms: run them many times and measure how much they reveal.

A claim is an upper bound on ε. An audit computes a lower bound: the mechanism answers the same
queries many times on two sets of made-up ballots that differ in one teacher's vote, and the
audit counts how the answers differ. The counts give a lower bound on ε that is correct with the
stated confidence. If it exceeds the claim, the noise or the accounting is wrong, and the command
exits with code 1. Otherwise nothing is proven, but the closer the bound is to the claim, the
smaller the errors that would have been found.

By default every mechanism is audited with small parameters that make the bound sharp; they are
also the defaults of the options. Nothing private is read, and nothing is spent.

Example: `ballotine audit --mechanism gnmax --sigma 2 --teachers 4 --queries 20 --delta 1e-5`
"""
OWN_OPTIONS = "parameters, --teachers, --classes and --queries need --mechanism"


def audit(
    ctx: typer.Context,
    mechanism: Annotated[
        str | None,
        typer.Option("--mechanism", "-m", help="Mechanism to audit; all by default."),
    ] = None,
    teachers: Annotated[
        int | None,
        typer.Option(min=1, max=10_000, help="Number of teachers; few make the bound sharp."),
    ] = None,
    classes: Annotated[
        int | None, typer.Option(min=2, max=10_000, help="Number of classes, or labels.")
    ] = None,
    queries: Annotated[
        int | None,
        typer.Option(min=1, max=100_000, help="Number of queries that one trial answers."),
    ] = None,
    delta: Delta = 1e-5,
    trials: Annotated[
        int,
        typer.Option(min=20, max=10**8, help="Number of trials on each side; half are counted."),
    ] = 20_000,
    confidence: Annotated[
        float, typer.Option(help="Probability that the bound is not above the true ε.")
    ] = 0.99,
    seed: Seed = None,
    as_json: AsJson = False,
) -> None:
    """Audit mechanisms and print the results."""
    from ballotine.audit import audit_mechanism, require
    from ballotine.noise import source

    cases = _cases(mechanism, typed_parameters(ctx), teachers, classes, queries)
    results = []
    with nullcontext() if as_json else RichProgress() as progress:
        for case in cases:
            found = audit_mechanism(
                case.mechanism,
                teachers=case.teachers,
                classes=case.classes,
                queries=case.queries,
                delta=delta,
                trials=trials,
                confidence=confidence,
                noise=source(seed),
                progress=progress,
            )
            results.append(found)
    if as_json:
        rows = [
            {**found.as_dict(), "teachers": case.teachers, "classes": case.classes, "seed": seed}
            for case, found in zip(cases, results, strict=True)
        ]
        typer.echo(json.dumps(rows[0] if mechanism else rows, indent=2, ensure_ascii=False))
    elif mechanism is None:
        _table(cases, results)
    else:
        _details(cases[0], results[0])
    require(results)


def _cases(
    mechanism: str | None,
    parameters: dict[str, Any],
    teachers: int | None,
    classes: int | None,
    queries: int | None,
) -> list[AuditCase]:
    from ballotine.audit import default_case, default_cases

    if mechanism is not None:
        return [
            default_case(mechanism, parameters, teachers=teachers, classes=classes, queries=queries)
        ]
    if any(value is not None for value in (*parameters.values(), teachers, classes, queries)):
        raise ParameterError(OWN_OPTIONS)
    return default_cases()


def _table(cases: list[AuditCase], results: list[AuditResult]) -> None:
    from rich.table import Table

    table = Table("mechanism, and the neighbours compared", "queries", "shown ε ≥", "claimed ε ≤")
    table.add_column("ratio")
    for column in table.columns[1:]:
        column.no_wrap = True
        column.justify = "right"
    for case, found in zip(cases, results, strict=True):
        style = "bold red" if found.exceeded else "green"
        table.add_row(
            plain(found.subject, "bold", 100) + "\n  " + plain(found.pair, "dim", 200),
            f"{case.queries}",
            plain(f"{found.lower:.3f}", style),
            f"{found.claimed:.3f}",
            shown_ratio(found),
        )
    console.print(table)
    first = results[0]
    failed = sum(found.exceeded for found in results)
    console.print(
        f"claims that stand: {len(results) - failed}; refuted: {failed} "
        f"(δ = {first.delta:g}, {first.trials:,} trials on either side, each bound with "
        f"{shown_confidence(first)})",
        markup=False,
    )


def _details(case: AuditCase, found: AuditResult) -> None:
    from rich.table import Table

    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="bold")
    facts.add_column()
    kind = "labels" if case.mechanism.task.several else "classes"
    rows = {
        "mechanism": f"{found.subject}, {case.teachers} teachers, {case.classes} {kind}",
        "trials": f"{found.trials:,} on either side, {found.queries} queries each",
        "neighbours": found.pair,
        "claimed": f"ε ≤ {found.claimed:.4f} at δ = {found.delta:g}",
        "shown": f"ε ≥ {found.lower:.4f} with {shown_confidence(found)}",
        "": f"from whole transcripts {found.whole:.4f}, from single answers {found.composed:.4f}",
        "ratio": shown_ratio(found),
    }
    for name, text in rows.items():
        facts.add_row(name, plain(text, longest=300))
    console.print(facts)
    console.print(plain(found.verdict, "bold red" if found.exceeded else "green", 300))


def shown_confidence(found: AuditResult) -> str:
    """Return the confidence in words."""
    return f"{100 * found.confidence:.10g} % confidence"


def shown_ratio(found: AuditResult) -> str:
    """Return the ratio as text, never rounded up to 1."""
    ratio = found.ratio
    if ratio is None:
        return "none"
    return "0.9999…" if 0.9999 < ratio < 1.0 else f"{ratio:.4f}"

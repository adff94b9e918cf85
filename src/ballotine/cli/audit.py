"""``ballotine audit``: claims against what repeated releases show."""

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

HELP = """Audit mechanisms: run them again and again, and see how much they give away.

A claim says that ε is at most something. An audit shows that it is at least something: the
mechanism answers the same queries many times, on made-up ballots that differ in one teacher's
vote, and what sets the two sets of answers apart is counted. The counts give a lower bound on ε
that is right with the stated confidence. If it is above the claim, then noise or accounting is
wrong, and the command ends with code 1. If it is below, nothing is proven, but a wrong constant
would have been seen as far as the bound comes close to the claim.

Without options every mechanism is audited with small parameters that make the bound sharp.
Options that are not given are taken from there. Nothing private is read, nothing is spent.

Example: `ballotine audit --mechanism gnmax --sigma 2 --teachers 4 --queries 20 --delta 1e-5`
"""
OWN_OPTIONS = "--mechanism must be given with parameters, --teachers, --classes or --queries"


def audit(
    ctx: typer.Context,
    mechanism: Annotated[
        str | None,
        typer.Option("--mechanism", "-m", help="Which one; all of them when absent."),
    ] = None,
    teachers: Annotated[
        int | None,
        typer.Option(min=1, max=10_000, help="How many teachers vote; few are sharpest."),
    ] = None,
    classes: Annotated[
        int | None, typer.Option(min=2, max=10_000, help="How many classes, or labels, there are.")
    ] = None,
    queries: Annotated[
        int | None, typer.Option(min=1, max=100_000, help="How many queries one trial answers.")
    ] = None,
    delta: Delta = 1e-5,
    trials: Annotated[
        int,
        typer.Option(min=20, max=10**8, help="How often, on either side; half of them count."),
    ] = 20_000,
    confidence: Annotated[
        float, typer.Option(help="That the bound is not above the true ε.")
    ] = 0.99,
    seed: Seed = None,
    as_json: AsJson = False,
) -> None:
    """Audit and print what was found."""
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
    kind = "labels" if case.mechanism.multilabel else "classes"
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
    """The confidence in words."""
    return f"{100 * found.confidence:.10g} % confidence"


def shown_ratio(found: AuditResult) -> str:
    """The ratio, never rounded up to 1."""
    ratio = found.ratio
    if ratio is None:
        return "none"
    return "0.9999…" if 0.9999 < ratio < 1.0 else f"{ratio:.4f}"

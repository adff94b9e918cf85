"""``ballotine account``: what answering saved votes costs, by each analysis."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from ballotine.cli.console import console, warn
from ballotine.cli.options import (
    AsJson,
    Delta,
    MechanismName,
    Seed,
    Sigma,
    SigmaThreshold,
    Threshold,
)

HELP = """Account for saved ballots or tallies: the data holder's own tool.

Reads .npy, .npz or Parquet of shape (queries, teachers) with class numbers, or, with
`--tallies`, (queries, classes) with counts. Nothing is released and nothing is spent; with
`--bounds published` or `exact` the ε depends on private votes and must not be shown around.
"""
PRIVATE = "this ε depends on the private votes: it may be published only after sanitising it"
FROM_VOTES = "the number of classes was read from the votes"
PUBLIC_ORDER = "the queries and their order were fixed before any answer was seen"


def account(
    votes: Annotated[Path, typer.Argument(help="File of ballots (or tallies).")],
    sigma: Sigma,
    delta: Delta,
    mechanism: MechanismName = "confident-gnmax",
    threshold: Threshold = None,
    sigma_threshold: SigmaThreshold = None,
    queries: Annotated[
        int | None, typer.Option(min=1, help="Only the first so many queries.")
    ] = None,
    classes: Annotated[
        int | None, typer.Option(min=2, help="Number of classes; read from the votes if absent.")
    ] = None,
    tallies: Annotated[
        bool, typer.Option("--tallies", help="The file holds counts, not ballots.")
    ] = False,
    bounds: Annotated[
        str, typer.Option(help="published (Theorem 6), tight (data-independent) or exact.")
    ] = "exact",
    conversion: Annotated[str, typer.Option(help="improved or classic.")] = "improved",
    seed: Seed = None,
    curve: Annotated[
        Path | None, typer.Option(help="Write the cumulative ε per query as CSV, and a plot.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Account for saved votes."""
    from ballotine.data.ballots import open_votes
    from ballotine.noise import source
    from ballotine.privacy.orders import DEFAULT_ORDERS
    from ballotine.voting import make_mechanism
    from ballotine.voting.account import Accountant

    noise = {"sigma": sigma, "threshold": threshold, "sigma_threshold": sigma_threshold}
    rule = make_mechanism(mechanism, noise)
    file = open_votes(votes)
    known = classes or (file.columns if tallies else _classes(file, queries))
    accountant = Accountant(rule, bounds, source(seed), DEFAULT_ORDERS)  # type: ignore[arg-type]
    points: list[tuple[int, int, float]] = []
    for chunk in _tallies(file, queries, known, tallies, small=curve is not None):
        accountant.add(chunk)
        if curve is not None:
            so_far = accountant.result(delta, conversion)  # type: ignore[arg-type]
            points.append((so_far.queries, so_far.answered, so_far.epsilon))
    result = accountant.result(delta, conversion)  # type: ignore[arg-type]
    if curve is not None:
        _write_curve(curve, points)
    assumptions = [PUBLIC_ORDER] if bounds != "tight" else []
    assumptions += [] if classes or tallies else [FROM_VOTES]
    facts = _facts(result, conversion, assumptions)
    if as_json:
        typer.echo(json.dumps(facts, indent=2))
        return
    console.print(
        f"(ε = {facts['epsilon']:g}, δ = {delta:g}) at order {result.order:g} by {bounds} bounds; "
        f"{result.answered} of {result.queries} queries answered; {facts['kind']}; "
        f"neighbouring: {facts['neighbouring']}",
        markup=False,
    )
    if bounds != "tight":
        warn(PRIVATE)


def _facts(result: Any, conversion: str, assumptions: list[str]) -> dict[str, Any]:
    from ballotine.privacy.guarantee import NEIGHBOURING, round_up

    return {
        "epsilon": round_up(result.epsilon, 6),
        "delta": result.delta,
        "order": result.order,
        "answered": result.answered,
        "queries": result.queries,
        "mode": "account",
        "bounds": result.bounds,
        "conversion": conversion,
        "kind": result.kind.value,
        "neighbouring": NEIGHBOURING,
        "assumptions": assumptions,
    }


def _classes(file: Any, queries: int | None) -> int:
    return max(2, 1 + max(int(rows.max()) for rows in file.chunks(queries)))


def _tallies(
    file: Any, queries: int | None, classes: int, counted: bool, *, small: bool
) -> Iterator[Any]:
    """Tallies in chunks; small ones when a curve is wanted."""
    import numpy as np

    from ballotine.voting import Tallies

    for rows in file.chunks(queries):
        step = max(1, len(rows) // 100) if small else len(rows)
        for start in range(0, len(rows), step):
            part = rows[start : start + step]
            if counted:
                yield Tallies(part.astype(np.float64))
            else:
                yield Tallies.of(part.astype(np.int64), classes)


def _write_curve(path: Path, points: list[tuple[int, int, float]]) -> None:
    import plotly.graph_objects as go

    from ballotine.files import write_atomic

    lines = ["queries,answered,epsilon", *(f"{q},{a},{e:.6f}" for q, a, e in points)]
    write_atomic(path, "\n".join(lines) + "\n", private=True)
    figure = go.Figure(go.Scatter(x=[p[0] for p in points], y=[p[2] for p in points]))
    figure.update_layout(
        title="Cumulative ε (private if data-dependent)",
        xaxis_title="queries asked",
        yaxis_title="ε",
        template="plotly_white",
    )
    page = figure.to_html(include_plotlyjs=True, full_html=True)
    write_atomic(path.with_suffix(".html"), page, private=True)

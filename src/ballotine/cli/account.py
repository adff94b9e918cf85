"""``ballotine account``: the cost of answering saved votes, by each analysis."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ballotine.cli import options
from ballotine.cli.console import console, warn
from ballotine.cli.votes import VoteOptions

if TYPE_CHECKING:
    from ballotine.voting.account import Accounted

HELP = """Account for saved ballots or tallies: a tool for the data holder.

Reads .npy, .npz or Parquet of shape (queries, teachers) with class numbers, (queries,
teachers, labels) with 0/1 or, with `--tallies`, (queries, classes) with counts. Nothing is
released and nothing is spent; with `--bounds published` or `exact` the ε depends on private
votes and must not be shared.

For individual budgets: `--weights groups.csv --group-budgets 1,2,3`.

Example: `ballotine account VOTES.npy -m confident-gnmax --sigma 40 --threshold 200
--sigma-threshold 150 --delta 1e-5 --bounds exact --curve curve.csv`
"""
PRIVATE = "this ε depends on the private votes and may be published only after it is sanitised"
ANSWERED = "\0answered"
"""The key of the counts among the groups' curves: no group has this name."""
PUBLIC_ORDER = "the queries and their order were fixed before any answer was seen"


@options.with_fields_of(VoteOptions)
def account(
    votes: VoteOptions,
    bounds: options.Bounds = "exact",
    conversion: options.Conversion = "improved",
    curve: Annotated[
        Path | None, typer.Option(help="Write the cumulative ε per query as CSV, and a plot.")
    ] = None,
) -> None:
    """Account for saved votes."""
    from ballotine.noise import source
    from ballotine.voting.account import Accountant

    mechanism = votes.make_mechanism()
    saved = votes.open(mechanism)
    plan = votes.plan(mechanism, saved)
    accountant = Accountant(plan, bounds, source(votes.seed))  # type: ignore[arg-type]
    points: list[dict[str, Any]] = []
    for chunk in saved.chunks():
        readings, answered = accountant.add(
            chunk,
            saved.classes,
            votes.delta,
            conversion,  # type: ignore[arg-type]
        )
        if curve is not None:
            opened = {n: r.unlock(reason="the holder's curve") for n, r in readings.items()}
            points.append({ANSWERED: answered, **opened})
    result = accountant.result(votes.delta, conversion)  # type: ignore[arg-type]
    if curve is not None:
        _write_curve(curve, points)
    assumptions = [PUBLIC_ORDER] if bounds != "tight" else []
    if saved.classes_from_votes:
        from ballotine.voting.saved import FROM_VOTES

        assumptions.append(FROM_VOTES)
    facts = _facts(result, conversion, assumptions)
    if votes.as_json:
        typer.echo(json.dumps(facts, indent=2))
    else:
        _show(facts)
    if bounds != "tight":
        warn(PRIVATE)


def _facts(result: Accounted, conversion: str, assumptions: list[str]) -> dict[str, Any]:
    from ballotine.privacy.guarantee import NEIGHBOURING, round_up

    facts: dict[str, Any] = {
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
    if result.groups:
        facts["groups"] = [
            {
                "group": group.group,
                "epsilon": round_up(group.epsilon, 6),
                "order": group.order,
                "budget": group.budget,
                "within_budget": group.budget is None or group.epsilon <= group.budget,
            }
            for group in result.groups
        ]
    return facts


def _show(facts: dict[str, Any]) -> None:
    console.print(
        f"(ε = {facts['epsilon']:g}, δ = {facts['delta']:g}) at order {facts['order']:g} by "
        f"{facts['bounds']} bounds; {facts['answered']} of {facts['queries']} queries answered; "
        f"{facts['kind']}; neighbouring: {facts['neighbouring']}",
        markup=False,
    )
    for group in facts.get("groups", []):
        within = "within" if group["within_budget"] else "ABOVE"
        console.print(
            f"  group {group['group']}: ε = {group['epsilon']:g}, {within} its budget "
            f"{group['budget']:g}",
            markup=False,
        )


def _write_curve(path: Path, points: list[dict[str, Any]]) -> None:
    """Write a CSV with one line per query and one column per group, or just ε; and a plot."""
    import numpy as np
    import plotly.graph_objects as go

    from ballotine.files import write_atomic
    from ballotine.ledger import EVERYONE

    series = {name: np.concatenate([part[name] for part in points]) for name in points[0]}
    answered = series.pop(ANSWERED)
    names = ["epsilon" if name == EVERYONE else f"epsilon_{name}" for name in series]
    lines = [",".join(["queries", "answered", *names])]
    for number, row in enumerate(zip(*series.values(), strict=True)):
        values = [f"{value:.6f}" for value in row]
        lines.append(",".join([str(number + 1), str(answered[number]), *values]))
    write_atomic(path, "\n".join(lines) + "\n", private=True)
    asked = np.arange(1, len(lines))
    shown = np.unique(np.linspace(0, len(asked) - 1, 2000).astype(int))  # enough for a screen
    figure = go.Figure(
        [go.Scatter(x=asked[shown], y=y[shown], name=name) for name, y in series.items()]
    )
    figure.update_layout(
        title="Cumulative ε (private if data-dependent)",
        xaxis_title="queries asked",
        yaxis_title="ε",
        template="plotly_white",
    )
    page = figure.to_html(include_plotlyjs=True, full_html=True)
    write_atomic(path.with_suffix(".html"), page, private=True)

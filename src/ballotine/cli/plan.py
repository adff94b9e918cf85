"""``ballotine plan``: noise for a budget, before anything is released."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated, Any

import typer

from ballotine.cli.console import console
from ballotine.cli.options import AsJson, Delta, Epsilon, MechanismName
from ballotine.errors import ParameterError

HELP = """Find the smallest noise with which so many queries fit a budget.

Data-independent: nothing private is read, and the result may be shown to anyone.
Example: `ballotine plan --teachers 250 --classes 10 --queries 1000 --epsilon 3 --delta 1e-5`
"""
CURVE_POINTS = 8


def plan(
    queries: Annotated[int, typer.Option(min=1, help="How many queries will be asked.")],
    epsilon: Epsilon,
    delta: Delta,
    teachers: Annotated[int, typer.Option(min=1, help="How many teachers vote.")] = 50,
    classes: Annotated[int, typer.Option(min=2, help="How many classes there are.")] = 10,
    mechanism: MechanismName = "confident-gnmax",
    answered: Annotated[
        float, typer.Option(help="Share of the queries expected to pass the check: a guess.")
    ] = 0.7,
    as_json: AsJson = False,
) -> None:
    """Find the smallest noise for a budget."""
    from ballotine.privacy import plan as planner
    from ballotine.privacy.events import GaussianArgmax, GaussianCheck
    from ballotine.privacy.guarantee import Budget

    budget = Budget(epsilon, delta)
    found: dict[str, Any] = {"mechanism": mechanism, "queries": queries, "teachers": teachers}
    if mechanism == "gnmax":
        sigma = planner.gnmax_sigma(queries, budget, classes)
        charges: planner.Charges = [(GaussianArgmax(sigma, classes), 1.0)]
        spent = planner.epsilon_of([(charges[0][0], queries)], delta)
        found |= {"sigma": sigma, "epsilon": spent}
    elif mechanism == "confident-gnmax":
        made = planner.confident_gnmax(queries, answered, budget, teachers, classes)
        found |= {**asdict(made), "answered": answered}
        charges = [
            (GaussianCheck(made.sigma_threshold), 1.0),
            (GaussianArgmax(made.sigma, classes), answered),
        ]
    else:
        raise ParameterError(f"cannot plan {mechanism!r}; choose gnmax or confident-gnmax")
    found["noise_in_votes"] = found["sigma"] / teachers
    found["curve"] = _curve(planner, charges, queries, delta)
    if as_json:
        typer.echo(json.dumps(found, indent=2))
    else:
        _show(found, budget)


def _curve(planner: Any, charges: Any, queries: int, delta: float) -> list[dict[str, float]]:
    import numpy as np

    numbers = np.unique(np.linspace(queries / CURVE_POINTS, queries, CURVE_POINTS).astype(int))
    numbers = numbers[numbers > 0]
    values = planner.curve(charges, numbers, delta)
    return [{"queries": int(n), "epsilon": float(e)} for n, e in zip(numbers, values, strict=True)]


def _show(found: dict[str, Any], budget: Any) -> None:
    from rich.table import Table

    console.print(f"{found['queries']} queries within {budget}:", markup=False)
    noise = f"σ = {found['sigma']:.2f} votes ({found['noise_in_votes']:.1%} of the teachers)"
    if "threshold" in found:
        noise += (
            f", threshold = {found['threshold']:g}, σ of the check = "
            f"{found['sigma_threshold']:.2f}; if {found['answered']:.0%} are answered"
        )
    console.print(noise, markup=False)
    table = Table("queries asked", "ε so far")
    for point in found["curve"]:
        table.add_row(str(point["queries"]), f"{point['epsilon']:.3f}")
    console.print(table)
